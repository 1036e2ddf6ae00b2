"""Send requests to chat models through a cache, and count their cost."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import astuple, dataclass, field, replace
from functools import wraps
from operator import add
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from ..arguments import Arguments
from ..errors import ModelError
from ..logging import counted
from .cache import Cache, CacheUser, request_key
from .sources import ModelOptions

if TYPE_CHECKING:
    from .openai.chat import OpenAIChat

Answer = TypeVar("Answer")
Role = Literal["system", "user", "assistant", "tool"]
Show = Callable[[str], None]
REPLY_TOKENS = 2_000  # default limit of a reply


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's tool call; `arguments` is JSON as received."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A chat message; `calls` are an assistant's tool calls, `answers` the call id that a tool's message answers."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a chat model.

    schema: JSON schema of the reply, None for free text
    instead: any text, to bypass a cached reply
    tools: function tools of the OpenAI protocol
    max_tokens: of the reply, unless set in `options`"""

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None
    instead: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    max_tokens: int = REPLY_TOKENS
    options: ModelOptions = field(default_factory=ModelOptions)

    @property
    def text(self) -> str:
        """Return the contents of all messages, for counting tokens."""
        return "\n".join(message.content for message in self.messages)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with tool calls, and the tokens sent and received."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    calls: tuple[ToolCall, ...] = ()


@dataclass(slots=True)
class Usage:
    """The cost of a run: replies, tokens and cache hits."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0

    def add(self, reply: Reply) -> None:
        self.requests += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    def __str__(self) -> str:
        requests = counted(self.requests, "request")
        tokens = f"{self.tokens_in:,} + {self.tokens_out:,} tokens"
        return f"{requests}, {tokens}, {self.cached} from cache"


_metered: ContextVar[Usage | None] = ContextVar("usage of a part of the work", default=None)


@contextlib.contextmanager
def metered(usage: Usage) -> Iterator[None]:
    """Count replies within the block, and its tasks, separately."""
    before = _metered.set(usage)
    try:
        yield
    finally:
        _metered.reset(before)


def count_reply(reply: Reply) -> None:
    """Count a reply in the enclosing `metered` block."""
    if (usage := _metered.get()) is not None:
        usage.add(reply)


@dataclass
class Asker(CacheUser):
    """A chat model with a cache.

    warn: called once if the cache is unusable
    options: of all requests"""

    model: OpenAIChat
    cache: Cache | None = None
    warn: Callable[[str], None] = field(default=lambda message: None)
    options: ModelOptions = field(default_factory=ModelOptions)

    async def ask(self, request: Request, read: Callable[[str], Answer], show: Show | None = None) -> Answer:
        """Return the answer that `read` finds in the reply.

        `read` raises ModelError for a useless reply, which is not cached. show: called with each part on arrival."""
        key = self._key(request)
        if (cached := self._find(key)) is not None:
            with contextlib.suppress(ModelError):  # cached under other rules
                answer = read(cached)
                self.model.usage.cached += 1
                return answer
        reply = await self.model.reply(replace(request, options=self.options), show)
        try:
            answer = read(reply.text)
        except ModelError as error:
            error.args = (f"{self.model.name}: {error}",)
            raise
        self._keep(key, reply.text)
        return answer

    async def turn(self, request: Request, show: Show | None = None) -> Reply:
        """Return the reply to a request with tools, cached: a text or tool calls. Raise ModelError.

        show: called with each part on arrival, or with a cached text"""
        key = self._key(request)
        if (cached := self._find(key)) is not None:
            with contextlib.suppress(ValueError, TypeError, KeyError):
                record = json.loads(cached)
                reply = Reply(str(record["text"]), calls=tuple(ToolCall(*call) for call in record["calls"]))
                self.model.usage.cached += 1
                if show:
                    show(reply.text)
                return reply
        reply = await self.model.reply(replace(request, options=self.options), show)
        calls = [[call.id, call.name, call.arguments] for call in reply.calls]
        self._keep(key, json.dumps({"text": reply.text, "calls": calls}, ensure_ascii=False))
        return reply

    def forget(self, request: Request) -> None:
        """Remove a reply from the cache."""
        self.use_cache(lambda cache: cache.forget(self._key(request)), None)

    def _key(self, request: Request) -> bytes:
        """Return a cache key of server, model, request and parameters.

        A `config.toml` may replace the server under the same name. The limit of a reply does not count: cut-off replies
        are not cached."""
        if not self.cache:
            return b""
        messages = [
            [message.role, message.content, *map(astuple, message.calls), *([message.answers] * bool(message.answers))]
            for message in request.messages
        ]
        tools = [list(request.tools)] if request.tools else []
        parameters = [self.options.parameters] if self.options.parameters else []
        return request_key(
            [self.model.name, self.model.server, messages, request.schema, request.instead, *tools, *parameters]
        )

    def _find(self, key: bytes) -> str | None:
        return self.use_cache(lambda cache: cache.find_reply(key), None)

    def _keep(self, key: bytes, text: str) -> None:
        self.use_cache(lambda cache: cache.keep_reply(key, text.encode("utf-8", "replace").decode("utf-8")), None)

    async def close(self) -> None:
        await self.model.close()
        if self.cache:
            self.cache.close()


class Closable(Protocol):
    """A holder of connections: a model, an annotator, an index."""

    async def close(self) -> None:
        """Close all connections."""


async def then_close(work: Awaitable[Answer], *resources: Closable) -> Answer:
    """Return the result of work, and close what it used."""
    try:
        return await work
    finally:
        for resource in resources:
            await resource.close()


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Return the result of a coroutine, even inside a running event loop (notebooks)."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def synchronous(function: Callable[Arguments, Coroutine[Any, Any, Answer]]) -> Callable[Arguments, Answer]:
    """Return a coroutine function's synchronous form."""

    @wraps(function)
    def form(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return run(function(*args, **kwargs))

    return form
