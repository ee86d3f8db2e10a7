"""Where a server listens, and how its two sides end."""

import socket
import threading
from contextlib import closing
from typing import Any

import httpx
import pytest

from engine.errors import BadOption, MartletError
from engine.server.served import ServedModel
from engine.server.server import Server, listen
from engine.server.settings import ServerSettings
from tests.engine.server.scripted import LIMIT_S, Scripted, serving

MODEL = ServedModel("m", 1, Scripted(), lambda text: [])


def test_connections_do_not_wait_for_acknowledgements() -> None:
    """Small writes in a row would take 40 ms each time."""
    with (
        closing(listen(ServerSettings(port=0))) as listener,
        closing(socket.create_connection(listener.getsockname(), LIMIT_S)),
        closing(listener.accept()[0]) as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("::1", "[::1]")]
)
def test_addresses_of_this_machine(host: str, url: str) -> None:
    settings = ServerSettings(host=host, port=0)
    try:
        listener = listen(settings)
    except MartletError:
        assert host == "::1"
        pytest.skip("this machine has no IPv6")
    with closing(listener):
        port = listener.getsockname()[1]
        assert Server(MODEL, settings, listener).url == f"http://{url}:{port}/v1"


def test_addresses_of_others_and_ports_that_are_taken() -> None:
    with pytest.raises(BadOption, match="--host is"):
        listen(ServerSettings(host="no such host", api_key="k"))
    with closing(listen(ServerSettings(port=0))) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(MartletError, match=f"port {port} cannot be listened on"):
            listen(ServerSettings(port=port))


def test_it_ends_before_anyone_asked() -> None:
    settings = ServerSettings(port=0)
    server = Server(MODEL, settings, listen(settings))
    server.stop()
    server.run()
    assert "http" not in {thread.name for thread in threading.enumerate()}


def test_two_servers_beside_each_other() -> None:
    with serving(Scripted()) as one, serving(Scripted()) as two:
        assert one.get("/models").status_code == two.get("/models").status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(str(one.base_url), trust_env=False)


def test_when_the_http_side_fails_the_model_s_side_hears_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", failures.append)

    async def fail(*_: Any, **__: Any) -> None:
        raise OSError("no more descriptors")

    monkeypatch.setattr("uvicorn.Server.startup", fail)
    settings = ServerSettings(port=0)
    server = Server(MODEL, settings, listen(settings))
    with pytest.raises(RuntimeError, match="ended by itself"):
        server.run()
    assert [type(failure.exc_value) for failure in failures] == [OSError]
