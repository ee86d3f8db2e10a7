"""What a server may be told, and what it refuses to be."""

from typing import Any

import pytest

from engine.errors import BadOption
from engine.server.settings import ServerSettings, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9"])
def test_this_machine_alone_needs_no_key(host: str) -> None:
    assert is_loopback(host)
    ServerSettings(host=host)


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.1.2", "my-mac.local"])
def test_other_addresses_need_one(host: str) -> None:
    with pytest.raises(BadOption, match="--api-key"):
        ServerSettings(host=host)
    ServerSettings(host=host, api_key="k")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"port": -1}, "--port is -1"),
        ({"port": 65536}, "--port is 65536"),
        ({"queue_limit": 0}, "--queue is 0"),
        ({"api_key": ""}, "API key"),
        ({"api_key": "two words"}, "API key"),
        ({"api_key": "clé"}, "API key"),
        ({"allowed_origins": ("*",)}, "--allow-origin is '\\*'"),
        ({"allowed_origins": ("https://a.example/",)}, "https://a.example/"),
        ({"allowed_origins": ("a.example",)}, "a.example"),
        ({"allowed_origins": ("null",)}, "null"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(BadOption, match=words) as caught:
        ServerSettings(**wrong)
    assert "two words" not in str(caught.value)


def test_the_key_is_never_shown() -> None:
    assert "secret" not in repr(ServerSettings(api_key="secret"))


def test_pages_of_applications_can_be_listed() -> None:
    ServerSettings(allowed_origins=("tauri://localhost", "http://localhost:3000"))
