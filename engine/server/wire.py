"""Bytes on the wire: JSON bodies and server-sent events."""

import json
from typing import Any

from starlette.responses import Response

STREAM_END = b"data: [DONE]\n\n"
_LINE_BREAKS = [(c.encode(), b"\\u%04x" % ord(c)) for c in "\u0085\u2028\u2029"]


def encode(value: Any) -> bytes:
    """JSON in UTF-8; what UTF-8 cannot hold (lone surrogates, from a client) becomes `?`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A whole response."""
    return Response(encode(value), status, headers, media_type="application/json")


def event(value: Any) -> bytes:
    """One server-sent event. Clients that split lines as Unicode does find none inside."""
    data = encode(value)
    for line_break, escaped in _LINE_BREAKS:
        data = data.replace(line_break, escaped)
    return b"data: " + data + b"\n\n"


def comment(text: str) -> bytes:
    """A line that keeps a stream alive and that clients skip."""
    return f": {text}\n\n".encode()
