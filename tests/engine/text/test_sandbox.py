import json
import re
from typing import Any

import pytest

from engine.text import sandbox

ENVIRONMENT = sandbox.ChatEnvironment()


def render(source: str, **variables: Any) -> str:
    return sandbox.render(ENVIRONMENT.from_string(source), variables)


def test_json_is_written_as_models_were_trained_on_it() -> None:
    value = {"b": "é<&>'", "a": [1, None, True]}
    assert render("{{ v | tojson }}", v=value) == json.dumps(value, ensure_ascii=False)
    assert render("{{ v | tojson(indent=2) }}", v=value) == json.dumps(
        value, indent=2, ensure_ascii=False
    )
    assert render("{{ v | tojson(ensure_ascii=true) }}", v=value) == json.dumps(value)
    assert render("{{ v | tojson(sort_keys=true) }}", v=value).startswith('{"a"')


def test_block_lines_leave_no_blanks() -> None:
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"


def test_generation_blocks_are_transparent() -> None:
    assert (
        render("{% for x in [1, 2] %}{% generation %}{{ x }}{% endgeneration %}{% endfor %}")
        == "12"
    )


def test_loops_can_be_left_and_shortened() -> None:
    source = "{% for x in [1, 2, 3, 4] %}{% if x == 2 %}{% continue %}{% endif %}"
    assert render(source + "{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}") == "13"


def test_the_loop_variable_knows_its_place() -> None:
    source = (
        "{% for x in v %}{{ loop.index0 }}/{{ loop.length }}{{ loop.last }}{{ loop.revindex }} "
    )
    assert render(source + "{% endfor %}", v="ab") == "0/2False2 1/2True1 "
    source = "{% for x in v %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }} {% endfor %}"
    assert render(source, v=[1, 2]) == "<1<2 1<2< "


def test_loops_take_conditions_pairs_and_recursion() -> None:
    assert (
        render(
            "{% for k, v in d.items() if v %}{{ k }}{% else %}none{% endfor %}", d={"a": 0, "b": 1}
        )
        == "b"
    )
    assert render("{% for x in u %}{{ x }}{% else %}none{% endfor %}") == "none"
    tree = [{"n": 1, "below": [{"n": 2, "below": []}]}]
    source = "{% for x in t recursive %}{{ x.n }}{{ loop(x.below) }}{% endfor %}"
    assert render(source, t=tree) == "12"


def test_the_date_can_be_asked() -> None:
    assert re.fullmatch(r"\d{4}", render("{{ strftime_now('%Y') }}"))


def grown(step: str) -> str:
    """A template that does something 40 times over."""
    return "{% set n = namespace(x='xx', y=3) %}{% for i in range(40) %}" + step + "{% endfor %}"


ENDLESS = {
    "nested loops": "{% set r = range(999) | list %}{% for a in r %}{% for b in r %}{{ a }}"
    "{% endfor %}{% endfor %}",
    "calls": "{% macro m() %}{% endmacro %}{% for a in range(9999) %}{{ m() }}{% endfor %}",
    "output": "{% for a in range(9000) %}{{ 'x' * 9000 }}{% endfor %}",
    "repetition": "{{ 'x' * 10 ** 9 }}",
    "list repetition": "{% set a = 10 ** 9 * [1] %}",
    "joining": grown("{% set n.x = n.x ~ n.x %}"),
    "adding": grown("{% set n.x = n.x + n.x %}"),
    "blocks": grown("{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}"),
    "powers": "{{ 9 ** (9 ** 9) }}",
    "squares": grown("{% set n.y = n.y * n.y %}"),
}


@pytest.mark.parametrize("source", ENDLESS.values(), ids=ENDLESS.keys())
def test_runaway_templates_are_stopped(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_STEPS", 10_000)
    with pytest.raises(sandbox.LimitExceeded):
        render(source)


def test_large_ranges_are_refused() -> None:
    with pytest.raises(OverflowError):
        render("{% for x in range(10 ** 9) %}{% endfor %}")


def test_steps_count_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_STEPS", 3)
    template = ENVIRONMENT.from_string("{% for x in v %}{{ x }}{% endfor %}")
    for _ in range(3):
        assert sandbox.render(template, {"v": "abc"}) == "abc"
    with pytest.raises(sandbox.LimitExceeded, match="3 steps"):
        sandbox.render(template, {"v": "abcd"})


def test_ordinary_arithmetic_works() -> None:
    assert (
        render("{{ 2 ** 10 }} {{ 3 * 'ab' }} {{ 2 * 3 + 1.5 }} {{ 'a' ~ 1 ~ none }}")
        == "1024 ababab 7.5 a1None"
    )
