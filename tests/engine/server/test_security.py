"""Who is let in: foreign hosts, pages of other sites, keys."""

import logging
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.engine.server.scripted import CHAT, Scripted, serving, user

KEY = "sk-lighthouse-4711"
PAGE = "https://chat.example"


@pytest.fixture(scope="module")
def locked() -> Iterator[httpx.Client]:
    """A server with a key, one page and one more name."""
    settings = {"api_key": KEY, "allowed_origins": (PAGE,), "allowed_hosts": ("Den.local",)}
    with serving(Scripted(), **settings) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8080",
        "localhost:99",
        "LOCALHOST.",
        "[::1]:8080",
        "127.1.2.3",
        "host.docker.internal:8080",
    ],
)
def test_our_own_names(client: httpx.Client, host: str) -> None:
    assert client.get("/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "192.168.1.5:8080",
        "0.0.0.0",
        "",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "[::2]",
        "den.local",
        "localhost:x",
    ],
)
def test_a_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    for path in ("/models", client.base_url.join("/health")):
        response = client.get(path, headers={"Host": host})
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "foreign_host"


def test_a_request_without_a_host_is_refused(client: httpx.Client) -> None:
    address = (client.base_url.host, client.base_url.port or 80)
    with socket.create_connection(address, 60) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.0\r\n\r\n")
        assert b" 403 " in connection.recv(65536).split(b"\r\n")[0]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", ""])
def test_pages_of_other_sites_are_refused(
    client: httpx.Client, session: Scripted, origin: str
) -> None:
    headers = {"Origin": origin}
    preflight = headers | {"Access-Control-Request-Method": "POST"}
    for response in (
        client.post(CHAT, json=user("?"), headers=headers),
        client.post(CHAT, content=b"{}", headers=headers | {"Content-Type": "text/plain"}),
        client.options(CHAT, headers=preflight),
        client.get("/models", headers=headers),
    ):
        assert response.status_code == 403
        assert response.json()["error"]["code"] == "foreign_origin"
        assert "access-control-allow-origin" not in response.headers
    assert session.asked == []


def test_a_listed_page_is_answered(locked: httpx.Client) -> None:
    page = {"Origin": PAGE}
    asks = {"Access-Control-Request-Method": "POST"} | {
        "Access-Control-Request-Headers": "authorization, content-type, x-stainless-os",
        "Access-Control-Request-Private-Network": "true",
    }
    preflight = locked.options(CHAT, headers=page | asks)
    assert preflight.status_code == 200
    assert "x-stainless-os" in preflight.headers["access-control-allow-headers"]
    for stream in (False, True):
        body = user("hi") | {"stream": stream}
        response = locked.post(CHAT, json=body, headers=page | bearer(KEY))
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == PAGE
    refusal = locked.post(CHAT, json=user("hi"), headers=page)
    assert refusal.status_code == 401
    assert refusal.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        f"Basic {KEY}",
        KEY,
        f"Bearer {KEY.upper()}",
        f"Bearer  x {KEY}",
        "Bearer \xff",
    ],
)
def test_without_the_key_nobody_is_answered(locked: httpx.Client, header: str) -> None:
    headers = {b"Authorization": header.encode("latin-1")}
    for response in (
        locked.get("/models", headers=headers),
        locked.post(CHAT, json=user("?"), headers=headers),
        locked.get("/nowhere", headers=headers),
    ):
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "invalid_api_key"
        assert response.headers["www-authenticate"] == "Bearer"


def test_with_the_key_everybody_is(locked: httpx.Client) -> None:
    for header in (f"Bearer {KEY}", f"bearer {KEY}", f"Bearer   {KEY}"):
        assert locked.get("/models", headers={"Authorization": header}).status_code == 200
    assert locked.get("/models").status_code == 401
    assert locked.get(locked.base_url.join("/health")).status_code == 200
    assert locked.get("/models", headers=bearer(KEY) | {"Host": "den.LOCAL:80"}).status_code == 200


def test_the_key_is_in_no_log(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    session = Scripted()
    with caplog.at_level(logging.DEBUG), serving(session, api_key=KEY) as client:
        client.post(CHAT, json=user("hi"), headers=bearer(KEY))
        client.post(CHAT, json=user("hi"), headers=bearer(KEY + "x"))
        client.post(CHAT, content=KEY, headers=bearer(KEY))
        client.get(f"/models?key={KEY}", headers=bearer(KEY))
        client.get("/nowhere", headers=bearer(KEY))
        session.refuse = ValueError("a bug")
        assert client.post(CHAT, json=user("hi"), headers=bearer(KEY)).status_code == 500
        session.refuse = None
    ours = [record for record in caplog.records if not record.name.startswith(("http", "asyncio"))]
    assert any(record.exc_info for record in ours)  # the bug was logged
    formatter = logging.Formatter()
    assert not any(KEY in formatter.format(record) for record in ours)
    assert KEY not in "".join(capfd.readouterr())
