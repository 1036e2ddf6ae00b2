"""Explain errors of `qdrant-client` in sentences."""

from __future__ import annotations

import json

from .places import KEY_VARIABLE, RemoteSource

LONGEST = 300  # characters of a server's message; cluster nodes repeat those of others


def client_errors() -> tuple[type[Exception], ...]:
    """Return the client's errors; ValueError is of its local mode, RuntimeError of a closed client."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException

    return (ApiException, QdrantException, ValueError, RuntimeError)


def _status(error: Exception) -> int:
    """Return the HTTP status of a reply, or 0 without one."""
    if hasattr(error, "retry_after_s"):
        return 429
    return int(getattr(error, "status_code", 0) or 0)


def _kind(error: Exception) -> str:
    """Return why a request failed: `time-out`, `untrusted`, `unreachable`, `broken` or `other`."""
    import httpx

    source = getattr(error, "source", error)
    if isinstance(source, httpx.TimeoutException):
        return "time-out"
    if isinstance(source, httpx.ConnectError):
        return "untrusted" if "CERTIFICATE_VERIFY_FAILED" in str(source) else "unreachable"
    return "broken" if isinstance(source, httpx.TransportError) else "other"


def may_pass(error: Exception) -> bool:
    """Return True if a retry may succeed. A wrong address is reported at once."""
    status = _status(error)
    return status in (408, 429) or status >= 500 or (not status and _kind(error) in ("time-out", "broken"))


def describe_error(error: Exception, source: RemoteSource, has_key: bool) -> str:
    at, status = f"The Qdrant server at {source.address}", _status(error)
    if status == 401:
        have = f"refuses the key in {KEY_VARIABLE}" if has_key else f"requires a key: set {KEY_VARIABLE}"
        return f"{at} {have} ({status})"
    if status == 403:
        key = f" to the key in {KEY_VARIABLE}, which may only read or only use some collections" if has_key else ""
        return f"{at} forbids this{key} ({status})"
    if status == 408:
        return f"{at} has not done this in time (408): does a node of it hang?"
    if status == 429:
        return f"{at} is overloaded (429): try again later"
    if 300 <= status < 400:
        redirects = f"{at} redirects to another address ({status}), and nothing is sent there"
        return f"{redirects}: if that is the right address, use it instead"
    if status >= 500:
        return f"{at} has failed ({status}): {_answer(error)}"
    if status:
        return f"{at} refuses this ({status}): {_answer(error)}"
    reason = str(getattr(error, "source", error)).strip()
    return {
        "time-out": f"{at} has not answered within {source.timeout:g} s",
        "untrusted": f"The certificate of {source.address} is not trusted: name that of its authority in SSL_CERT_FILE "
        f"({reason})",
        "unreachable": f"No Qdrant server answers at {source.address} ({reason}). Is it running? Is the address right?",
        "broken": f"The connection to {source.address} broke ({reason or 'the server gives no reason'}): try again",
        "other": f"{at} has sent a reply that cannot be understood. Is it a Qdrant server? ({reason[:200]})",
    }[_kind(error)]


def _answer(error: Exception) -> str:
    """Return the start of the server's message, in a line."""
    content = getattr(error, "content", None)
    if content is None:
        return str(error)
    try:
        message = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        message = content.decode(errors="replace")
    return " ".join(str(message).split())[:LONGEST] or "the server does not say why"
