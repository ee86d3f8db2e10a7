"""Who may ask: checks before anything else looks at a request.

`Host` keeps out web pages whose name was rebound to this machine, `Origin` those that send requests
across sites, the key everyone else. https://fetch.spec.whatwg.org/#origin-header
"""

import hmac
import ipaddress
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.server.faults import ApiError
from engine.server.settings import LOCALHOST, ServerSettings, is_loopback

# The host machine, as containers on it call it; no web page can have such a name (ICANN keeps
# `.internal` for private use), and a page's requests that matter carry an Origin besides.
CONTAINER_HOST = "host.docker.internal"

Check = Callable[[Headers], ApiError | None]


class Guarded:
    """ASGI middleware: answers what a check refuses, passes on the rest."""

    def __init__(
        self, app: ASGIApp, check: Check, open_paths: frozenset[str] = frozenset()
    ) -> None:
        self._app = app
        self._check = check
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["path"] not in self._open_paths
        refusal = self._check(Headers(scope=scope)) if asked else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await refusal.response()(scope, receive, send)


def check_site(settings: ServerSettings) -> Check:
    """Refuses foreign hosts and the pages of origins that are not listed."""

    def check(headers: Headers) -> ApiError | None:
        host = headers.get("host", "")
        if not _is_ours(_without_port(host), settings):
            return ApiError(
                403,
                f"The host {host[:100]!r} is not this server's; --allow-host adds a name.",
                code="foreign_host",
            )
        for origin in headers.getlist("origin"):
            if origin not in settings.allowed_origins:
                return ApiError(
                    403,
                    f"Pages of {origin[:100]!r} may not ask; --allow-origin adds an origin.",
                    code="foreign_origin",
                )
        return None

    return check


def check_key(key: str) -> Check:
    """Refuses whoever does not send the key, in a time that tells nothing about it."""
    expected = key.encode()

    def check(headers: Headers) -> ApiError | None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        sent = given.strip().encode("latin-1")
        if hmac.compare_digest(sent, expected) and scheme.lower() == "bearer":
            return None
        return ApiError(
            401,
            "Send this server's API key as `Authorization: Bearer …`.",
            code="invalid_api_key",
            headers={"www-authenticate": "Bearer"},
        )

    return check


def _is_ours(host: str, settings: ServerSettings) -> bool:
    if host in (LOCALHOST, CONTAINER_HOST, settings.host.lower()):
        return True
    if host in (name.lower() for name in settings.allowed_hosts):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return address.is_loopback or not is_loopback(settings.host)  # an address cannot be rebound


def _without_port(host: str) -> str:
    """`localhost:8080` as `localhost`, `[::1]:8080` as `[::1]`; lower case."""
    name, colon, port = host.rpartition(":")
    bare = name if colon and port.isdigit() else host
    return bare.lower().removesuffix(".")
