"""Chat models over the OpenAI protocol, by the `openai` client: OpenAI itself, and
any server that speaks as it does (Ollama, vLLM, llama.cpp, Mistral, …)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from .chat import Reply, Request, Usage
from .roles import ModelName, Requests
from .sources import ModelError, Source
from .tokens import estimate_tokens

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

# How long (seconds) requests wait for the answer to the first: servers refuse a wrong
# key sooner than they answer, and then nothing more is asked.
HEAD_START = 0.1


class OpenAIChat:
    """A chat model; at most `limits.max_concurrency` requests are on their way at once.
    Raises ModelError where a key is needed and not set."""

    def __init__(self, name: ModelName, source: Source, limits: Requests | None = None) -> None:
        self.name = str(name)
        self.usage = Usage()
        self.stopped: ModelError | None = None
        self._model, self._source, self._limits = name.model, source, limits or Requests()
        self._key = require_key(name, source)
        self._client: AsyncOpenAI | None = None
        self._slots: asyncio.Semaphore | None = None
        self._first: asyncio.Event | None = None
        self._schemas = True
        self._answered = False

    async def reply(self, request: Request) -> Reply:
        """See `ChatModel`. The client tries again by itself after time-outs, 429 and
        5xx, with back-off."""
        first = await self._let_first_go_ahead()
        self._slots = self._slots or asyncio.Semaphore(self._limits.max_concurrency)
        async with self._slots:
            if self.stopped:
                raise self.stopped
            try:
                reply = await self._complete(request)
            except ModelError as error:
                self.stopped = error if error.stop else self.stopped
                raise
            finally:
                first.set()
        self.usage.add(reply)
        return reply

    async def _let_first_go_ahead(self) -> asyncio.Event:
        if self._first is None:
            self._first = asyncio.Event()
        elif not self._first.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._first.wait(), HEAD_START)
            self._first.set()
        return self._first

    async def _complete(self, request: Request) -> Reply:
        import openai

        try:
            return await self._send(request, self._schemas)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not (request.schema and self._schemas):
                raise self._explain(error) from None
        except openai.APIError as error:
            raise self._explain(error) from None
        try:  # the server may know no schemas; the prompt asks for JSON in words, too
            reply = await self._send(request, False)
        except openai.APIError as error:
            raise self._explain(error) from None
        self._schemas = False
        return reply

    async def _send(self, request: Request, with_schema: bool) -> Reply:
        client = self._client or self._open()
        options: dict[str, Any] = {}
        if request.schema and with_schema:
            schema = {"name": "reply", "strict": True, "schema": dict(request.schema)}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        messages: Any = [{"role": message.role, "content": message.content} for message in request.messages]
        try:
            completion: Any = await client.chat.completions.create(model=self._model, messages=messages, **options)
        except ValueError as error:  # a body that is no JSON
            raise ModelError(f"{self.name}: not a reply of the OpenAI protocol ({type(error).__name__})") from None
        self._answered = True
        return self._read(completion, request)

    def _read(self, completion: Any, request: Request) -> Reply:
        """The reply in a completion; servers leave out this and that."""
        choices = getattr(completion, "choices", None) or [None]
        message = getattr(choices[0], "message", None)
        if message is None:
            raise ModelError(f"{self.name}: not a reply of the OpenAI protocol (no choices)")
        text = message.content or ""
        if getattr(message, "refusal", None):
            raise ModelError(f"{self.name}: the model refused: {self._safe(str(message.refusal))}")
        if choices[0].finish_reason in ("length", "content_filter"):
            raise ModelError(f"{self.name}: the reply was cut short ({choices[0].finish_reason})")
        if not text.strip():
            raise ModelError(f"{self.name}: empty reply")
        used = getattr(completion, "usage", None)
        tokens_in = getattr(used, "prompt_tokens", None) or estimate_tokens(request.text)
        return Reply(text, tokens_in, getattr(used, "completion_tokens", None) or estimate_tokens(text))

    def _open(self) -> AsyncOpenAI:
        self._client = open_client(self._source, self._key, self._limits)
        return self._client

    async def close(self) -> None:
        """See `ChatModel`. What belongs to the running event loop goes as well."""
        self._slots = self._first = None
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _explain(self, error: APIError) -> ModelError:
        return explain(error, self.name, self._source, self._key, self._limits.timeout, self._answered)

    def _safe(self, text: str) -> str:
        return without_key(text, self._key)


def require_key(name: ModelName, source: Source) -> str:
    """The key of a source; "" where none is needed. Raises ModelError."""
    key = source.key()
    if source.key_variable and not key and not source.local:
        raise ModelError(
            f"{name}: {source.key_variable} is not set: put the key into the environment, or take --model "
            "extractive/default (no key, no network)",
            stop=True,
        )
    if not key.isascii() or any(sign.isspace() for sign in key):
        raise ModelError(f"{name}: {source.key_variable} holds what no key holds (blanks, or no ASCII)", stop=True)
    return key


def open_client(source: Source, key: str, limits: Requests) -> AsyncOpenAI:
    """A client for a source."""
    from openai import AsyncOpenAI

    return AsyncOpenAI(
        api_key=key or "none",
        base_url=source.base_url,
        timeout=limits.timeout,
        max_retries=limits.max_retries,
    )  # fmt: skip


async def check_server(source: Source, seconds: float) -> ModelError | None:
    """Ask a server for its list of models; None where it answers, else what is wrong."""
    import openai

    client = open_client(source, source.key(), Requests(timeout=seconds, max_retries=0))
    try:
        await client.models.list()
    except openai.APIError as error:
        return explain(error, source.name, source, source.key(), seconds, answered=False)
    finally:
        await client.close()
    return None


def explain(
    error: APIError, name: str, source: Source, key: str, timeout: float, answered: bool
) -> ModelError:  # fmt: skip
    """An error of the client in a sentence, without the key. Where the server has not
    `answered` before, one that cannot be reached stops the run."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"{name}: no answer in {timeout:g} s")
    if isinstance(error, openai.APIConnectionError):
        return ModelError(f"{name}: cannot reach {source.base_url} (is the server running?)", stop=not answered)
    if not isinstance(error, openai.APIStatusError):
        return ModelError(f"{name}: {without_key(str(error), key)}")
    status, said = error.status_code, without_key(_said(error), key)
    if status in (401, 403):
        variable = f"${source.key_variable}" if source.key_variable else "the server wants a key: key_variable"
        return ModelError(f"{name}: the key is refused ({status}): look at {variable}", stop=True)
    if status == 404:
        return ModelError(f"{name}: no such model or address at {source.base_url} (404): {said}", stop=True)
    return ModelError(f"{name}: error {status}: {said}", stop=error.code == "insufficient_quota")


def _said(error: Any) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or error.message)


def without_key(text: str, key: str) -> str:
    """One line of at most 300 characters, in which the key does not stand."""
    line = " ".join((text.replace(key, "(key)") if key else text).split())
    return line if len(line) <= 300 else line[:299] + "…"
