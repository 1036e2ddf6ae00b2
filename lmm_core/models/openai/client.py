"""Open OpenAI clients, check their requests, and explain errors without the key."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..addresses import doubt_environment, is_address, shown_address, usable_environment
from ..names import ModelName
from ..sources import ModelSource, RequestLimits

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

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
    """Return a source's key, "" if not needed. Raise ModelError if missing or malformed.

    instead: what works without a key"""
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


def open_client(source: ModelSource, key: str, limits: RequestLimits) -> AsyncOpenAI:
    """Return a client that sends to a source's host only. Raise ModelError for an invalid address or an unusable
    proxy."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    if not is_address(source.base_url):
        raise ModelError(f"{source.name}: {source.base_url} is not the address of a server (http://…)", stop=True)
    with usable_environment(partial(ModelError, stop=True)):
        # Local requests bypass proxies.
        http = DefaultAsyncHttpxClient(trust_env=not source.local)
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
    """Return the part of a URL that decides the destination."""
    return url.scheme, url.host, url.port


async def _check_request(source: ModelSource, key: str, home: tuple[str, str, int | None], request: Any) -> None:
    """Check a request before it is sent.

    Redirects may not lead to another server. Headers from OPENAI_ORG_ID, OPENAI_CUSTOM_HEADERS and the like reach only
    OpenAI's own source."""
    if _server(request.url) != home:
        there = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        raise ModelError(
            f"{source.name}: {shown_address(source.base_url)} redirects to {there}, and nothing is sent there: "
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
        return ModelError(f"{name}: the server has not answered within {timeout:g} s")
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
        return ModelError(f"{name}: the request is too long for the model ({message})")
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
