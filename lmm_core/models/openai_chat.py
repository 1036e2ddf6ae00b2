"""Chat models over the OpenAI protocol, by the `openai` client: OpenAI itself, and
any server that speaks as it does (Ollama, vLLM, llama.cpp, Mistral, …)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from .chat import Call, ChatMessage, Reply, Request, Show, Usage
from .roles import ModelName, Requests
from .sources import ModelSource, is_address, shown_address
from .tokens import estimate_tokens

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI, AsyncStream

# How long (seconds) requests wait for the answer to the first: servers refuse a wrong
# key sooner than they answer, and then nothing more is asked.
HEAD_START = 0.1
# Asked by the client's own `post`, and read as JSON: `chat.completions` would look through
# all of a request and a reply once more, which is a third of the processor time of a call.
PATH = "/chat/completions"
# What is sent in a request to a server that is not OpenAI's.
HEADERS = frozenset({
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"
})  # fmt: skip
AT_ONCE = 16  # requests of one client: for each it looks through all its connections


class OpenAIChat:
    """A chat model; at most `limits.max_concurrency` requests are on their way at once.
    Raises ModelError where a key is needed and not set."""

    def __init__(self, name: ModelName, source: ModelSource, limits: Requests | None = None) -> None:
        self.name, self.server = str(name), source.base_url
        self.usage = Usage()
        self.stopped: ModelError | None = None
        self._model, self._source, self._limits = name.model, source, limits or Requests()
        self._key = require_key(name, source)
        self._clients: list[AsyncOpenAI] = []  # that have their turns
        self._sent = 0
        self._slots: asyncio.Semaphore | None = None
        self._first: asyncio.Event | None = None
        self._schemas = True
        self._answered = False

    async def reply(self, request: Request, show: Show | None = None) -> Reply:
        """See `ChatModel`. The client tries again by itself after time-outs, 429 and
        5xx, with back-off."""
        self._clients = self._clients or self._open()  # takes time, in which nobody's head start may end
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
            if show:  # the server may not know how to send an answer in parts
                return await self._complete(request, None)
            if request.tools:  # or no tools
                return await self._complete(replace(request, tools=()), None)
            if not (request.schema and self._schemas):
                raise self._explain(error) from None
        except openai.APIError as error:
            raise self._explain(error) from None
        try:  # the server may know no schemas; the prompt asks for JSON in words, too
            reply = await self._send(request, False, show)
        except openai.APIError as error:
            raise self._explain(error) from None
        self._schemas = False
        return reply

    async def _send(self, request: Request, with_schema: bool, show: Show | None) -> Reply:
        client = self._next_client()
        body = self._body(request, with_schema)
        try:
            completion = await _stream(client, body, show, self.name) if show else None
            completion = completion or json.loads(await client.post(PATH, cast_to=bytes, body=body))
        except (ValueError, RecursionError) as error:  # a body that is no JSON
            raise ModelError(f"{self.name}: not a reply of the OpenAI protocol ({type(error).__name__})") from None
        self._answered = True
        return self._read(completion, request)

    def _body(self, request: Request, with_schema: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": list(map(_message, request.messages))}
        if request.schema and with_schema:
            schema = {"name": "reply", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | ({"tools": request.tools} if request.tools else {})

    def _read(self, completion: Any, request: Request) -> Reply:
        """The reply in a completion; servers leave out this and that. What was paid for
        counts, whether it is of use or not."""
        choice = _first(_at(completion, "choices"))
        message = _at(choice, "message")
        if message is None:
            raise ModelError(f"{self.name}: {self._safe(_no_choices(completion))}")
        text = _text_of(_at(message, "content")).encode("utf-8", "replace").decode("utf-8")
        used = _at(completion, "usage")
        tokens_in = number_in(used, "prompt_tokens") or estimate_tokens(request.text)
        tokens_out = number_in(used, "completion_tokens") or estimate_tokens(text)
        reply = Reply(text, tokens_in, tokens_out, _calls_of(message))
        self.usage.add(reply)
        self._refuse_useless(reply, choice)
        return reply

    def _refuse_useless(self, reply: Reply, choice: Any) -> None:
        refusal, ended = _at(_at(choice, "message"), "refusal"), _at(choice, "finish_reason")
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
        """See `ChatModel`. What belongs to the running event loop goes as well."""
        self._slots = self._first = None
        clients, self._clients = self._clients, []
        for client in clients:
            await client.close()

    def _explain(self, error: APIError) -> ModelError:
        return explain(error, self.name, self._source, self._key, self._limits.timeout, self._answered)

    def _safe(self, text: str) -> str:
        return without_key(text, self._key)


def _at(value: Any, key: str) -> Any:
    """What an object has under a key; None where it has nothing there, or is no object."""
    return value.get(key) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    """The first of a list; None where there is none."""
    return value[0] if isinstance(value, list) and value else None


async def _stream(client: AsyncOpenAI, body: dict[str, Any], show: Show, name: str) -> dict[str, Any] | None:
    """A completion put together from its parts, which are shown as they come; None where
    the server sends none, or does not say that the last one is the last."""
    texts: list[str] = []
    refusals: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    ended, used = None, None
    stream = await _open_stream(client, body)
    try:
        async for part in stream:
            used = _at(part, "usage") or used
            if choice := _first(_at(part, "choices")):
                delta = _at(choice, "delta")
                texts.append(_text_of(_at(delta, "content")))
                refusals.append(_text_of(_at(delta, "refusal")))
                _gather_calls(calls, delta)
                show(texts[-1])
                ended = _at(choice, "finish_reason") or ended
    except _transport_errors() as error:
        why = f"the connection broke off in the middle of the answer ({type(error).__name__})"
        raise ModelError(f"{name}: {why}") from None
    called = [calls[at] for at in sorted(calls)]
    message = {"content": "".join(texts), "refusal": "".join(refusals), "tool_calls": called}
    return {"choices": [{"message": message, "finish_reason": ended}], "usage": used} if ended else None


async def _open_stream(client: AsyncOpenAI, body: dict[str, Any]) -> AsyncStream[object]:
    from openai import AsyncStream

    asked = body | {"stream": True, "stream_options": {"include_usage": True}}
    return await client.post(PATH, cast_to=object, body=asked, stream=True, stream_cls=AsyncStream[object])


def _gather_calls(calls: dict[int, dict[str, Any]], delta: Any) -> None:
    """Put the parts of tool calls together, which come by number."""
    found = _at(delta, "tool_calls")
    for number, part in enumerate(found if isinstance(found, list) else []):
        at, function = _at(part, "index"), _at(part, "function")
        call = calls.setdefault(number if at is None else at, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or _text_of(_at(part, "id"))
        for key in call["function"]:
            call["function"][key] += _text_of(_at(function, key))


def _calls_of(message: Any) -> tuple[Call, ...]:
    """The tools that a message calls; some servers give no ids."""
    found = _at(message, "tool_calls")
    calls = []
    for number, call in enumerate(found if isinstance(found, list) else []):
        name, arguments = (_text_of(_at(_at(call, "function"), key)) for key in ("name", "arguments"))
        if name:
            calls.append(Call(_text_of(_at(call, "id")) or f"call_{number}", name, arguments))
    return tuple(calls)


def _message(message: ChatMessage) -> dict[str, Any]:
    """A message as the protocol has it."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.answers:
        sent["tool_call_id"] = message.answers
    return sent


def _transport_errors() -> tuple[type[Exception], ...]:
    """What breaks while a stream is read; the client speaks through httpx, from its
    version 3 on through httpx2, and lets its errors through or makes them its own."""
    from openai import APIConnectionError

    return (APIConnectionError, *(sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules))


def _no_choices(completion: Any) -> str:
    """Why there is no reply in a completion; some servers send errors as one."""
    said = _at(_at(completion, "error"), "message")
    return str(said or "not a reply of the OpenAI protocol (no choices)")


def _text_of(content: Any) -> str:
    """The text of a message: servers of models that think may send it in parts."""
    if isinstance(content, list):
        texts = [_at(part, "text") for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def number_in(used: Any, key: str) -> int:
    """A number of tokens in what a server says of its use; 0 where it says none."""
    value = _at(used, key) if isinstance(used, dict) else getattr(used, key, None)
    return value if isinstance(value, int) else 0


def require_key(name: ModelName, source: ModelSource) -> str:
    """The key of a source; "" where none is needed. Raises ModelError."""
    key = source.key()
    if source.needs_key and not key:
        raise ModelError(
            f"{name}: {source.key_variable} is not set: put the key into the environment, or take --model "
            "extractive/default (no key, no network)",
            stop=True,
        )
    if not all("!" <= sign <= "~" for sign in key):
        raise ModelError(
            f"{name}: {source.key_variable} holds what no key holds (blanks, control characters, or no ASCII)",
            stop=True,
        )  # fmt: skip
    return key


def open_client(source: ModelSource, key: str, limits: Requests) -> AsyncOpenAI:
    """A client for a source, which sends to its host alone. Raises ModelError where its
    address is none."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    if not is_address(source.base_url):
        raise ModelError(f"{source.name}: {source.base_url} is not the address of a server (http://…)", stop=True)
    http = DefaultAsyncHttpxClient(trust_env=not source.local)  # a proxy has no part in what stays on this machine
    client = AsyncOpenAI(
        api_key=key or "none",
        base_url=source.base_url,
        timeout=limits.timeout,
        max_retries=limits.max_retries,
        http_client=http,
    )
    http.event_hooks = {"request": [partial(_check_request, source, key or "none", _server(client.base_url))]}
    return client


def _server(url: Any) -> tuple[str, str, int | None]:
    """What of a client's URL says where a request goes."""
    return url.scheme, url.host, url.port


async def _check_request(source: ModelSource, key: str, home: tuple[str, str, int | None], request: Any) -> None:
    """Look at each request before it is sent: a redirect leads to no other server, and what
    the client finds in OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS and the like is for OpenAI's source,
    as the person names it, alone."""
    if _server(request.url) != home:
        there = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        raise ModelError(
            f"{source.name}: {shown_address(source.base_url)} leads on to {there}, where nothing is sent: "
            "if that is the right address, give it",
            stop=True,
        )
    if source.name != "openai" or source.file:
        for name in {*request.headers} - HEADERS:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {key}"


async def check_server(source: ModelSource, seconds: float) -> ModelError | None:
    """Ask a server for its list of models; None where it answers, else what is wrong."""
    import openai

    try:
        async with open_client(source, source.key(), Requests(timeout=seconds, max_retries=0)) as client:
            await client.models.list()
    except ModelError as error:
        return error
    except openai.APIError as error:
        return explain(error, source.name, source, source.key(), seconds, answered=False)
    except (ValueError, RecursionError, AttributeError) as error:
        return ModelError(f"{source.name}: not a reply of the OpenAI protocol ({type(error).__name__})")
    return None


def explain(
    error: APIError, name: str, source: ModelSource, key: str, timeout: float, answered: bool
) -> ModelError:  # fmt: skip
    """An error of the client in a sentence, without the key. Where the server has not
    `answered` before, one that cannot be reached stops the run."""
    import openai

    address = shown_address(source.base_url)
    if isinstance(error.__cause__, ModelError):  # `_check_request`, of which some versions make one of theirs
        return error.__cause__
    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"{name}: no answer in {timeout:g} s")
    if isinstance(error, openai.APIConnectionError):
        return ModelError(f"{name}: cannot reach {address} (is the server running?)", stop=not answered)
    if not isinstance(error, openai.APIStatusError):
        return ModelError(f"{name}: {without_key(str(error), key)}")
    status, said = error.status_code, without_key(_said(error), key)
    if status in (401, 403):
        variable = f"${source.key_variable}" if source.key_variable else "the server wants a key: key_variable"
        return ModelError(f"{name}: the key is refused ({status}): look at {variable}", stop=True)
    if status == 404:
        return ModelError(f"{name}: no such model or address at {address} (404): {said}", stop=True)
    return ModelError(f"{name}: error {status}: {said}", stop=error.code == "insufficient_quota")


def _said(error: Any) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or error.message)


def without_key(text: str, key: str) -> str:
    """One line of at most 300 characters, in which the key does not stand."""
    line = " ".join((text.replace(key, "(key)") if key else text).split())
    return line if len(line) <= 300 else line[:299] + "…"
