"""A small byte-level tokenizer with a thinking template; the real ones where they are at hand."""

import json
from pathlib import Path

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from engine.text import template, tokenizer

REAL_ROOT = Path(__file__).parents[3].parent / "shared"
REAL_FOLDERS = ("tokenizers/qwen3", "tokenizers/qwen3.6", "demo")

TEMPLATE = """
{%- for message in messages %}
    {%- set content = message.content | trim %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.reasoning_content is defined %}
        {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
    {%- endif %}
    {{- content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if tools %}{{ tools | tojson }}{% endif %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- else %}
        {{- '<think>\\n' }}
    {%- endif %}
{%- endif %}"""

_CONTROLS = [
    AddedToken("<|endoftext|>", special=True, normalized=False),
    AddedToken("<|im_start|>", special=True, normalized=False),
    AddedToken("<|im_end|>", special=True, normalized=False),
    AddedToken("<think>", special=False, normalized=False),
    AddedToken("</think>", special=False, normalized=False),
]
_SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CORPUS = [
    "<|im_start|>user\nsystem assistant\n<|im_end|>\n<think>\n\n</think>\n\n",
    "The lighthouse keeper read the thinking tokens, then he said: <b>hello</b> there.",
    "日本語のテキスト and שָׁלוֹם and été naïve Ελλάδα",
] * 4


def build_tokenizer() -> Tokenizer:
    """Byte-level BPE as the Qwen families have it, with a vocabulary of some hundred tokens."""
    built = Tokenizer(models.BPE())
    built.normalizer = normalizers.NFC()
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    built.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    built.train_from_iterator(_CORPUS, trainer)
    built.add_tokens(_CONTROLS)
    return built


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    build_tokenizer().save(str(folder / "tokenizer.json"))
    config = {"eos_token": "<|im_end|>", "bos_token": None, "chat_template": TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text('{"eos_token_id": [7]}')
    return folder


@pytest.fixture(scope="session", params=("small", *REAL_FOLDERS))
def folder(request: pytest.FixtureRequest, small_folder: Path) -> Path:
    """Each model folder in turn: the small one always, the real ones where they are."""
    if request.param == "small":
        return small_folder
    real = REAL_ROOT / str(request.param)
    if not (real / "tokenizer.json").is_file():
        pytest.skip(f"the real tokenizer {request.param} is not beside the checkout")
    return real


@pytest.fixture(scope="session")
def opened(folder: Path) -> tokenizer.Tokenizer:
    return tokenizer.Tokenizer.open(folder)


@pytest.fixture(scope="session")
def library(folder: Path) -> Tokenizer:
    """The same tokenizer as the `tokenizers` library reads it: the reference."""
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="session")
def loaded(folder: Path) -> template.ChatTemplate:
    return template.ChatTemplate.load(folder)


@pytest.fixture(scope="session")
def small(small_folder: Path) -> tokenizer.Tokenizer:
    return tokenizer.Tokenizer.open(small_folder)
