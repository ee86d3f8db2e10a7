"""Settings: what a person can choose, typed; and how defaults, presets and overrides combine.

Threading: frozen values, free to pass between threads. `app.settings_store` keeps them on disk
and tells of changes. In `Sampling` and `Overrides`, `None` means "not chosen here": the next one
in the order conversation, application, model decides.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Literal

from engine.options import GenerationOptions

Appearance = Literal["system", "light", "dark"]

UNLOAD_AFTER_MIN = (0, 5, 15, 30, 60, 240)  # offered; 0: never
LOOPBACK = "127.0.0.1"  # reached from this computer only
EVERYWHERE = "0.0.0.0"  # reached from other computers, too
TEXT_SIZES = (80, 90, 100, 110, 125, 150, 175, 200)  # per cent


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen. Limits are those of `GenerationOptions`, which refuses the rest."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    def over(self, base: "Sampling") -> "Sampling":
        """These choices, and `base`'s where nothing was chosen here."""
        chosen = {
            f.name: value for f in fields(Sampling) if (value := getattr(self, f.name)) is not None
        }
        return replace(base, **chosen)

    def check(self) -> None:
        """Raise BadOption, naming the field, for a choice that makes no sense."""
        self.options(thinking=None)

    def options(self, thinking: bool | None) -> GenerationOptions:
        """As the engine takes it. Raises BadOption."""
        return GenerationOptions(
            **{f.name: getattr(self, f.name) for f in fields(Sampling)}, thinking=thinking
        )


@dataclass(frozen=True, slots=True)
class Preset:
    """A named way of answering."""

    name: str
    system_prompt: str = ""
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What one conversation does differently from the application's settings."""

    system_prompt: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    thinking: bool | None = None

    def differing(self) -> frozenset[str]:
        """Names of what differs, for the dots: "system_prompt", "thinking", "temperature", ..."""
        own = {name for name in ("system_prompt", "thinking") if getattr(self, name) is not None}
        sampling = {f.name for f in fields(Sampling) if getattr(self.sampling, f.name) is not None}
        return frozenset(own | sampling)


@dataclass(frozen=True, slots=True)
class Settings:
    """The application's settings."""

    appearance: Appearance = "system"
    text_size: int = 100  # per cent, of the transcript
    return_sends: bool = True  # False: Return breaks the line, Command-Return sends
    reasoning_open: bool = False  # thinking is shown unfolded
    system_prompt: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    thinking: bool | None = None  # None: as the model does by itself
    presets: tuple[Preset, ...] = ()
    model: str = ""  # path of the model for new conversations; "": none chosen yet
    memory_bytes: int | None = None  # None: planned from what is free
    model_folders: tuple[str, ...] = ()  # beside the data folder's own
    endpoint: str = ""  # of the model hub; "": its usual one
    titles_by_model: bool = True
    notify_when_done: bool = True
    load_at_start: bool = False  # otherwise at the first message
    server_on: bool = False  # other programs are answered, too
    server_host: str = LOOPBACK  # the address that they are listened to at
    server_port: int = 8080
    server_keyed: bool = False  # they must send a key, which is in the keychain
    unload_after_min: int = 30  # without a question; 0: never
    own_kernels: bool = True  # False: MLX's own operations compute
    check_reads: bool = False  # a sample of what is read is held against its checksums

    def check(self) -> None:
        """Raise BadOption, naming the field, for sampling that makes no sense."""
        for sampling in (self.sampling, *(preset.sampling for preset in self.presets)):
            sampling.check()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What one answer is made with."""

    system_prompt: str
    options: GenerationOptions


def resolve(settings: Settings, overrides: Overrides) -> Resolved:
    """The conversation's choices over the application's. Raises BadOption for impossible ones."""
    prompt, thinking = overrides.system_prompt, overrides.thinking
    sampling = overrides.sampling.over(settings.sampling)
    return Resolved(
        system_prompt=settings.system_prompt if prompt is None else prompt,
        options=sampling.options(settings.thinking if thinking is None else thinking),
    )
