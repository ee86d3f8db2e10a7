"""ServerSettings: where the server listens and whom it serves. One place refuses nonsense.

A server that others can reach needs a key. On the loopback address it is the browser that must be
kept out: any web page may send requests there, which is why Host and Origin are looked at too.
"""

import ipaddress
import re
from dataclasses import dataclass, field

from engine.errors import BadOption

LOCALHOST = "localhost"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s*]+")  # browsers send scheme and host, no path
_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Raises BadOption naming what cannot be."""

    host: str = "127.0.0.1"  # the address to listen on
    port: int = 8080  # 0: any that is free
    api_key: str | None = field(default=None, repr=False)  # never shown, never logged
    allowed_origins: tuple[str, ...] = ()  # of web pages, like https://chat.example
    allowed_hosts: tuple[str, ...] = ()  # further names that clients call this machine by
    queue_limit: int = 32  # answers that may wait while one is written
    heartbeat_s: float = 10.0  # a stream is never silent for longer

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise BadOption(f"--port is {self.port}.", "Use 1 to 65535, or 0 for any free one.")
        if self.api_key is not None and not _KEY.fullmatch(self.api_key):
            raise BadOption(
                "The API key is empty or holds blanks or letters beyond ASCII.",
                "Choose another key.",
            )
        if self.api_key is None and not is_loopback(self.host):
            raise BadOption(
                f"--host {self.host} can be reached by other machines.",
                "Give --api-key, or listen on 127.0.0.1.",
            )
        if self.queue_limit < 1:
            raise BadOption(f"--queue is {self.queue_limit}.", "Use 1 or more.")
        for origin in self.allowed_origins:
            _check_origin(origin)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`, an address or a name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == LOCALHOST


def _check_origin(origin: str) -> None:
    if not _ORIGIN.fullmatch(origin):
        raise BadOption(
            f"--allow-origin is {origin!r}.",
            "List each page's origin as browsers send it, like https://chat.example.",
        )
