"""Chat models behind a small protocol: what is asked, what is answered, what it cost."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from ..errors import CacheError, ModelError
from ..logging import counted
from .reply_cache import ReplyCache, request_key

Answer = TypeVar("Answer")
Role = Literal["system", "user", "assistant", "tool"]
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a model wants to be used; `arguments` is JSON, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat. `calls` are those that an assistant made in it; `answers` is
    the id of the call that a tool's message answers."""

    role: Role
    content: str
    calls: tuple[Call, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked. `schema` is the JSON schema that the reply has to follow
    (None: free text), `instead` names an earlier answer to the same request that is
    not wanted any more (any text: it tells one asking from another in the cache). `tools`
    are function tools of the OpenAI protocol that the model may call."""

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None
    instead: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """All that is sent, for counting."""
        return "\n".join(message.content for message in self.messages)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, and the tokens that were sent and received. `calls`: the
    tools that it wants to be used before it answers."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    calls: tuple[Call, ...] = ()


@dataclass(slots=True)
class Usage:
    """What a run has cost: requests that were answered, their tokens, and answers
    that came from the cache."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        self.requests += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cached + other.cached,
        )

    def __str__(self) -> str:
        sent = counted(self.requests, "request")
        tokens = f"{self.tokens_in:,} + {self.tokens_out:,} tokens"
        return f"{sent}, {tokens}, {self.cached} from cache"


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers. `name` is `source/model`; `server` is the address of who answers
    under that name; `usage` counts; `stopped` is the error after which nothing more is asked."""

    name: str
    server: str
    usage: Usage
    stopped: ModelError | None

    async def reply(self, request: Request, show: Show | None = None) -> Reply:
        """Answer a request; `show` is told the answer's parts as they come. Raises
        ModelError."""
        ...

    async def close(self) -> None:
        """Let connections go; they are made again where they are needed."""
        ...


@dataclass
class Asker:
    """Asks a model, by way of the reply cache. `warn` is told once where the cache
    cannot be used; the work goes on without it."""

    model: ChatModel
    cache: ReplyCache | None = None
    warn: Callable[[str], None] = field(default=lambda message: None)

    async def ask(self, request: Request, read: Callable[[str], Answer], show: Show | None = None) -> Answer:
        """The answer to a request, as `read` reads the reply's text; `read` raises
        ModelError where it is of no use. Only useful replies are kept. `show` is told
        the parts of a reply as they come."""
        key = self._key(request)
        known = self._find(key)
        if known is not None:
            with contextlib.suppress(ModelError):  # kept by a version that read replies otherwise
                answer = read(known)
                self.model.usage.cached += 1
                return answer
        reply = await self.model.reply(request, show)
        try:
            answer = read(reply.text)
        except ModelError as error:
            raise ModelError(f"{self.model.name}: {error}") from None
        self._keep(key, reply.text)
        return answer

    async def turn(self, request: Request, show: Show | None = None) -> Reply:
        """The reply to a request with tools: a text, or calls of them. It is kept like other
        replies; `show` is told the parts of its text as they come, of one from the cache the
        whole. Raises ModelError."""
        key = self._key(request)
        known = self._find(key)
        if known is not None:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                kept = json.loads(known)
                reply = Reply(str(kept["text"]), calls=tuple(Call(*call) for call in kept["calls"]))
                self.model.usage.cached += 1
                if show:
                    show(reply.text)
                return reply
        reply = await self.model.reply(request, show)
        calls = [[call.id, call.name, call.arguments] for call in reply.calls]
        self._keep(key, json.dumps({"text": reply.text, "calls": calls}, ensure_ascii=False))
        return reply

    def forget(self, request: Request) -> None:
        """Keep the reply to a request no longer, so that the same request is asked anew."""
        try:
            if self.cache:
                self.cache.forget(self._key(request))
        except CacheError as error:
            self._go_without(error)

    def _key(self, request: Request) -> bytes:
        """The key of a request in the cache. The server is part of it: a `config.toml` may have
        another one answer under the name of a source of ours."""
        if not self.cache:
            return b""
        messages = [
            [message.role, message.content, *map(astuple, message.calls), *([message.answers] * bool(message.answers))]
            for message in request.messages
        ]
        tools = [list(request.tools)] if request.tools else []
        return request_key([self.model.name, self.model.server, messages, request.schema, request.instead, *tools])

    def _find(self, key: bytes) -> str | None:
        try:
            return self.cache.find(key) if self.cache else None
        except CacheError as error:
            self._go_without(error)
            return None

    def _keep(self, key: bytes, text: str) -> None:
        try:
            if self.cache:
                self.cache.keep(key, text.encode("utf-8", "replace").decode("utf-8"))
        except CacheError as error:
            self._go_without(error)

    def _go_without(self, error: CacheError) -> None:
        self.cache = None
        self.warn(f"going on without the reply cache: {error}")

    async def close(self) -> None:
        """Close the model's connections and the cache."""
        await self.model.close()
        if self.cache:
            self.cache.close()


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """The result of asynchronous work, also where a loop runs already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
