"""Examples of asking the local server, to be pasted. The key itself is in none of them."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass

VARIABLE = "MARTLET_API_KEY"  # where the examples find the key


@dataclass(frozen=True, slots=True)
class Example:
    """A way of asking: its name, and what it looks like for a URL, a model, with or without key."""

    name: str
    text: Callable[[str, str, bool], str]


def _curl(url: str, model: str, keyed: bool) -> str:
    body = (
        f'{{"model": {json.dumps(model, ensure_ascii=False)},\n'
        '       "messages": [{"role": "user", "content": "Hello"}]}'
    )
    lines = [f"curl {url}/chat/completions", '-H "Content-Type: application/json"']
    if keyed:
        lines.append(f'-H "Authorization: Bearer ${VARIABLE}"')
    lines.append(f"-d {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def _python(url: str, model: str, keyed: bool) -> str:
    key = f'os.environ["{VARIABLE}"]' if keyed else '"none"'
    return (
        f"{'import os' if keyed else ''}\n"
        "from openai import OpenAI\n\n"
        f'client = OpenAI(base_url="{url}", api_key={key})\n'
        "answer = client.chat.completions.create(\n"
        f"    model={json.dumps(model, ensure_ascii=False)},\n"
        '    messages=[{"role": "user", "content": "Hello"}],\n'
        ")\n"
        "print(answer.choices[0].message.content)"
    ).lstrip()


EXAMPLES = (Example("curl", _curl), Example("Python", _python))
