"""The `openai` client against the built-in model, through a real server: nothing is scripted."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import openai
import pytest
from openai import OpenAI

from engine.container.library import built_in_model
from engine.hosted_model import HostedModel
from engine.loading import load_model
from engine.server.server import Server, listen
from engine.server.settings import ServerSettings
from tests.engine.server.scripted import LIMIT_S

LOADING_S = 500.0  # the native core may have to be compiled first
MODEL = "demo"
pytestmark = pytest.mark.timeout(600)
KEY = "sk-demo"
LIGHTHOUSE: Any = [{"role": "user", "content": "Hello. What is a lighthouse?"}]
GREEDY: Any = {"model": MODEL, "temperature": 0, "max_tokens": 8}


@pytest.fixture(scope="module")
def client() -> Iterator[OpenAI]:
    """A client of a server whose model lives on a thread of its own."""
    settings = ServerSettings(port=0, api_key=KEY)
    listener = listen(settings)
    started: list[Server] = []
    ready = threading.Event()

    def run() -> None:
        with closing(HostedModel(load_model(built_in_model(), slots=16))) as model:
            started.append(Server(model.served, settings, listener))
            ready.set()
            started[0].run()

    thread = threading.Thread(target=run, name="model", daemon=True)
    thread.start()
    assert ready.wait(LOADING_S)
    server = started[0]
    with OpenAI(base_url=server.url, api_key=KEY, max_retries=0, timeout=4 * LIMIT_S) as client:
        yield client
    server.stop()
    thread.join(LIMIT_S)
    assert not thread.is_alive()


def said(client: OpenAI, **fields: Any) -> str:
    answer = client.chat.completions.create(**(GREEDY | {"messages": LIGHTHOUSE} | fields))
    return answer.choices[0].message.content or ""


def test_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "martlet"


def test_a_chat_and_its_next_turn(client: OpenAI) -> None:
    first = client.chat.completions.create(**GREEDY, messages=LIGHTHOUSE)
    answer = first.choices[0].message.content
    assert answer
    assert "lighthouse" in answer
    assert first.choices[0].finish_reason == "length"
    assert first.usage
    assert first.usage.completion_tokens == 8
    title: Any = [{"role": "user", "content": "Why do cats purr?"}]
    client.chat.completions.create(**GREEDY, messages=title)
    turns = [*LIGHTHOUSE, {"role": "assistant", "content": answer}]
    turns.append({"role": "user", "content": "Is it tall?"})
    second = client.chat.completions.create(**GREEDY, messages=turns)
    assert second.usage
    assert second.usage.prompt_tokens_details
    cached = second.usage.prompt_tokens_details.cached_tokens or 0
    assert cached >= first.usage.prompt_tokens - 4  # the other chat has not evicted this one


def test_a_stream_says_the_same(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        **GREEDY, messages=LIGHTHOUSE, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == said(client)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].usage
    assert chunks[-1].usage.completion_tokens == 8


def test_a_stop_string(client: OpenAI) -> None:
    answer = client.chat.completions.create(**GREEDY, messages=LIGHTHOUSE, stop=[" tall", "zzz"])
    assert answer.choices[0].finish_reason == "stop"
    assert said(client).startswith(answer.choices[0].message.content or "?")
    assert " tall" not in (answer.choices[0].message.content or "")


def test_a_seed(client: OpenAI) -> None:
    drawn = [said(client, temperature=1.5, top_p=1, seed=seed) for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_a_bias(client: OpenAI) -> None:
    first = client.completions.create(**GREEDY, prompt=[5, 6, 7]).choices[0].text
    token = {"logit_bias": {"300": 100}}
    biased = client.completions.create(**GREEDY, prompt=[5, 6, 7], extra_body=token)
    assert len({first, biased.choices[0].text}) == 2


def test_tools_change_nothing_for_a_template_that_knows_none(client: OpenAI) -> None:
    tool: Any = {"type": "function", "function": {"name": "look", "parameters": {}}}
    assert said(client, tools=[tool]) == said(client)


def test_an_answer_that_was_begun_goes_on(client: OpenAI) -> None:
    begun: Any = {"role": "assistant", "content": "A lighthouse is a"}
    assert said(client, messages=[*LIGHTHOUSE, begun]).startswith(" tall")


def test_errors_are_the_client_library_s_own(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature is -1"):
        said(client, temperature=-1)
    with pytest.raises(openai.BadRequestError, match="n is 2"):
        said(client, n=2)
    with pytest.raises(openai.BadRequestError) as caught:
        said(client, messages=[{"role": "user", "content": "light " * 5000}])
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="8192"):
        said(client, logit_bias={"8192": 1})
    with pytest.raises(openai.NotFoundError, match="There is no model"):
        said(client, model="gpt-4o")
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()


def test_cancelled_streams_free_the_engine(client: OpenAI) -> None:
    """Each would go on to the end of the context, for minutes."""
    expected = said(client)
    for count in (1, 2, 5):
        story: Any = [{"role": "user", "content": f"Tell me story {count} about a brave mouse."}]
        endless: Any = {"model": MODEL, "messages": story, "logit_bias": {"0": -100, "2": -100}}
        with client.chat.completions.create(**endless, stream=True) as stream:
            for _, _ in zip(range(count), stream, strict=False):
                pass
        assert said(client) == expected


def test_twenty_clients_at_once(client: OpenAI) -> None:
    def ask(number: int) -> str:
        return said(client, max_tokens=3, messages=[{"role": "user", "content": f"Is {number}?"}])

    with ThreadPoolExecutor(20) as clients:
        together = list(clients.map(ask, range(20)))
    assert [together[0], together[19]] == [ask(0), ask(19)]
    assert all(together)
