"""The engine process's messages, for both ends: one JSON object a line, UTF-8, "type" names it.

Commands go to the engine's standard input, events come from its standard output. Knows neither
MLX nor Qt. A line that is not exactly one well-formed message raises BadLine; nothing is guessed.
An `id` ties a generation's events to the command that asked for it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, TypeAlias

from engine.events import AnswerStats, FinishReason
from engine.options import GenerationOptions
from engine.records import BadRecord, from_json, to_json

VERSION = 1
MAX_LINE_BYTES = 64 * 2**20  # a conversation of many times the largest context

PressureLevel = Literal["normal", "warning", "critical"]
ThermalState = Literal["nominal", "fair", "serious", "critical"]


class BadLine(ValueError):
    """A line that is not a message of this protocol."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A turn of the prompt. A last one of the assistant's is to be continued."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is worth telling about a loaded model."""

    name: str
    path: str
    family: str
    context_length: int  # tokens
    layer_count: int
    expert_count: int  # a layer
    experts_per_token: int
    can_think: bool  # the template knows a thinking switch


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where the engine's memory goes, in bytes."""

    budget_bytes: int
    core_bytes: int  # dense weights
    expert_bytes: int  # slots of all layers
    conversation_bytes: int  # KV cache, recurrent state, snapshots
    scratch_bytes: int  # staging and temporaries
    slots_per_layer: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a model would take, in bytes by what they are for, before anything is allocated."""

    core_bytes: int  # dense weights
    state_bytes: int  # KV cache, recurrent state, snapshots
    expert_bytes: int  # slots of all layers
    staging_bytes: int  # experts of a long prompt on their way
    scratch_bytes: int  # temporaries, and freed memory that is kept for the next time
    runtime_bytes: int  # the interpreter and its libraries
    slots_per_layer: int
    expert_count: int  # a layer

    @property
    def total_bytes(self) -> int:
        """Everything at once."""
        return (
            self.core_bytes
            + self.state_bytes
            + self.expert_bytes
            + self.staging_bytes
            + self.scratch_bytes
            + self.runtime_bytes
        )


@dataclass(frozen=True, slots=True)
class ShaderReport:
    """Whether a group of our shaders is used; if not, why."""

    group: str
    on: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What computes the loaded model."""

    kind: Literal["metal", "native", "plain"]  # our shaders; our C core; MLX's own operations
    device: Literal["gpu", "cpu"]
    activations: str  # dtype
    shaders: tuple[ShaderReport, ...] = ()  # of "metal", after each was held against its formula


@dataclass(frozen=True, slots=True)
class Load:
    """Load the model at `path`, in place of the one that is loaded. Without numbers: planned."""

    path: str
    memory_bytes: int | None = None
    slots: int | None = None
    check_reads: bool = False  # hold a sample of what is read against its checksums
    snapshots_folder: str | None = None  # for conversations beyond the process; None: nowhere
    snapshots_bytes: int | None = None  # that they may take there, of all models
    plain: bool = False  # none of our own kernels, as with MARTLET_PLAIN=1


@dataclass(frozen=True, slots=True)
class Plan:
    """Ask what the model at `path` would take, without loading it. Planned is the answer."""

    path: str
    memory_bytes: int | None = None  # None: as much as this machine should give


@dataclass(frozen=True, slots=True)
class Unload:
    """Let go of the model. The only proof that all memory is back is the process's end: Quit."""


@dataclass(frozen=True, slots=True)
class Generate:
    """Answer `messages`."""

    id: str
    messages: tuple[ChatMessage, ...]
    options: GenerationOptions
    conversation: str = ""  # by which Forget finds what the engine keeps of it


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the generation `id`; it finishes with the reason "cancelled". Unknown ids are ignored."""

    id: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Keep within `memory_bytes` from now on."""

    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on with an answer that is paused for want of memory, whatever the pressure."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Ask for EngineStats."""


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Ask how many tokens the prompt made of `messages` has."""

    id: str
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Serve:
    """Answer other programs, too, at this address; see `engine.server.settings`.

    In place of where the engine serves already. Serving or NotServing follows.
    """

    host: str
    port: int
    api_key: str | None = field(default=None, repr=False)  # never shown, never logged


@dataclass(frozen=True, slots=True)
class Expect:
    """While no model is loaded, tell other programs of this one: it comes when they ask."""

    model: str  # as ModelFacts calls it; "" for none


@dataclass(frozen=True, slots=True)
class StopServing:
    """Answer no other programs; what they wait for is broken off. NotServing follows."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Erase what is kept of these conversations, in memory and on the disk."""

    conversations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quit:
    """End the process, as the end of its input does."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The process lives and reads commands."""

    pid: int
    engine_version: str
    protocol_version: int = VERSION


@dataclass(frozen=True, slots=True)
class Loading:
    """A model is being loaded: the step it is at, and how much of that is done, 0 to 1."""

    phase: str
    share: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model is ready to answer."""

    model: ModelFacts
    plan: MemoryPlan
    kernels: KernelReport | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """The answer to Plan, with what was asked. Where the model cannot be loaded so, `message`
    and `remedy` say why; `ledger` is then the least that it runs with, or None for a broken one.
    """

    path: str
    memory_bytes: int | None
    ledger: Ledger | None
    free_bytes: int  # that it could have: free now, or given back by the model that it replaces
    least_bytes: int  # a budget below which the model does not run
    most_bytes: int  # a budget that holds all of it
    message: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Unloaded:
    """No model is loaded any more."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """`done` of `total` prompt tokens are read; `cached` of them were there before."""

    id: str
    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class Reasoning:
    """More of the model's reasoning."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """More of the answer."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a generation."""

    id: str
    reason: FinishReason
    stats: AnswerStats


@dataclass(frozen=True, slots=True)
class TokensCounted:
    """The answer to CountTokens. None: no model is loaded, or its template refused."""

    id: str
    count: int | None


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Figures of the running engine. The rates cover the time since the figures before."""

    memory_bytes: int  # of the process
    hit_rate: float  # of expert look-ups, 0 to 1
    bytes_per_s: float  # read from the disk
    token_ms: float  # one token, of which `disk_ms` waiting for the disk
    disk_ms: float
    pressure: PressureLevel = "normal"
    thermal: ThermalState = "nominal"
    low_power: bool = False  # the machine saves power
    paused: str = ""  # why the answer stands still, for a person; it goes on by itself, or Continue


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """The engine changed its memory by itself or on Resize; `message` says why, for a person."""

    level: PressureLevel
    message: str
    plan: MemoryPlan


@dataclass(frozen=True, slots=True)
class StorageChanged:
    """The model's files, which could not be read, can be read again; or they are other ones."""

    usable: bool  # whether answers can go on; else the model must be loaded again
    message: str


@dataclass(frozen=True, slots=True)
class Serving:
    """Other programs are listened to."""

    url: str  # what OpenAI's clients call the base URL


@dataclass(frozen=True, slots=True)
class NotServing:
    """Other programs are not listened to. Without `message`: as it was asked for."""

    message: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """Whether another program is being answered now, and how many answers wait for their turn."""

    answering: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class ModelWanted:
    """Another program asks, and there is no model: it was told to ask again."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Something a person can act on. `id`: of the generation that it ended, or None (a load)."""

    id: str | None
    kind: str  # name of the error's type in engine.errors
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Bug:
    """Our own fault; the process goes on. `id`: of the generation that it ended, or None."""

    id: str | None
    traceback: str


Command: TypeAlias = (
    Load
    | Plan
    | Unload
    | Generate
    | Cancel
    | Continue
    | Resize
    | Stats
    | CountTokens
    | Forget
    | Serve
    | Expect
    | StopServing
    | Quit
)
Event: TypeAlias = (
    Ready
    | Loading
    | Loaded
    | Planned
    | Unloaded
    | Prefill
    | Reasoning
    | Text
    | Finished
    | TokensCounted
    | EngineStats
    | MemoryChanged
    | StorageChanged
    | Serving
    | NotServing
    | Served
    | ModelWanted
    | Failed
    | Bug
)

COMMANDS: dict[str, type[Command]] = {kind.__name__: kind for kind in Command.__args__}
EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in Event.__args__}


def encode(message: Command | Event) -> bytes:
    """One line, with its newline."""
    body = {"type": type(message).__name__, **to_json(message)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """Whole lines until the end. One that is too long comes cut, for `decode_*` to refuse it.

    A last line without newline is dropped: its writer died in the middle of it.
    """
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if line.endswith(b"\n"):
            yield line
        elif len(line) > MAX_LINE_BYTES:
            yield line
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)


def decode_command(line: bytes) -> Command:
    """The command in `line`. Raises BadLine, or BadOption for options out of their limits."""
    command: Command = _decode(COMMANDS, line)
    return command


def decode_event(line: bytes) -> Event:
    """The event in `line`. Raises BadLine."""
    event: Event = _decode(EVENTS, line)
    return event


def _decode(kinds: dict[str, type[Any]], line: bytes) -> Any:
    body = _parse(line)
    kind = body.pop("type", None)
    if not isinstance(kind, str) or kind not in kinds:
        raise BadLine(f"No message has the type {str(kind)[:60]!r}.")
    try:
        return from_json(kinds[kind], body)
    except BadRecord as error:
        raise BadLine(f"{kind}: {error}") from error


def _parse(line: bytes) -> dict[str, object]:
    if len(line) > MAX_LINE_BYTES:
        raise BadLine(f"A line has {len(line):,} bytes, more than {MAX_LINE_BYTES:,}.")
    try:
        body = json.loads(line.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"A line is not JSON: {error}.") from error
    if not isinstance(body, dict):
        raise BadLine(f"A line holds {type(body).__name__}, expected an object.")
    return body


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
