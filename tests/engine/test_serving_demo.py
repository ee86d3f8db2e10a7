"""The `openai` client against the real engine process, while the application asks too."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from engine import protocol as wire
from engine.container.library import built_in_model
from engine.options import GenerationOptions
from tests.engine.peer import Peer

LOADING_S = 500.0  # the native core may have to be compiled first
pytestmark = pytest.mark.timeout(600)
KEY = "sk-demo"
LIGHTHOUSE: Any = [{"role": "user", "content": "Hello. What is a lighthouse?"}]
GREEDY: Any = {"model": "demo", "temperature": 0, "max_tokens": 12, "messages": LIGHTHOUSE}
ENDLESS: Any = {"model": "demo", "messages": LIGHTHOUSE, "logit_bias": {"0": -100, "2": -100}}


class RealEngine(Peer):
    """The engine process as the application starts it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )


@pytest.fixture(scope="module")
def peer() -> Iterator[RealEngine]:
    peer = RealEngine()
    peer.send(wire.Load(str(built_in_model()), slots=16))
    peer.hear(wire.Loaded)
    yield peer
    with peer.process:
        peer.process.kill()


@pytest.fixture
def client(peer: RealEngine) -> Iterator[OpenAI]:
    peer.send(wire.Serve("127.0.0.1", 0, KEY))
    url = peer.hear(wire.Serving).url
    with OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=LOADING_S) as client:
        yield client
    peer.send(wire.StopServing())
    peer.hear(wire.NotServing)


def own_question(id: str, max_tokens: int) -> wire.Generate:
    options = GenerationOptions(temperature=0, max_tokens=max_tokens, logit_bias={0: -100, 2: -100})
    return wire.Generate(id, (wire.ChatMessage("user", "Tell me of a brave mouse."),), options)


def own_answer(peer: RealEngine, id: str) -> str:
    text = ""
    while not isinstance(event := peer.hear(object), wire.Finished):
        assert not isinstance(event, wire.Failed | wire.Bug), event
        text += event.text if isinstance(event, wire.Text) else ""
    assert event.id == id
    return text


def test_both_are_answered_as_if_alone(peer: RealEngine, client: OpenAI) -> None:
    """A chat is streamed while the application asks too; neither's words are the other's."""
    alone = client.chat.completions.create(**GREEDY).choices[0].message.content
    peer.send(own_question("alone", 12))
    own_alone = own_answer(peer, "alone")
    said: list[str] = []

    def chat() -> None:
        for _ in range(3):
            chunks = client.chat.completions.create(**GREEDY, stream=True)
            said.append("".join(c.choices[0].delta.content or "" for c in chunks))

    thread = threading.Thread(target=chat)
    thread.start()
    own = []
    for number in range(3):
        peer.send(own_question(str(number), 12))
        own.append(own_answer(peer, str(number)))
    thread.join(LOADING_S)
    assert said == [alone] * 3
    assert own == [own_alone] * 3


def test_a_client_that_goes_away_frees_the_engine(peer: RealEngine, client: OpenAI) -> None:
    for _ in range(5):
        stream = client.chat.completions.create(**ENDLESS, stream=True)
        next(iter(stream))
        stream.close()
    peer.send(own_question("next", 4))
    assert own_answer(peer, "next")


def test_switching_off_breaks_off_and_leaves_the_model(peer: RealEngine, client: OpenAI) -> None:
    stream = client.chat.completions.create(**ENDLESS, stream=True)
    next(iter(stream))
    peer.send(wire.StopServing())
    with pytest.raises(openai.APIError, match="stopping"):
        for _ in stream:
            pass
    peer.hear(wire.NotServing)
    with pytest.raises(openai.APIConnectionError):
        client.models.list()
    peer.send(own_question("still", 4))
    assert own_answer(peer, "still")


def test_without_a_model_the_client_is_told_to_retry(peer: RealEngine, client: OpenAI) -> None:
    peer.send(wire.Unload())
    peer.hear(wire.Unloaded)
    with pytest.raises(openai.InternalServerError) as refused:
        client.chat.completions.create(**GREEDY)
    assert refused.value.status_code == 503
    assert refused.value.code == "model_not_loaded"
    peer.send(wire.Load(str(built_in_model()), slots=16))
    peer.hear(wire.Loaded)
    assert client.chat.completions.create(**GREEDY).choices[0].message.content


def test_the_wrong_key(client: OpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="sk-demon").models.list()
