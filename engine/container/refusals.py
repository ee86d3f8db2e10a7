"""What a server's "no" means, and what a person can do about it. Pure: it sees one answer.

Source: the hub's error codes, as huggingface_hub reads them (`X-Error-Code`).
"""

from dataclasses import dataclass

from engine.container.json_file import shown
from engine.container.remote import Absent, Interrupted, PastTheEnd
from engine.errors import (
    AccessRefused,
    DownloadFailed,
    LicenceNotAccepted,
    ModelNotFound,
    TokenNeeded,
)

TOKENS_PAGE = "https://huggingface.co/settings/tokens"
LATER = "What has arrived is kept; try again later."


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that is not the file. Texts of the server's are hostile."""

    status: int
    host: str
    what: str  # the model or file that was asked for
    page: str = ""  # the model's page, if the hub itself answers; "": a mirror or a storage host
    code: str = ""
    message: str = ""
    wait_s: float | None = None
    with_token: bool = False


def refusal(answer: Answer) -> Exception:
    """The error to raise for `answer`."""
    status = answer.status
    if status == 416:
        return PastTheEnd()
    if status in (408, 425, 429):
        return Interrupted(f"{answer.host} asks to slow down ({status}).", answer.wait_s)
    if status >= 500:
        return Interrupted(f"{answer.host} has trouble ({status}).", answer.wait_s)
    if status in (404, 410) and not answer.code.startswith(("Repo", "Revision")):
        return Absent(answer.what)
    if answer.page:
        return _hub_refusal(answer)
    if status == 403:
        return Interrupted(f"{answer.host} no longer honours the link (403).")
    return DownloadFailed(f"{answer.host} refuses {answer.what} ({status}).", "Check the address.")


def _hub_refusal(answer: Answer) -> Exception:
    match answer.code, answer.status:
        case "RepoNotFound", _:
            return ModelNotFound(
                f"There is no public model {answer.what} on {answer.host}.",
                "Check the name; a private model needs a token.",
            )
        case "RevisionNotFound", _:
            return ModelNotFound(
                f"{answer.host} no longer has this version of {answer.what}.",
                "Cancel this download and begin again.",
            )
        case "GatedRepo", 403:
            return _gated(answer)
        case _, 401 if not answer.with_token:
            return TokenNeeded(
                f"{answer.what} is for people with an account on {answer.host}.",
                "Accept its conditions on its page, then give Martlet a token.",
                answer.page,
            )
        case _, 401:
            return AccessRefused(
                f"{answer.host} does not accept the token.",
                "It may have expired: make a new one that can read.",
                TOKENS_PAGE,
            )
        case _, 403:
            return AccessRefused(
                f"{answer.host} refuses {answer.what}{_words(answer)}.",
                "Check what the token may read.",
                answer.page,
            )
    return DownloadFailed(f"{answer.host} refuses {answer.what} ({answer.status}).", LATER)


def _gated(answer: Answer) -> Exception:
    """The hub has one code for three states; its message tells them apart."""
    said = answer.message.lower()
    if "rejected" in said:
        return AccessRefused(
            f"The owners of {answer.what} turned this account's request down.",
            "Choose another model.",
            answer.page,
        )
    if "awaiting" in said or "pending" in said:
        return LicenceNotAccepted(
            f"The owners of {answer.what} have not answered this account's request yet.",
            "Try again when they have.",
            answer.page,
        )
    return LicenceNotAccepted(
        f"This account has not accepted the conditions of {answer.what}.",
        "Accept them on its page, then try again.",
        answer.page,
    )


def _words(answer: Answer) -> str:
    return f": {shown(answer.message)}" if answer.message else ""
