"""The hub and mirrors: the one module of the engine that uses the network.

`huggingface_hub` does the hub's own work: what a model consists of at one commit, accounts,
HF_ENDPOINT, proxies. Bytes are read by range through its session, so that a stall is seen, a kill
loses nothing and a shard can be routed into place; its own download does none of these.
The token goes to the hub's origins alone: each redirect is followed here, and decides anew.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpcore2
import httpx2
from huggingface_hub import constants, get_session, hf_hub_url, parse_hf_uri
from huggingface_hub.errors import HfHubHTTPError, HfUriError, OfflineModeIsEnabled

from engine import __version__
from engine.container.json_file import shown
from engine.container.listing import licence, listed_files
from engine.container.refusals import LATER, Answer, refusal
from engine.container.remote import Interrupted, RemoteFile
from engine.errors import BadOption, DownloadFailed

log = logging.getLogger(__name__)
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it talks past the program
constants.HF_HUB_DISABLE_TELEMETRY = True  # no facts about this machine beside a request

STALL_S = 10.0  # without a byte, until a connection is given up
_CONNECT_S = 10.0
_MOST_REDIRECTS = 5
_READ_BYTES = 1 << 20
_AGENT = f"martlet/{__version__}"
_PUBLIC = ("https://huggingface.co", "https://hf.co")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def hub_endpoint() -> str:
    """Where the hub is: HF_ENDPOINT, or the public one."""
    return constants.ENDPOINT


def check_id(id: str) -> str:
    """A model's owner/name, returned as it is. Raises BadOption."""
    try:
        good = parse_hf_uri(f"hf://{id}").id == id
    except HfUriError:
        good = False
    if not good:
        raise BadOption(f"{shown(id)} is not a model's name.", "Write it as OWNER/NAME.")
    return id


def parse_link(link: str) -> tuple[str, str | None, str] | None:
    """(id, revision, folder) of a link to the hub; None where it leads elsewhere.

    Raises BadOption for a page of the hub that is no model.
    """
    if link.startswith("hf://") or origin(link) in _hub_origins(hub_endpoint()):
        try:
            found = parse_hf_uri(link, endpoint=hub_endpoint())
        except HfUriError as error:
            raise BadOption(f"{shown(link)} is no model's page.", "Paste its link.") from error
        if found.type != "model":
            raise BadOption(f"{shown(link)} is a {found.type}, not a model.", "Paste a model's.")
        return found.id, found.revision, found.path_in_repo
    return None


def origin(url: str) -> tuple[str, str, int]:
    """(scheme, host, port) of an address. Raises BadOption where it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError as error:
        raise BadOption(f"{shown(url)} is not an address.", "Check it.") from error
    return parts.scheme, (parts.hostname or "").lower(), port


def _hub_origins(endpoint: str) -> set[tuple[str, str, int]]:
    return {origin(url) for url in (*_PUBLIC, endpoint)}


@dataclass(frozen=True, slots=True)
class Hub:
    """A hub and what it is asked with. `token` is sent to no one else."""

    token: str | None = None
    stall_s: float = STALL_S
    endpoint: str = ""

    @property
    def address(self) -> str:
        """Without a slash at its end."""
        return (self.endpoint or hub_endpoint()).rstrip("/")

    def repository(self, id: str, revision: str | None = None) -> "HubRepository":
        """The model `id` at the commit that `revision` is now.

        Raises Interrupted or a MartletError.
        """
        from huggingface_hub import HfApi  # slow to import, and a mirror does without

        page = f"{self.address}/{check_id(id)}"
        with _network_faults(page), self._refusals(id, page):
            info = HfApi(endpoint=self.address, library_name="martlet").model_info(
                id,
                revision=revision,
                files_metadata=True,
                token=self.token or False,
                timeout=self.stall_s,
            )
        if not isinstance(info.sha, str) or not _COMMIT.fullmatch(info.sha):
            raise DownloadFailed(f"{_host(page)} names no version of {id}.", LATER)
        return HubRepository(
            self, id, info.sha, listed_files(info.siblings or (), id), licence(info.tags)
        )

    def search(self, query: str, tags: Sequence[str], limit: int) -> list[dict[str, Any]]:
        """What the hub says of models that match `query` and carry all `tags`, most used first."""
        url = f"{self.address}/api/models"
        asked: dict[str, str | int | list[str]] = {
            "search": query, "sort": "downloads", "limit": limit, "filter": list(tags)
        }  # fmt: skip
        with _network_faults(url), self._refusals("the search", self.address):
            answer = get_session().get(
                url, params=asked, headers=_headers(self._token_for(url)), timeout=self.stall_s
            )
            answer.raise_for_status()
            found = answer.json()
        if not isinstance(found, list):
            raise DownloadFailed(f"{_host(url)}'s answer makes no sense.", LATER)
        return [item for item in found if isinstance(item, dict)]

    @contextmanager
    def _refusals(self, what: str, page: str) -> Iterator[None]:
        """Turn what huggingface_hub makes of an answer into an error of ours."""
        try:
            yield
        except (HfHubHTTPError, httpx2.HTTPStatusError) as error:
            asked_with = self.token is not None
            answer = _answer(error.response, what, page, asked_with)
            if answer.status == 404 and not answer.code:
                answer = replace(answer, code="RepoNotFound")
            raise refusal(answer) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            where = _host(self.address)
            raise DownloadFailed(f"{where}'s answer about {what} makes no sense.", LATER) from error

    def _token_for(self, url: str) -> str | None:
        return self.token if origin(url) in _hub_origins(self.address) else None


@dataclass(frozen=True, slots=True)
class HubRepository:
    """A model on the hub at one commit. Satisfies `Remote`."""

    hub: Hub
    name: str
    commit: str
    files: Mapping[str, RemoteFile]
    licence: str
    folder: str = ""  # inside the repository, to which all names are relative

    @property
    def host(self) -> str:
        """Of the hub; the bytes may come from another."""
        return _host(self.hub.address)

    def below(self, folder: str) -> "HubRepository":
        """The model in a folder of the repository; "" is all of it."""
        start = f"{folder}/" if folder else ""
        files = {
            name.removeprefix(start): file
            for name, file in self.files.items()
            if name.startswith(start)
        }
        return replace(self, files=files, folder=folder)

    @contextmanager
    def stream(self, name: str, start: int = 0, stop: int | None = None) -> Iterator["HttpStream"]:
        """See `Remote`."""
        path = f"{self.folder}/{name}" if self.folder else name
        url = hf_hub_url(self.name, path, revision=self.commit, endpoint=self.hub.address)
        with _followed(url, start, stop, self.hub) as response:
            if response.status_code not in (200, 206):
                ours = self.hub._token_for(str(response.url)) is not None
                at_hub = origin(str(response.url)) in _hub_origins(self.hub.address)
                page = f"{self.hub.address}/{self.name}" if at_hub else ""
                what = self.name if page else name
                raise refusal(_answer(response, what, page, ours))
            yield HttpStream(response, start, stop, self.hub.stall_s)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A container at a plain address: files by name below it, no list. Satisfies `Remote`."""

    name: str
    stall_s: float = STALL_S
    commit: None = None
    files: None = None

    @property
    def host(self) -> str:
        """Of the address; the bytes may come from another."""
        return _host(self.name)

    @contextmanager
    def stream(self, name: str, start: int = 0, stop: int | None = None) -> Iterator["HttpStream"]:
        """See `Remote`."""
        url = f"{self.name.rstrip('/')}/{quote(name)}"
        with _followed(url, start, stop, Hub(None, self.stall_s)) as response:
            if response.status_code not in (200, 206):
                raise refusal(_answer(response, name, "", False))
            yield HttpStream(response, start, stop, self.stall_s)


class HttpStream:
    """The body of an answer, cut to what was asked for. Satisfies `Stream`."""

    def __init__(
        self, response: httpx2.Response, start: int, stop: int | None, stall_s: float
    ) -> None:
        self._response = response
        self._stall_s = stall_s
        self._skip, self.size = _placed(response, start)
        self._want = None if stop is None else stop - start

    def __iter__(self) -> Iterator[bytes]:
        want = self._want
        for part in self._parts():
            if self._skip:
                self._skip, part = max(0, self._skip - len(part)), part[self._skip :]
            if want is not None:
                part = part[:want]
                want -= len(part)
            yield part  # empty while bytes are skipped, so that the reader can stop
            if want == 0:
                return

    def _parts(self) -> Iterator[bytes]:
        """As they come; a fault is told where it happens, after the bytes before it.

        What did not come with the headers is read from the connection itself, which then serves
        nothing else: a parser that looks at every packet costs more than the hashing.
        """
        response = self._response
        length = _whole(response.headers.get("content-length"))
        connection = response.extensions.get("network_stream")
        with _network_faults(str(response.url)):
            parts = response.iter_raw()
            framed = "transfer-encoding" in response.headers or response.http_version != "HTTP/1.1"
            if length is None or connection is None or framed:
                yield from parts
                return
            first = next(parts, b"")
            yield first
            left = length - len(first)
            while left > 0:
                part = connection.read(min(left, _READ_BYTES), timeout=self._stall_s)
                if not part:
                    raise Interrupted(f"{_host(str(response.url))} ended its answer early.")
                left -= len(part)
                yield part


def _placed(response: httpx2.Response, start: int) -> tuple[int, int | None]:
    """(bytes to skip, size of the whole file): a server may send all where a part was asked for."""
    host = _host(str(response.url))
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Interrupted(f"{host} sends the file packed, as nobody asked it to.")
    if response.status_code == 200:
        if start:
            log.info("%s knows no ranges: %d bytes come again", host, start)
        return start, _whole(response.headers.get("content-length"))
    said = response.headers.get("content-range", "")
    match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", said)
    if match is None or int(match[1]) != start:
        raise Interrupted(f"{host} sends another part than asked for ({shown(said)}).")
    return 0, _whole(match[3])


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


@contextmanager
def _followed(url: str, start: int, stop: int | None, hub: Hub) -> Iterator[httpx2.Response]:
    """The answer at the end of `url`'s redirects, its body not yet read."""
    for _ in range(_MOST_REDIRECTS):
        headers = _headers(hub._token_for(url))
        if start or stop is not None:
            headers["range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        timeout = httpx2.Timeout(hub.stall_s, connect=min(_CONNECT_S, hub.stall_s))
        with (
            _network_faults(url),
            get_session().stream(
                "GET", url, headers=headers, timeout=timeout, follow_redirects=False
            ) as response,
        ):
            if not response.has_redirect_location:
                yield response
                return
            url = _next_url(url, response.headers["location"])
    raise Interrupted(f"{_host(url)} only sends the download on and on.")


def _next_url(url: str, location: str) -> str:
    target = urljoin(url, location)
    scheme = origin(target)[0]
    if scheme != "https" and scheme != origin(url)[0]:
        raise DownloadFailed(
            f"{_host(url)} sends the download on to an address that is not secure.", LATER
        )
    return target


def _headers(token: str | None) -> dict[str, str]:
    common = {"user-agent": _AGENT, "accept-encoding": "identity"}
    return common | ({"authorization": f"Bearer {token}"} if token else {})


@contextmanager
def _network_faults(url: str) -> Iterator[None]:
    """Turn what the network does into Interrupted; addresses may hold secrets and stay unsaid."""
    host = _host(url)
    try:
        yield
    except httpx2.ConnectError as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise DownloadFailed(
                f"{host} cannot prove that it is {host}.",
                "Check this machine's clock, or name your network's certificate in SSL_CERT_FILE.",
            ) from error
        raise Interrupted(f"{host} cannot be reached.") from error
    except httpx2.ProxyError as error:
        raise Interrupted(f"The proxy does not lead to {host}.") from error
    except (httpx2.TimeoutException, httpcore2.TimeoutException) as error:
        raise Interrupted(f"{host} has stopped sending.") from error
    except (httpx2.TransportError, httpcore2.NetworkError) as error:
        raise Interrupted(f"The connection to {host} broke.") from error
    except (httpx2.InvalidURL, httpx2.TooManyRedirects) as error:
        raise DownloadFailed(f"{host} sends the download to a wrong address.", LATER) from error
    except OfflineModeIsEnabled as error:
        raise DownloadFailed("HF_HUB_OFFLINE forbids downloads.", "Unset it.") from error


def _answer(response: httpx2.Response, what: str, page: str, with_token: bool) -> Answer:
    return Answer(
        status=response.status_code,
        host=_host(str(response.url)),
        what=what,
        page=page,
        code=response.headers.get("x-error-code", ""),
        message=response.headers.get("x-error-message", ""),
        wait_s=_wait_s(response),
        with_token=with_token,
    )


def _wait_s(response: httpx2.Response) -> float | None:
    """How long the server wants us to wait: Retry-After in seconds, or the hub's own header."""
    seconds = _whole(response.headers.get("retry-after"))
    if seconds is None and response.status_code == 429:
        match = re.search(r";\s*t\s*=\s*(\d+)", response.headers.get("ratelimit", ""))
        seconds = _whole(match[1]) if match else None
    return None if seconds is None else float(seconds)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or "the server"
