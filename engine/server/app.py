"""The HTTP side: OpenAI's API over one model, as an ASGI application.

It never touches the model: it checks a request, makes a Job of it and sends what comes back. Which
model is served may change while it runs; while there is none, requests are told so.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from engine.errors import MartletError
from engine.events import Event
from engine.server.faults import RATE, SERVER, ApiError, from_engine
from engine.server.forms import ChatForm, CompletionForm
from engine.server.inbox import Inbox
from engine.server.parts import AnswerParts
from engine.server.queue import Job, JobQueue, QueueClosed, QueueFull
from engine.server.reply import RETRY_AFTER_S, Answer, Reply, StreamedReply, WholeReply, stopping
from engine.server.requests import ChatRequest, CompletionRequest, parse_chat, parse_completion
from engine.server.security import Guarded, check_key, check_site
from engine.server.served import ServedModel, Service, Source
from engine.server.settings import ServerSettings
from engine.server.wire import json_response

BODY_LIMIT = 4 * 2**20  # bytes; a context of 256K tokens takes about one million
BODY_TIMEOUT_S = 60.0
LOAD_AFTER_S = 10
HEALTH = "/health"

Parse = Callable[[bytes, str], ChatRequest | CompletionRequest]


def create_app(source: Source, settings: ServerSettings) -> Starlette:
    """The application. Answers are written by whoever takes them from the service's queue."""
    endpoints = _Endpoints(source, settings)
    app = Starlette(
        routes=[
            Route(HEALTH, endpoints.health),
            Route("/v1/models", endpoints.models),
            Route("/v1/models/{name:path}", endpoints.model),
            Route("/v1/chat/completions", endpoints.chat, methods=["POST"]),
            Route("/v1/completions", endpoints.completion, methods=["POST"]),
        ],
        middleware=_middleware(settings),
        exception_handlers={
            ApiError: _told,
            MartletError: _told,
            HTTPException: _told,
            ClientDisconnect: _told,
            Exception: _told,
        },
    )
    app.router.redirect_slashes = False
    return app


def _middleware(settings: ServerSettings) -> list[Middleware]:
    """From the outside in: pages of other sites meet the first, their preflights the second."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=settings.allowed_origins,
        allow_methods=("GET", "POST"),
        allow_headers=("*",),
        allow_private_network=True,
    )
    layers = [Middleware(Guarded, check_site(settings)), cors]
    if settings.api_key is not None:
        layers.append(Middleware(Guarded, check_key(settings.api_key), frozenset([HEALTH])))
    return layers


class _Endpoints:
    """What each path does."""

    def __init__(self, source: Source, settings: ServerSettings) -> None:
        self._source = source
        self._settings = settings
        self._since = int(time.time())

    async def health(self, request: HttpRequest) -> Response:
        """The server runs and its model is loaded."""
        self._service()
        return json_response({"status": "ok"})

    async def models(self, request: HttpRequest) -> Response:
        """All models: the one that is loaded or would be, if any."""
        return json_response({"object": "list", "data": self._models()})

    async def model(self, request: HttpRequest) -> Response:
        """One model by its name."""
        name = request.path_params["name"]
        for model in self._models():
            if model["id"] == name:
                return json_response(model)
        message = f"There is no model {name[:100]!r} here."
        raise ApiError(404, message, param="model", code="model_not_found")

    async def chat(self, request: HttpRequest) -> Reply:
        """Answer a conversation."""
        return await self._answer(request, parse_chat)

    async def completion(self, request: HttpRequest) -> Reply:
        """Continue a text."""
        return await self._answer(request, parse_completion)

    def _models(self) -> list[dict[str, Any]]:
        service = self._source.service()
        if service is not None:
            model = service.model
            return [_listed(model.name, model.since) | {"context_length": model.context_length}]
        expected = self._source.expected()
        return [_listed(expected, self._since)] if expected else []

    def _service(self) -> Service:
        service = self._source.service()
        if service is None:
            raise ApiError(
                503,
                "No model is loaded yet. Ask again in a moment, or load one first.",
                kind=SERVER,
                code="model_not_loaded",
                headers={"retry-after": str(LOAD_AFTER_S)},
            )
        return service

    async def _answer(self, http: HttpRequest, parse: Parse) -> Reply:
        body = await _read(http)
        if self._source.service() is None:
            self._source.wanted()
        service, cancelled = self._service(), threading.Event()
        model, queue = service.model, service.queue
        # In a thread: a long prompt takes a while to render, and other streams must go on.
        request, events = await asyncio.to_thread(_begin, model, body, parse, cancelled)
        inbox = Inbox()
        job = Job(_client(http, request.user), events, inbox.deliver, cancelled)
        _enqueue(queue, job)
        answer = Answer(queue, job, inbox, *_telling(model, request))
        if not request.stream:
            return WholeReply(answer)
        return StreamedReply(
            answer, heartbeat_s=self._settings.heartbeat_s, include_usage=request.include_usage
        )


def _listed(name: str, since: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": since, "owned_by": "martlet"}


def _begin(
    model: ServedModel, body: bytes, parse: Parse, cancelled: threading.Event
) -> tuple[ChatRequest | CompletionRequest, Iterator[Event]]:
    """The request and the events that will answer it; refuses what cannot be answered."""
    request, session = parse(body, model.name), model.session
    if isinstance(request, ChatRequest):
        return request, session.stream(
            request.messages, request.options, tools=request.tools, cancelled=cancelled.is_set
        )
    prompt = request.prompt
    ids = model.encode(prompt) if isinstance(prompt, str) else prompt
    return request, session.complete(ids, request.options, cancelled=cancelled.is_set)


def _enqueue(queue: JobQueue, job: Job) -> None:
    try:
        queue.put(job)
    except QueueFull as error:
        raise ApiError(
            503,
            "Too many answers are waiting; ask again later.",
            kind=RATE,
            code="queue_full",
            headers={"retry-after": str(RETRY_AFTER_S)},
        ) from error
    except QueueClosed as error:
        raise stopping() from error


def _telling(
    model: ServedModel, request: ChatRequest | CompletionRequest
) -> tuple[AnswerParts, ChatForm | CompletionForm]:
    if isinstance(request, ChatRequest):
        parts = AnswerParts(request.tools, one_call=request.one_call)
        return parts, ChatForm(model.name)
    return AnswerParts(), CompletionForm(model.name)


async def _read(request: HttpRequest) -> bytes:
    """The body. Raises ApiError where it is too large or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise ApiError(413, f"The body is larger than {BODY_LIMIT:,} bytes.")
    except TimeoutError as error:
        raise ApiError(408, f"The body took longer than {BODY_TIMEOUT_S:.0f} s.") from error
    return bytes(body)


def _client(request: HttpRequest, user: str) -> tuple[str, str, str]:
    """Who takes turns: a program on a machine, and whom it asks for."""
    address = request.client.host if request.client else ""
    return address, request.headers.get("user-agent", ""), user


async def _told(request: HttpRequest, error: Exception) -> Response:
    """Any error as OpenAI's error object."""
    match error:
        case ApiError():
            return error.response()
        case HTTPException():
            message = f"{request.method} {request.url.path[:100]}: {error.detail}."
            headers = dict(error.headers) if error.headers else None
            return ApiError(error.status_code, message, headers=headers).response()
        case ClientDisconnect():
            return Response(status_code=400)  # nobody reads it
        case MartletError():
            return from_engine(error).response()
    response = from_engine(error).response()
    response.headers["connection"] = "close"  # as uvicorn does after a bug, once it is logged
    return response
