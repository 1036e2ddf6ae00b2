"""Chat over the OpenAI protocol (OpenAI, Ollama, vLLM, llama.cpp, Mistral, …)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import CutOffError, ModelError
from ...logging import counted
from ..chat import Reply, Request, Show, Usage, count_reply
from ..names import ModelName
from ..replies import UnwrappedStream, may_think_untagged, thinks, unwrap
from ..sources import ModelOptions, ModelSource
from ..tokens import count_tokens
from .client import (
    PATH,
    THOUGHT_KEYS,
    calls_in,
    explain,
    first_item,
    is_too_long,
    message_data,
    message_in,
    no_choices,
    number_in,
    open_client,
    require_key,
    stream_completion,
    text_in,
    value_at,
    without_key,
)

if TYPE_CHECKING:
    from openai import APIError, APIStatusError, AsyncOpenAI

THOUGHTS = 16_000  # additional tokens for models that think first
_LIMIT, _NEW_LIMIT, _TEMPERATURE = "max_tokens", "max_completion_tokens", "temperature"
_COMPLETION = "in the completion"  # "you requested 2100 tokens (100 in the messages, 2000 in the completion)"
_TOO_LARGE = re.compile(r"too large|at most|exceed|maximum|less than|smaller than|range| > ", re.I)


@dataclass(slots=True)
class Parameters:
    """The parameters of a server.

    limit: name of the reply's limit, "" for none
    thinks: thoughts count against the limit"""

    limit: str = _LIMIT
    temperature: bool = True
    thinks: bool = False

    def of(self, request: Request, limited: bool = True) -> dict[str, Any]:
        """Return a request's parameters. limited: include a limit of the reply."""
        parameters = request.options.parameters
        if not self.temperature:
            parameters.pop(_TEMPERATURE, None)
        if self.limit and limited:
            parameters[self.limit] = self.most_tokens(request)
        return parameters

    def most_tokens(self, request: Request) -> int:
        """Return the reply's limit in tokens."""
        return request.options.max_tokens or request.max_tokens + (THOUGHTS if self.thinks else 0)

    def refused(self, error: APIStatusError, body: Mapping[str, Any]) -> str:
        """Return the parameter that a server's error names, or ""."""
        message, param = message_in(error), value_at(error.body, "param")
        sent_keys = [key for key in (_TEMPERATURE, _LIMIT, _NEW_LIMIT) if key in body]
        parameter = next((key for key in sent_keys if key == param or re.search(rf"\b{key}\b", message)), "")
        return parameter or (self.limit if self.limit in body and _COMPLETION in message else "")

    def learn(self, key: str, message: str) -> bool:
        """Drop or rename a parameter. Return False if only its value was too large, so that it may be used again."""
        if key == _TEMPERATURE:
            self.temperature = False
        elif _TOO_LARGE.search(message):
            return False
        else:
            self.limit = _NEW_LIMIT if key == _LIMIT and _NEW_LIMIT in message else ""
            self.thinks = self.thinks or self.limit == _NEW_LIMIT  # as do all models with the new name
        return True


# Chat


class OpenAIChat:
    """A remote chat model, with at most `limits.max_concurrency` parallel requests.

    Raise ModelError if a required key is not set. stopped: the error that ended requests, or None; warn: called for a
    parameter that cannot be sent."""

    def __init__(
        self, name: ModelName, source: ModelSource, limits: ModelOptions | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:  # fmt: skip
        self.name, self.server = str(name), source.base_url
        self.usage = Usage()
        self.stopped: ModelError | None = None
        self._model, self._source, self._limits = name.model, source, limits or ModelOptions()
        self._key = require_key(name, source)
        self._client: AsyncOpenAI | None = None
        self._slots: asyncio.Semaphore | None = None
        self._schemas = True
        self._parameters, self._warn = Parameters(), warn
        self._answered = False
        self._untagged = may_think_untagged(name.model)

    async def reply(self, request: Request, show: Show | None = None) -> Reply:
        """Return the reply to a request. Raise ModelError.

        The client retries with backoff after time-outs, 429 and 5xx. show: called with each part on arrival."""
        self._slots = self._slots or asyncio.Semaphore(self._limits.max_concurrency)
        async with self._slots:
            if self.stopped:
                raise self.stopped
            try:
                return await self._complete(request, show)
            except ModelError as error:
                self.stopped = error if error.stop else self.stopped
                raise

    async def _complete(self, request: Request, show: Show | None, limited: bool = True) -> Reply:
        import openai

        body = self._body(request, with_schema=self._schemas, limited=limited)
        try:
            return await self._send(request, body, show)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if refused := self._parameters.refused(error, body):
                keep_limit = self._learn(refused, error)
                return await self._complete(request, show, limited and keep_limit)
            if is_too_long(error):
                raise self._explain(error) from None
            if request.tools and "tool" in message_in(error):  # model or server without tool calls
                return await self._complete(replace(request, tools=()), show, limited)
            if show:  # the server may not stream
                return await self._complete(request, None, limited)
            if request.tools:  # or call tools
                return await self._complete(replace(request, tools=()), None, limited)
            if not (request.schema and self._schemas):
                raise self._explain(error) from None
        except openai.APIError as error:
            raise self._explain(error) from None
        try:  # the server may not support schemas; the prompt requests JSON, too
            reply = await self._send(request, self._body(request, with_schema=False, limited=limited), show)
        except openai.APIError as error:
            raise self._explain(error) from None
        self._schemas = False
        return reply

    def _learn(self, refused: str, error: APIStatusError) -> bool:
        if refused == "temperature" and self._parameters.temperature:
            self._warn(
                f"{self.name} takes no temperature, and is asked without: {self._without_key(message_in(error))}"
            )
        return self._parameters.learn(refused, message_in(error))

    async def _send(self, request: Request, body: dict[str, Any], show: Show | None) -> Reply:
        self._client = client = self._client or open_client(self._source, self._key, self._limits)
        stream = UnwrappedStream(show, request.text, self._untagged) if show else None
        try:
            completion = await stream_completion(client, body, stream, self.name) if stream else None
            completion = completion or json.loads(await client.post(PATH, cast_to=bytes, body=body))
        except CutOffError as error:  # stopped by the viewer, but paid for
            self._count(Reply("", count_tokens(request.text), count_tokens(error.text)))
            raise
        except (ValueError, RecursionError) as error:  # not JSON
            raise ModelError(
                f"{self.name}: the reply does not follow the OpenAI protocol ({type(error).__name__})"
            ) from None
        self._answered = True
        try:
            return self._read(completion, request)
        except CutOffError:
            if (stream and stream.shown) or not self._needs_room(completion, request):
                raise
        self._parameters.thinks = True
        return await self._complete(request, show)

    def _needs_room(self, completion: Any, request: Request) -> bool:
        """Return True if thoughts used up the tokens, and more could help."""
        return not request.options.max_tokens and not self._parameters.thinks and _thought_in(completion)

    def _body(self, request: Request, *, with_schema: bool, limited: bool) -> dict[str, Any]:
        body = self._parameters.of(request, limited)
        body |= {"model": self._model, "messages": list(map(message_data, request.messages))}
        if request.schema and with_schema:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | ({"tools": request.tools} if request.tools else {})

    def _read(self, completion: Any, request: Request) -> Reply:
        """Return the reply in a completion, whose parts servers may omit. Useless replies count tokens, too."""
        choice = first_item(value_at(completion, "choices"))
        message = value_at(choice, "message")
        if message is None:
            raise ModelError(f"{self.name}: {self._without_key(no_choices(completion))}")
        content = text_in(value_at(message, "content")).encode("utf-8", "replace").decode("utf-8")
        text = unwrap(content, request.text)
        self._untagged = self._untagged or may_think_untagged(self._model, content)
        used = value_at(completion, "usage")
        tokens_in = number_in(used, "prompt_tokens") or count_tokens(request.text)
        tokens_out = number_in(used, "completion_tokens") or count_tokens(content)
        reply = Reply(text, tokens_in, tokens_out, calls_in(message))
        self._count(reply)
        self._refuse_useless(reply, choice, self._parameters.most_tokens(request))
        if not text.strip() and not (reply.calls and request.tools):
            raise ModelError(f"{self.name}: the model's reply was empty" + _describe_content(completion, reply))
        return reply

    def _count(self, reply: Reply) -> None:
        self.usage.add(reply)
        count_reply(reply)

    def _refuse_useless(self, reply: Reply, choice: Any, most: int) -> None:
        refusal, ended = value_at(value_at(choice, "message"), "refusal"), value_at(choice, "finish_reason")
        if refusal:
            raise ModelError(f"{self.name}: the model refused: {self._without_key(str(refusal))}")
        if ended == "length":
            raise CutOffError(
                f"{self.name}: the reply was cut off after {counted(reply.tokens_out, 'token')}: its limit "
                f"(max_tokens = {most}) or the model's context was reached",
                reply.text,
            )
        if ended == "content_filter":
            raise ModelError(f"{self.name}: the reply was cut short ({ended})")

    async def close(self) -> None:
        """Close connections and drop state of the running event loop."""
        client, self._client, self._slots = self._client, None, None
        if client:
            await client.close()

    def _explain(self, error: APIError) -> ModelError:
        return explain(error, self.name, self._source, self._key, self._limits.timeout, self._answered)

    def _without_key(self, text: str) -> str:
        return without_key(text, self._key)


def _thought_in(completion: Any) -> bool:
    message = value_at(first_item(value_at(completion, "choices")), "message")
    details = value_at(value_at(completion, "usage"), "completion_tokens_details")
    thoughts = any(value_at(message, key) for key in THOUGHT_KEYS) or number_in(details, "reasoning_tokens")
    return bool(thoughts) or thinks(text_in(value_at(message, "content")))


def _describe_content(completion: Any, reply: Reply) -> str:
    if reply.calls:
        return " but called a tool, of which it has none"
    return ": it sent nothing but its thoughts" if _thought_in(completion) else ""
