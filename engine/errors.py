"""What a user can cause or cure. Anything else that is raised is a bug and is shown as one.

Every error carries a sentence fit for a dialog (`message`: what happened, with the value found and
the limit) and a `remedy` (what to do). `str(error)` is both, on one line.
"""


class MartletError(Exception):
    """A fault a person can act on."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadOption(MartletError):
    """An option, argument or request field holds a value that makes no sense."""

    exit_code = 2


class ModelNotFound(MartletError):
    """No model stands at the path or under the name given."""

    exit_code = 3


class BadContainer(MartletError):
    """A container is incomplete, damaged or contradicts itself."""

    exit_code = 4


class BadCheckpoint(MartletError):
    """A source checkpoint is incomplete, damaged or contradicts itself."""

    exit_code = 4


class UnsupportedModel(MartletError):
    """The model's architecture or quantization is not one that this engine runs."""

    exit_code = 5


class NotEnoughMemory(MartletError):
    """The plan does not fit into the memory that is allowed or free."""

    exit_code = 6


class NotEnoughDisk(MartletError):
    """The target volume cannot hold what is about to be written."""

    exit_code = 7


class ReadFailed(MartletError):
    """An expert could not be read: names layer, expert and file. The session stays usable."""

    exit_code = 8


class ContextFull(MartletError):
    """The prompt is longer than the model's context."""

    exit_code = 9


class TemplateFailed(MartletError):
    """The model's chat template refused the conversation or is broken."""

    exit_code = 10


class SessionBusy(MartletError):
    """A session is already answering: one state serves one user at a time."""

    exit_code = 11


class Cancelled(MartletError):
    """The person stopped a long task. What is done stays done; running it again goes on."""

    exit_code = 12
