import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadContainer, TemplateFailed
from engine.text.guard import Guard
from engine.text.template import ChatTemplate, opens_thinking

HI: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]


def write(folder: Path, **config: Any) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_the_file_wins_over_the_config(tmp_path: Path) -> None:
    write(tmp_path, chat_template="config")
    (tmp_path / "chat_template.jinja").write_text("file")
    assert ChatTemplate.load(tmp_path).render(HI) == "file"


def test_named_templates_serve_their_purpose(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    loaded = ChatTemplate.load(write(tmp_path, chat_template=named))
    assert loaded.render(HI) == "plain"
    assert loaded.render(HI, tools=[]) == "plain"
    assert loaded.render(HI, tools=[{"name": "f"}]) == "tools"


@pytest.mark.parametrize("entry", [None, 3, [], [{"name": "other", "template": "x"}], ["x"], [{}]])
def test_a_folder_without_template_says_so(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(TemplateFailed, match="no chat template"):
        ChatTemplate.load(write(tmp_path, chat_template=entry))


def test_a_folder_with_no_files_says_so(tmp_path: Path) -> None:
    with pytest.raises(TemplateFailed, match="no chat template"):
        ChatTemplate.load(tmp_path)


def test_special_tokens_are_given_as_text(tmp_path: Path) -> None:
    source = "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}"
    write(
        tmp_path,
        chat_template=source,
        bos_token={"content": "<s>"},
        eos_token="</s>",
        pad_token=None,
    )
    assert ChatTemplate.load(tmp_path).render(HI) == "<s></s>False"


@pytest.mark.parametrize(
    ("thinking", "seen"), [(None, "left out"), (True, "True"), (False, "False")]
)
def test_thinking_is_passed_on_or_left_out(thinking: bool | None, seen: str) -> None:
    template = ChatTemplate("{{ enable_thinking if enable_thinking is defined else 'left out' }}")
    assert template.render(HI, thinking=thinking) == seen


def test_thinking_is_supported_where_it_makes_a_difference() -> None:
    assert ChatTemplate("{% if enable_thinking %}<think>{% endif %}").supports_thinking()
    assert not ChatTemplate("{{ messages[0].content }}").supports_thinking()
    assert not ChatTemplate("{{ raise_exception('no') }}").supports_thinking()


@pytest.mark.parametrize(
    ("rendered", "opened"),
    [("<think>\n", True), ("<think>", True), ("<think>\n\n</think>\n\n", False), ("", False)],
)
def test_a_prompt_that_ends_in_the_tag_opens_thinking(rendered: str, opened: bool) -> None:
    assert opens_thinking(rendered) is opened


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('Roles must alternate.') }}", "Roles must alternate"),
        ("{{ missing.field.other }}", "undefined"),
        ("{{ 1 / 0 }}", "division"),
        ("{{ messages[0].content + 1 }}", "concatenate"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{% include 'other' %}", "loader"),
        ("{{ 'long text' | truncate(-1) }}", "length"),
        ("{{ [1] | first | int('x') }}{{ 'a' | unknown_method() }}", "unknown_method"),
    ],
)
def test_a_template_that_fails_is_named_as_the_culprit(source: str, reason: str) -> None:
    with pytest.raises(TemplateFailed, match=f"(?i)chat template.*{reason}"):
        ChatTemplate(source).render(HI)


def test_a_refusal_quotes_what_was_typed_as_it_was_typed() -> None:
    guard = Guard(["<think>"])
    template = ChatTemplate("{{ raise_exception('No ' + messages[0].content) }}")
    with pytest.raises(TemplateFailed, match=r"No <b>é\."):
        template.render([{"role": "user", "content": "<b>é"}], guard)


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{",
        "{% endif %}",
        "{{ 'a' * 2 ",
        "{% break %}",
        "{% for a in b %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_a_template_that_does_not_parse_is_refused_on_loading(source: str) -> None:
    with pytest.raises(TemplateFailed, match="cannot be read"):
        ChatTemplate(source)


def test_a_broken_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(BadContainer, match="tokenizer_config"):
        ChatTemplate.load(tmp_path)


def test_a_template_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateFailed, match="cannot be read"):
        ChatTemplate.load(tmp_path)


def test_endlessly_nested_messages_are_refused() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(TemplateFailed, match="recursion"):
        ChatTemplate("x").render([{"role": "user", "content": "", "extra": deep}])


FRAGMENTS = re.findall(
    r"{%.+?%}|{{.+?}}",
    """
    {% for x in messages %} {% endfor %} {% if x %} {% else %} {% endif %} {{ x }} {{ loop(1) }}
    {% macro m(a) %} {% endmacro %} {{ m(1) }} {% call m() %} {% endcall %} {{ caller() }}
    {% set n = namespace(a=1) %} {% set n.a = n %} {% break %} {% continue %} {% generation %}
    {% endgeneration %} {% raw %} {% block b %} {% endblock %} {{ self.b() }} {% extends 'x' %}
    {% import 'x' as z %} {{ [].pop() }} {{ strftime_now(1) }} {{ range() }} {{ messages['b'] }}
    {{ x.encode('x') }} {{ 1 // 0 }} {{ 'a' in 1 }} {{ not_there() }} {{ 0 ** -1 }} {{ ''.join(1) }}
    {{ messages[0].content.zzz() }} {{ '{0.a}'.format(1) }} {{ 2.0 ** 9999 }}
    """,
)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join))
@settings(deadline=None, max_examples=200)
def test_any_template_renders_or_fails_as_one(source: str) -> None:
    with contextlib.suppress(TemplateFailed):
        assert isinstance(ChatTemplate(source).render(HI), str)


CALL = {"type": "function", "function": {"name": "f", "arguments": {"a": "<é>", "b": [1, None]}}}
CONVERSATIONS: list[list[dict[str, Any]]] = [
    HI,
    [
        {"role": "system", "content": "S"},
        {"role": "user", "content": " Hi \n"},
        {"role": "assistant", "content": "A", "reasoning_content": "R"},
        {"role": "user", "content": "B"},
    ],
    [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "reasoning_content": "R", "tool_calls": [CALL, CALL]},
        {"role": "tool", "content": "T1"},
        {"role": "tool", "content": "T2"},
    ],
]


@pytest.mark.parametrize("tools", [None, [{"name": "f", "description": "<é> & 'q'"}]])
@pytest.mark.parametrize("switch", [{}, {"enable_thinking": True}, {"enable_thinking": False}])
def test_prompts_equal_those_of_transformers(
    loaded: ChatTemplate, folder: Path, switch: dict[str, bool], tools: list[dict[str, str]] | None
) -> None:
    reference = pytest.importorskip("transformers.utils.chat_template_utils")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    for messages in CONVERSATIONS:
        expected, _ = reference.render_jinja_template(
            [messages],
            tools=tools,
            chat_template=config["chat_template"],
            add_generation_prompt=True,
            **switch,
        )
        thinking = switch.get("enable_thinking")
        assert loaded.render(messages, tools=tools, thinking=thinking) == expected[0]
