"""What a user can cause or cure. Anything else that is raised is a bug and is shown as one.

Every error carries a sentence fit for a dialog (`message`: what happened, with the value found and
the limit) and a `remedy` (what to do). `str(error)` is both, on one line.
"""

from pathlib import Path


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
    """An expert could not be read: names layer, expert and file. The session stays usable.

    `path`, `offset`, `size`: the bytes that are missing, where they are known.
    """

    exit_code = 8

    def __init__(
        self,
        message: str,
        remedy: str = "",
        path: Path | None = None,
        offset: int = 0,
        size: int = 0,
    ) -> None:
        super().__init__(message, remedy)
        self.path = path
        self.offset = offset
        self.size = size


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


class DownloadFailed(MartletError):
    """A source cannot be reached, keeps failing or sends what it should not. Nothing is lost."""

    exit_code = 13


class HubRefusal(MartletError):
    """The hub does not hand out a model. `page`: where a person can change that."""

    exit_code = 14

    def __init__(self, message: str, remedy: str = "", page: str = "") -> None:
        super().__init__(message, remedy)
        self.page = page


class TokenNeeded(HubRefusal):
    """The model is handed out to people with an account only, and no token is known."""


class LicenceNotAccepted(HubRefusal):
    """The account has not accepted the model's conditions, or waits for its owners."""


class AccessRefused(HubRefusal):
    """The token is not valid, or the owners said no."""
