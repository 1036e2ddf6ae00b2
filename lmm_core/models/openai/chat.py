"""Chat models over the OpenAI protocol, by the `openai` client.

The server is OpenAI's or any that speaks its protocol (Ollama, vLLM, llama.cpp, Mistral, …).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..chat import Reply, Request, Show, Usage
from ..names import ModelName
from ..sources import ModelSource, RequestLimits
from ..tokens import estimate_tokens
from .client import explain, is_too_long, open_client, require_key, without_key
from .completions import (
    PATH,
    calls_in,
    first_item,
    message_data,
    no_choices,
    number_in,
    stream_completion,
    text_in,
    value_at,
)

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

# Seconds that further requests wait for the reply to the first. Servers refuse a wrong key faster
# than they answer, and then nothing more is sent.
HEAD_START = 0.1
AT_ONCE = 16  # requests of one client, because for each it looks through all its connections


class OpenAIChat:
    """A chat model on a server, with at most `limits.max_concurrency` requests at once.

    Raise ModelError if a key is needed and not set."""

    def __init__(self, name: ModelName, source: ModelSource, limits: RequestLimits | None = None) -> None:
        self.name, self.server = str(name), source.base_url
        self.usage = Usage()
        self.stopped: ModelError | None = None
        self._model, self._source, self._limits = name.model, source, limits or RequestLimits()
        self._key = require_key(name, source)
        self._clients: list[AsyncOpenAI] = []  # used in turn
        self._sent = 0
        self._slots: asyncio.Semaphore | None = None
        self._first: asyncio.Event | None = None
        self._schemas = True
        self._answered = False

    async def reply(self, request: Request, show: Show | None = None) -> Reply:
        """Return the reply to a request; see `ChatModel`.

        The client repeats requests by itself after time-outs, 429 and 5xx, with increasing waits."""
        self._clients = self._clients or self._open()  # before the head start, because it takes time
        first = await self._let_first_go_ahead()
        self._slots = self._slots or asyncio.Semaphore(self._limits.max_concurrency)
        async with self._slots:
            if self.stopped:
                raise self.stopped
            try:
                reply = await self._complete(request, show)
            except ModelError as error:
                self.stopped = error if error.stop else self.stopped
                raise
            finally:
                first.set()
        return reply

    async def _let_first_go_ahead(self) -> asyncio.Event:
        if self._first is None:
            self._first = asyncio.Event()
        elif not self._first.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEAD_START):
                    await self._first.wait()
            self._first.set()
        return self._first

    async def _complete(self, request: Request, show: Show | None) -> Reply:
        import openai

        try:
            return await self._send(request, self._schemas, show)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if is_too_long(error):
                raise self._explain(error) from None
            if show:  # the server may not be able to stream
                return await self._complete(request, None)
            if request.tools:  # or to call tools
                return await self._complete(replace(request, tools=()), None)
            if not (request.schema and self._schemas):
                raise self._explain(error) from None
        except openai.APIError as error:
            raise self._explain(error) from None
        try:  # the server may not support schemas; the prompt asks for JSON in words, too
            reply = await self._send(request, False, show)
        except openai.APIError as error:
            raise self._explain(error) from None
        self._schemas = False
        return reply

    async def _send(self, request: Request, with_schema: bool, show: Show | None) -> Reply:
        client = self._next_client()
        body = self._body(request, with_schema)
        try:
            completion = await stream_completion(client, body, show, self.name) if show else None
            completion = completion or json.loads(await client.post(PATH, cast_to=bytes, body=body))
        except (ValueError, RecursionError) as error:  # the body is not JSON
            raise ModelError(
                f"{self.name}: the reply does not follow the OpenAI protocol ({type(error).__name__})"
            ) from None
        self._answered = True
        return self._read(completion, request)

    def _body(self, request: Request, with_schema: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": list(map(message_data, request.messages))}
        if request.schema and with_schema:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | ({"tools": request.tools} if request.tools else {})

    def _read(self, completion: Any, request: Request) -> Reply:
        """Return the reply in a completion, of which servers may omit any part.

        Its tokens are paid for and so are counted, even if the reply is useless."""
        choice = first_item(value_at(completion, "choices"))
        message = value_at(choice, "message")
        if message is None:
            raise ModelError(f"{self.name}: {self._safe(no_choices(completion))}")
        text = text_in(value_at(message, "content")).encode("utf-8", "replace").decode("utf-8")
        used = value_at(completion, "usage")
        tokens_in = number_in(used, "prompt_tokens") or estimate_tokens(request.text)
        tokens_out = number_in(used, "completion_tokens") or estimate_tokens(text)
        reply = Reply(text, tokens_in, tokens_out, calls_in(message))
        self.usage.add(reply)
        self._refuse_useless(reply, choice)
        return reply

    def _refuse_useless(self, reply: Reply, choice: Any) -> None:
        refusal, ended = value_at(value_at(choice, "message"), "refusal"), value_at(choice, "finish_reason")
        if refusal:
            raise ModelError(f"{self.name}: the model refused: {self._safe(str(refusal))}")
        if ended in ("length", "content_filter"):
            raise ModelError(f"{self.name}: the reply was cut short ({ended})")

    def _next_client(self) -> AsyncOpenAI:
        self._clients = self._clients or self._open()
        self._sent += 1
        return self._clients[self._sent % len(self._clients)]

    def _open(self) -> list[AsyncOpenAI]:
        count = math.ceil(self._limits.max_concurrency / AT_ONCE)
        try:
            return [open_client(self._source, self._key, self._limits) for _ in range(count)]
        except ModelError as error:
            self.stopped = error
            raise

    async def close(self) -> None:
        """Close all connections, and forget everything that belongs to the running event loop."""
        self._slots = self._first = None
        clients, self._clients = self._clients, []
        for client in clients:
            await client.close()

    def _explain(self, error: APIError) -> ModelError:
        explained = explain(error, self.name, self._source, self._key, self._limits.timeout, self._answered)
        mend = _mend(error)
        return ModelError(f"{explained}: {mend}", explained.stop) if mend else explained

    def _safe(self, text: str) -> str:
        return without_key(text, self._key)


def _mend(error: APIError) -> str:
    """Return what can be done about an error, in the words of the settings, or ""."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return "allow it more (timeout in config.toml), or send it fewer requests at a time (max_concurrency)"
    if is_too_long(error):
        return (
            "send less (context_tokens under [major] in config.toml for chats, edits and answers; more headings for "
            "annotations), or start the server with a larger context"
        )
    return ""
