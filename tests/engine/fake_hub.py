"""A hub, its storage host and a mirror on loopback, with faults on a script.

The endpoints are those that the real `huggingface_hub` asks: model lists and details, and files
that are handed out directly (small ones, with git's SHA-1) or by a redirect to the storage host
(large ones, with their SHA-256). Every request is recorded.
"""

import hashlib
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34
LARGE = (".bin", ".safetensors")
TOKEN = "hf_a-very-secret-token"

Kind = Literal[
    "status", "stall", "reset", "short", "no ranges", "wrong size", "wrong bytes", "packed", "slow"
]


@dataclass
class Fault:
    """What goes wrong for requests whose path contains `where`, the next `times` times."""

    where: str
    kind: Kind
    times: int = 1
    after: int = 0  # bytes of the body that still come
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    host: str = ""  # "hub" or "storage"; "": either
    least: int = 0  # only for requests of that many bytes or more

    def is_meant(self, path: str, host: str, span: int) -> bool:
        is_host = self.host in ("", host) and (host == "storage" or self.kind == "status")
        return self.times > 0 and self.where in path and is_host and span >= self.least


@dataclass(frozen=True)
class Request:
    """What somebody asked for. `path` names the file, also on the storage host."""

    host: str
    path: str
    start: int | None
    authorization: str | None
    span: int = 0  # bytes that were asked for


@dataclass
class Repository:
    """A model on the hub."""

    files: dict[str, Path]
    commit: str = COMMIT
    gated: bool = False
    hashes: bool = True  # whether the hub tells any
    tags: tuple[str, ...] = ("mlx", "license:apache-2.0")
    listed: dict[str, Any] = field(default_factory=dict)  # lies about files: name -> entry


class FakeHub:
    """A context manager. `endpoint` is what HF_ENDPOINT should be."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.mirrors: dict[str, Path] = {}
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.members: set[str] = set()  # repositories whose conditions the token's owner accepted
        self.refusal = "Access to model is restricted and you are not in the authorized list."
        self.served = 0  # bytes of bodies
        self.on_bytes: Callable[[int], None] = lambda served: None
        self.resume = threading.Event()  # ends stalls
        self._lock = threading.Lock()
        self._blobs: dict[str, tuple[str, Path]] = {}
        self._hub = _serve(self, "hub")
        self._storage = _serve(self, "storage")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.resume.set()
        for server in (self._hub, self._storage):
            server.shutdown()
            server.server_close()

    @property
    def endpoint(self) -> str:
        return _address(self._hub)

    def add(self, id: str, folder: Path, **how: Any) -> Repository:
        """Publish a folder as a model."""
        files = {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}
        self.repositories[id] = repository = Repository(files, **how)
        for name, path in files.items():
            if name.endswith(LARGE):
                self._blobs[sha256(path)] = (name, path)
        return repository

    def mirror(self, name: str, folder: Path) -> str:
        """Publish a folder at a plain address; the address."""
        self.mirrors[name] = folder
        return f"{_address(self._storage)}/{name}"

    def fail(self, where: str, kind: Kind, **how: Any) -> Fault:
        """Script a fault."""
        fault = Fault(where, kind, **how)
        self.faults.append(fault)
        return fault

    def asked(self, where: str) -> list[Request]:
        """The requests whose path contains `where`, of files' bytes alone."""
        return [r for r in self.requests if where in r.path and r.host == "storage"]

    def take_fault(self, path: str, host: str, span: int = 0) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.is_meant(path, host, span):
                    fault.times -= 1
                    return fault
        return None

    def count(self, sent: int) -> None:
        with self._lock:
            self.served += sent
            served = self.served
        self.on_bytes(served)

    def blob_url(self, digest: str) -> str:
        return f"{_address(self._storage)}/blobs/{digest}?signature=also-secret"

    def blob(self, digest: str) -> tuple[str, Path]:
        return self._blobs[digest]


@cache
def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def git_sha1(path: Path) -> str:
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _serve(hub: FakeHub, host: str) -> ThreadingHTTPServer:
    handler = type("Handler", (_Handler,), {"hub": hub, "host": host})
    server = _Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


def _address(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that break off are what this is about."""


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    host: str
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == "/api/models":
            self._record(path)
            return self._refused(path) or self._search()
        if path.startswith("/api/models/"):
            self._record(path)
            return self._refused(path) or self._details(path.removeprefix("/api/models/"))
        if self.host == "hub":
            return self._resolve(path)
        return self._stored(path)

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""

    def _record(self, path: str, span: int = 0) -> None:
        match = re.fullmatch(r"bytes=(\d+)-\d*", self.headers.get("range", ""))
        start = int(match[1]) if match else None
        token = self.headers.get("authorization")
        self.hub.requests.append(Request(self.host, path, start, token, span))

    def _refused(self, path: str) -> bool:
        """Whether a fault of the kind "status" answered."""
        fault = self.hub.take_fault(path, self.host)
        if fault is None:
            return False
        self._answer(fault.status, dict(fault.headers), b"no")
        return True

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _json(self, value: object) -> None:
        self._answer(200, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def _search(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        wanted, tags = asked["search"][0].lower(), set(asked.get("filter", ()))
        self._json([
            {"id": id, "tags": list(r.tags), "downloads": 5, "likes": 2, "gated": r.gated}
            for id, r in self.hub.repositories.items()
            if wanted in id.lower() and tags <= set(r.tags)
        ])  # fmt: skip

    def _details(self, rest: str) -> None:
        id, _, revision = rest.partition("/revision/")
        repository = self.hub.repositories.get(id)
        if repository is None:
            return self._answer(401, {"X-Error-Code": "RepoNotFound"}, b"{}")
        if revision not in ("", "main", repository.commit):
            return self._answer(404, {"X-Error-Code": "RevisionNotFound"}, b"{}")
        siblings = [
            repository.listed.get(name, _sibling(name, path, repository.hashes))
            for name, path in repository.files.items()
        ]
        details = {
            "id": id,
            "sha": repository.commit,
            "gated": "manual" if repository.gated else False,
            "tags": list(repository.tags),
            "siblings": siblings,
        }
        return self._json(details)

    def _resolve(self, path: str) -> None:
        match = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        assert match
        id, revision, name = match.groups()
        self._record(f"{id}/{name}")
        if self._refused(f"{id}/{name}"):
            return None
        repository = self.hub.repositories[id]
        if repository.gated and not self._is_admitted(id):
            return None
        file = repository.files.get(name)
        if file is None or revision != repository.commit:
            return self._answer(404, {"X-Error-Code": "EntryNotFound"}, b"")
        headers = {"X-Repo-Commit": repository.commit}
        if not name.endswith(LARGE):
            return self._answer(200, headers | {"ETag": git_sha1(file)}, file.read_bytes())
        digest = sha256(file)
        headers |= {"X-Linked-Size": str(file.stat().st_size), "X-Linked-Etag": f'"{digest}"'}
        return self._answer(302, headers | {"Location": self.hub.blob_url(digest)}, b"")

    def _is_admitted(self, id: str) -> bool:
        token = self.headers.get("authorization")
        if token == f"Bearer {TOKEN}" and id in self.hub.members:
            return True
        status = 401 if token is None else 403
        gated = {"X-Error-Code": "GatedRepo", "X-Error-Message": self.hub.refusal}
        if token is not None and token != f"Bearer {TOKEN}":
            status, gated = 401, {"X-Error-Message": "Invalid credentials in Authorization header"}
        self._answer(status, gated, b"")
        return False

    def _stored(self, path: str) -> None:
        top, _, rest = path.lstrip("/").partition("/")
        if top == "blobs":
            name, file = self.hub.blob(rest)
        else:
            name, file = rest, self.hub.mirrors[top] / rest
        data = file.read_bytes() if file.is_file() else None
        start, stop = self._range(len(data or b""))
        self._record(name, stop - start)
        fault = self.hub.take_fault(name, self.host, stop - start)
        if fault and fault.kind == "status":
            return self._answer(fault.status, fault.headers, b"no")
        if data is None:
            return self._answer(404, {}, b"")
        return self._send(data, start, stop, fault)

    def _send(self, data: bytes, start: int, stop: int, fault: Fault | None) -> None:
        kind = fault.kind if fault else None
        if kind == "no ranges":
            start, stop = 0, len(data)
        if start >= len(data) and data:
            return self._answer(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
        body = bytearray(data[start:stop])
        if kind == "wrong bytes":
            body[len(body) // 2] ^= 0xFF
        more = 7 if kind == "wrong size" else 0
        whole = kind == "no ranges" or "range" not in self.headers
        self.send_response(200 if whole else 206)
        if not whole:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data) + more}")
        if kind == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body) + more * whole))
        self.end_headers()
        return self._pour(bytes(body), fault)

    def _range(self, size: int) -> tuple[int, int]:
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if match is None:
            return 0, size
        return int(match[1]), min(int(match[2]) + 1 if match[2] else size, size)

    def _pour(self, body: bytes, fault: Fault | None) -> None:
        ends_early = fault is not None and fault.kind in ("stall", "reset", "short")
        stop = fault.after if fault and ends_early else len(body)
        step = fault.after if fault and fault.kind == "slow" else 65536
        for at in range(0, min(stop, len(body)), step):
            part = body[at : min(at + step, stop)]
            self.wfile.write(part)
            self.hub.count(len(part))
            if fault and fault.kind == "slow" and self.hub.resume.wait(0.05):
                fault.kind = "no ranges"
        if ends_early:
            self._break_off(fault)

    def _break_off(self, fault: Fault | None) -> None:
        self.wfile.flush()
        if fault and fault.kind == "stall":
            self.hub.resume.wait(60)
        if fault and fault.kind == "reset":
            at_once = struct.pack("ii", 1, 0)  # closing sends a reset
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        self.close_connection = True


def _sibling(name: str, path: Path, hashes: bool) -> dict[str, Any]:
    size = path.stat().st_size
    entry: dict[str, Any] = {"rfilename": name, "size": size}
    if not hashes:
        return entry
    if name.endswith(LARGE):
        return entry | {"lfs": {"sha256": sha256(path), "size": size, "pointerSize": 134}}
    return entry | {"blobId": git_sha1(path)}
