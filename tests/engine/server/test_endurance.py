"""A thousand requests in a row leave nothing behind."""

import gc
import os
import threading
from pathlib import Path

import httpx
import pytest

from tests.engine.server.scripted import CHAT, NAME, Scripted, user

DESCRIPTORS = Path("/dev/fd")


def standing() -> dict[str, int]:
    """What the process holds: client and server are both in it."""
    gc.collect()
    return {
        "objects": len(gc.get_objects()),
        "threads": threading.active_count(),
        "descriptors": len(os.listdir(DESCRIPTORS)),
    }


def ask(client: httpx.Client, session: Scripted, number: int) -> None:
    """Each kind of request in turn."""
    match number % 5:
        case 0:
            assert client.post(CHAT, json=user("hi") | {"stream": True}).text.endswith("[DONE]\n\n")
        case 1:
            assert client.post(CHAT, json=user("hi")).status_code == 200
        case 2:
            assert client.post("/completions", json={"prompt": "hi"}).status_code == 200
        case 3:
            assert client.post(CHAT, json=user("hi") | {"n": 2}).status_code == 400
        case 4:
            assert client.get(f"/models/{NAME}").status_code == 200
    session.asked.clear()
    session.ends.clear()


@pytest.mark.slow
def test_a_thousand_requests_leave_nothing_behind(
    client: httpx.Client, session: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "engine.server")  # the test itself would keep every record
    for number in range(200):
        ask(client, session, number)
    before = standing()
    for number in range(1000):
        ask(client, session, number)
    after = standing()
    assert after["objects"] - before["objects"] < 500  # less than one for two requests
    assert after["threads"] <= before["threads"]
    assert after["descriptors"] <= before["descriptors"]
