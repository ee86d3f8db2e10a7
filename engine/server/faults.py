"""ApiError: what a client is told when something cannot be done, in OpenAI's error object."""

import reprlib
from typing import Any

from starlette.responses import Response

from engine.errors import BadOption, ContextFull, MartletError, TemplateFailed
from engine.server.wire import json_response

MESSAGE_LENGTH = 1000  # characters; a message may quote what was sent
INVALID, SERVER, RATE = "invalid_request_error", "server_error", "rate_limit_error"

_ASKER = (BadOption, ContextFull, TemplateFailed)  # faults of what was asked, not of the model


class ApiError(Exception):
    """A refusal or a failure: an HTTP status and OpenAI's fields."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message[:MESSAGE_LENGTH]
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = headers

    def body(self) -> dict[str, Any]:
        """OpenAI's error object."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def response(self) -> Response:
        """The error as a whole response."""
        return json_response(self.body(), self.status, self.headers)


def refused(message: str, param: str | None, code: str = "invalid_value") -> ApiError:
    """The request is at fault: 400."""
    return ApiError(400, message, param=param, code=code)


def from_engine(error: Exception) -> ApiError:
    """What the engine raised, as a client is told; of a bug, only that there is one."""
    if not isinstance(error, MartletError):
        return ApiError(
            500, "Something went wrong inside the server; its log says more.", kind=SERVER
        )
    if isinstance(error, _ASKER):
        code = "context_length_exceeded" if isinstance(error, ContextFull) else None
        return ApiError(400, str(error), code=code)
    return ApiError(500, str(error), kind=SERVER)


def shown(value: object) -> str:
    """A value as an error quotes it: short, whatever was sent."""
    return reprlib.repr(value)
