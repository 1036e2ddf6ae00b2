"""Build and read JSON of the OpenAI protocol, of which servers omit various parts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...errors import CutOffError, ModelError
from ..chat import ChatMessage, ToolCall
from .client import sentence_in

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

    from ..replies import UnwrappedStream

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
    client: AsyncOpenAI, body: dict[str, Any], shown: UnwrappedStream, name: str
) -> dict[str, Any] | None:
    """Return a completion joined from its parts, shown on arrival; None if the server does not stream or end properly.

    Raise ModelError if the connection breaks, APITimeoutError on a timeout; a viewer's CutOffError ends the stream."""
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
                shown.hear(texts[-1], thoughts[-1])
                ended = value_at(choice, "finish_reason") or ended
        if ended:
            shown.finish()
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

    asked = body | {"stream": True, "stream_options": {"include_usage": True}}
    return await client.post(PATH, cast_to=object, body=asked, stream=True, stream_cls=AsyncStream[object])


def _stream_error(error: Exception, stream: AsyncStream[object], name: str, begun: bool) -> Exception:
    """Return the error of a broken stream. begun: some text has arrived."""
    from openai import APITimeoutError

    late = "Timeout" in type(error).__name__  # of the client, or a library below it
    if late and not begun:
        return APITimeoutError(request=stream.response.request)
    why = "nothing more of the answer came in time" if late else "the connection broke off in the middle of the answer"
    return ModelError(f"{name}: {why} ({type(error).__name__})")


def _gather_calls(calls: dict[int, dict[str, Any]], delta: Any) -> None:
    """Merge partial tool calls by number."""
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
    value = value_at(used, key) if isinstance(used, dict) else getattr(used, key, None)
    return value if isinstance(value, int) else 0
