"""Open OpenAI clients, check their requests, and explain errors without the key; build and read the protocol's JSON."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import CutOffError, ModelError
from ..addresses import doubt_environment, is_address, shown_address, usable_environment
from ..chat import ChatMessage, ToolCall
from ..names import ModelName
from ..sources import ModelOptions, ModelSource

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI, AsyncStream

    from ..replies import UnwrappedStream

# The only headers for servers other than OpenAI's
HEADERS = frozenset({
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"
})  # fmt: skip
# Messages about an exceeded context
_TOO_LONG = re.compile(
    "exceed_context_size|context_length_exceeded|context (length|size|window)|prompt is too long|too large for model"
)


NO_CHAT_MODEL = "use --model extractive/default, which needs no key and no network"


def require_key(name: ModelName, source: ModelSource, instead: str = NO_CHAT_MODEL) -> str:
    """Return a source's key, "" if not needed. Raise ModelError if missing or malformed, with what works `instead`."""
    key = source.key()
    if source.needs_key and not key:
        raise ModelError(
            f"{name}: {source.key_variable} is not set. Put the key into the environment, or {instead}.",
            stop=True,
        )
    if not all("!" <= sign <= "~" for sign in key):
        raise ModelError(
            f"{name}: {source.key_variable} holds characters that no key has "
            "(blanks, control characters, or characters beyond ASCII)",
            stop=True,
        )
    return key


def open_client(source: ModelSource, key: str, limits: ModelOptions) -> AsyncOpenAI:
    """Return a client that sends to a source's host only. Raise ModelError for an invalid address or proxy."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    if not is_address(source.base_url):
        raise ModelError(f"{source.name}: {source.base_url} is not the address of a server (http://…)", stop=True)
    with usable_environment(partial(ModelError, stop=True)):
        # Local requests bypass proxies; without https they need no certificates, which take 50 ms to read.
        needs_tls = not (source.local and source.base_url.lower().startswith("http:"))
        http = DefaultAsyncHttpxClient(trust_env=not source.local, verify=needs_tls)
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
    return url.scheme, url.host, url.port


async def _check_request(source: ModelSource, key: str, home: tuple[str, str, int | None], request: Any) -> None:
    """Check a request before it is sent.

    Redirects may not lead to another server. Headers from OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS and the like reach only
    OpenAI's own source."""
    if _server(request.url) != home:
        target = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        raise ModelError(
            f"{source.name}: {shown_address(source.base_url)} redirects to {target}, and nothing is sent there: "
            "if that is the right address, use it instead",
            stop=True,
        )
    if source.name != "openai" or source.file:
        for name in {*request.headers} - HEADERS:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {key}"


def explain(
    error: APIError, name: str, source: ModelSource, key: str, timeout: float, answered: bool
) -> ModelError:  # fmt: skip
    """Explain a client error in a sentence without the key.

    answered: the server has answered before; otherwise an unreachable one stops the run"""
    import openai

    address = shown_address(source.base_url)
    if isinstance(error.__cause__, ModelError):  # from `_check_request`; some client versions wrap it
        return error.__cause__
    if isinstance(error, openai.APITimeoutError):
        remedy = "allow it more (timeout in config.toml), or send it fewer requests at a time (max_concurrency)"
        return ModelError(f"{name}: the server has not answered within {timeout:g} s: {remedy}")
    if isinstance(error, openai.APIConnectionError):
        running = "Is the server running?"
        doubt = running if source.local else doubt_environment(running)
        return ModelError(f"{name}: {address} cannot be reached. {doubt}", stop=not answered)
    if not isinstance(error, openai.APIStatusError):
        return ModelError(f"{name}: {without_key(message_in(error), key)}")
    status, message = error.status_code, without_key(message_in(error), key)
    if status in (401, 403):
        refused = f"{name}: the server refuses the key ({status}): check ${source.key_variable}"
        required = f"{name}: the server requires a key ({status}): name its variable in key_variable"
        return ModelError(refused if source.key_variable else required, stop=True)
    if status == 404:
        return ModelError(f"{name}: there is no such model or address at {address} (404): {message}", stop=True)
    if is_too_long(error):
        return ModelError(
            f"{name}: the request is too long for the model ({message}): send less (context_tokens under [major] in "
            "config.toml for chats, edits and answers; more headings for annotations), or start the server with a "
            "larger context"
        )
    return ModelError(f"{name}: the server reports error {status}: {message}", stop=error.code == "insufficient_quota")


def is_too_long(error: APIError) -> bool:
    """Return True if a request exceeds the model's context."""
    kinds = f"{error.type} {error.code} {message_in(error)}"
    return getattr(error, "status_code", 0) in (400, 413, 422) and _TOO_LONG.search(kinds) is not None


def message_in(error: Any) -> str:
    return sentence_in(error.body) or str(error.message)


def sentence_in(error: Any) -> str:
    """Return an error's message: a text, or in nested objects or lists."""
    for _ in range(4):  # nesting
        if isinstance(error, list):
            error = error[0] if error else None
        elif isinstance(error, dict):
            error = next((error[key] for key in ("message", "error", "detail", "msg") if error.get(key)), None)
    return error if isinstance(error, str) else ""


def without_key(text: str, key: str) -> str:
    """Return a text of at most 300 characters on one line, with the key removed."""
    line = " ".join((text.replace(key, "(key)") if key else text).split())
    return line if len(line) <= 300 else line[:299] + "…"


# The protocol's JSON; servers omit various parts


# Plain `post`: `chat.completions` validates in full, a third of a call's processor time
PATH = "/chat/completions"
THOUGHT_KEYS = ("reasoning_content", "reasoning")  # keys of thoughts
_THOUGHT_PARTS = ("thinking", "reasoning")  # types of content parts


def value_at(value: Any, key: str) -> Any:
    """Return a key's value; None if missing or no object."""
    return value.get(key) if isinstance(value, dict) else None


def first_item(value: Any) -> Any:
    """Return the first item of a list, or None."""
    return value[0] if isinstance(value, list) and value else None


async def stream_completion(
    client: AsyncOpenAI, body: dict[str, Any], viewer: UnwrappedStream, name: str
) -> dict[str, Any] | None:
    """Return a completion joined from its parts, shown on arrival; None if the server does not stream or end properly.

    Raise ModelError for a broken connection, APITimeoutError on a timeout; a viewer's CutOffError ends the stream."""
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    ended, used = None, None
    stream = await _open_stream(client, body)
    try:
        async for part in stream:
            used = value_at(part, "usage") or used
            if choice := first_item(value_at(part, "choices")):
                delta = value_at(choice, "delta")
                texts.append(text_in(value_at(delta, "content")))
                refusals.append(text_in(value_at(delta, "refusal")))
                thoughts.append("".join(text_in(value_at(delta, key)) for key in THOUGHT_KEYS))
                _gather_calls(calls, delta)
                viewer.hear(texts[-1], thoughts[-1])
                ended = value_at(choice, "finish_reason") or ended
        if ended:
            viewer.finish()
    except _transport_errors() as error:
        raise _stream_error(error, stream, name, any(texts)) from None
    except CutOffError:  # by the viewer: stop the server
        await stream.close()
        raise
    called = [calls[at] for at in sorted(calls)]
    message = {"content": "".join(texts), "refusal": "".join(refusals), "tool_calls": called}
    message["reasoning"] = "".join(thoughts)
    return {"choices": [{"message": message, "finish_reason": ended}], "usage": used} if ended else None


async def _open_stream(client: AsyncOpenAI, body: dict[str, Any]) -> AsyncStream[object]:
    from openai import AsyncStream

    streamed_body = body | {"stream": True, "stream_options": {"include_usage": True}}
    return await client.post(PATH, cast_to=object, body=streamed_body, stream=True, stream_cls=AsyncStream[object])


def _stream_error(error: Exception, stream: AsyncStream[object], name: str, begun: bool) -> Exception:
    from openai import APITimeoutError

    late = "Timeout" in type(error).__name__  # of the client, or a library below it
    if late and not begun:
        return APITimeoutError(request=stream.response.request)
    why = "nothing more of the answer came in time" if late else "the connection broke off in the middle of the answer"
    return ModelError(f"{name}: {why} ({type(error).__name__})")


def _gather_calls(calls: dict[int, dict[str, Any]], delta: Any) -> None:
    parts = value_at(delta, "tool_calls")
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        at, function = value_at(part, "index"), value_at(part, "function")
        call = calls.setdefault(number if at is None else at, {"id": "", "function": {"name": "", "arguments": ""}})
        call["id"] = call["id"] or text_in(value_at(part, "id"))
        for key in call["function"]:
            call["function"][key] += text_in(value_at(function, key))


def calls_in(message: Any) -> tuple[ToolCall, ...]:
    """Return a message's tool calls; some servers give no ids."""
    parts = value_at(message, "tool_calls")
    calls = []
    for number, call in enumerate(parts if isinstance(parts, list) else []):
        name, arguments = (text_in(value_at(value_at(call, "function"), key)) for key in ("name", "arguments"))
        if name:
            calls.append(ToolCall(text_in(value_at(call, "id")) or f"call_{number}", name, arguments))
    return tuple(calls)


def message_data(message: ChatMessage) -> dict[str, Any]:
    """Return a message in the protocol's form."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        data["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.answers:
        data["tool_call_id"] = message.answers
    return data


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return the stream errors of the client and httpx (httpx2 since its version 3)."""
    from openai import APIConnectionError

    return (APIConnectionError, *(sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules))


def no_choices(completion: Any) -> str:
    """Explain a completion without a reply; some servers report errors this way."""
    message = sentence_in(completion) if isinstance(completion, dict) else ""
    return message or "the reply does not follow the OpenAI protocol (no choices)"


def text_in(content: Any) -> str:
    """Return the text of a message's content, perhaps in parts."""
    if isinstance(content, list):
        texts = [value_at(part, "text") for part in content if value_at(part, "type") not in _THOUGHT_PARTS]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def number_in(used: Any, key: str) -> int:
    """Return a number of tokens from a usage report, or 0."""
    value = value_at(used, key)
    return value if isinstance(value, int) else 0
