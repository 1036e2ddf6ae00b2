"""Compare and display server addresses, by whole hosts with ports."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import LmmError, TrustError

# Stricter than any client, so that none reads another host.
_HOST = r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]"
_ADDRESS = re.compile(rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?(?:/[!-~]*)?", re.I)
_HOST_AND_PORT = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_HTTPS = 443
_ROUTES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Address:
    """A server.

    host: with any non-default port
    here: on this machine"""

    scheme: str
    host: str
    here: bool


def read_host(text: str) -> str:
    """Return a normalized host: lower case, without final dot and port 443. Raise TrustError unless HOST or
    HOST:PORT."""
    if not text.isascii():
        raise TrustError(f"a host has to be written in ASCII{_ascii_form(text)}")
    parsed = _HOST_AND_PORT.fullmatch(text)
    if not parsed:
        raise TrustError("write only the host, like api.groq.com or api.groq.com:8443, without https://, path and @")
    return _with_port(_host(parsed[1]), parsed[2], _HTTPS)


def address_of(url: str) -> Address:
    """Return the server of a URL. Raise TrustError if the URL is ambiguous."""
    parsed = _ADDRESS.fullmatch(url)
    if not parsed:
        raise TrustError("write an address like https://host:port/path, in ASCII, without user and `\\`")
    scheme, host = parsed[1].lower(), _host(parsed[2])
    here = host == "localhost" or (_is_ip(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)
    return Address(scheme, _with_port(host, parsed[3], _HTTPS if scheme == "https" else 80), here)


def _host(text: str) -> str:
    """Return a normalized name or IP address. Raise TrustError if ambiguous (`127.1`, `localhost.`)."""
    if _is_ip(text):
        address = ipaddress.ip_address(text.strip("[]"))
        return f"[{address}]" if address.version == 6 else str(address)
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)) or re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
        raise TrustError("this is neither a host's name nor an IP address (IPv6 goes in brackets)")
    if name == "localhost" and text.endswith("."):
        raise TrustError("write localhost without a dot at its end")
    return name


def _is_ip(host: str) -> bool:
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        return (ipaddress.ip_address(host.strip("[]")).version == 6) == bracketed
    except ValueError:
        return False


def _with_port(host: str, port: str | None, usual: int) -> str:
    if port is not None and not 0 < int(port) < 65536:
        raise TrustError("a port is a number from 1 to 65535")
    return host if port is None or int(port) == usual else f"{host}:{int(port)}"


def _ascii_form(host: str) -> str:
    """Return a hint with the ASCII form, which exposes lookalikes."""
    try:
        return f": if you mean it, write {host.encode('idna').decode('ascii')}"
    except UnicodeError:
        return ""


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown_address(url: str) -> str:
    """Return an address without password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def server_of(url: str) -> str:
    """Return scheme, host and port for display."""
    parts = urlsplit(shown_address(url))
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_loopback(url: str) -> bool:
    try:
        return address_of(url).here
    except TrustError:
        return False


# Connection settings in the environment


@contextlib.contextmanager
def usable_environment(make_error: Callable[[str], LmmError]) -> Iterator[None]:
    """Open an HTTP client in the block. Raise an error if environment settings prevent it.

    make_error: receives a sentence with the variables"""
    try:
        yield
    except (ImportError, ValueError, OSError, *_invalid_urls()) as error:  # type: ignore[misc]
        doubt = doubt_environment("", (*_ROUTES, "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"))
        raise make_error(f"an HTTP client cannot be opened: {error}. {doubt}".rstrip()) from None


def _invalid_urls() -> tuple[type[Exception], ...]:
    """Return the URL errors of loaded HTTP libraries: `openai` 3 uses httpx2."""
    return tuple(sys.modules[name].InvalidURL for name in ("httpx", "httpx2") if name in sys.modules)


def doubt_environment(otherwise: str = "", variables: Collection[str] = _ROUTES) -> str:
    """Return a question that names the variables set, or else `otherwise`."""
    names = [name for name, value in os.environ.items() if value.strip() and name.upper() in variables]
    return f"{'Are' if names[1:] else 'Is'} {', '.join(names)} in the environment right?" if names else otherwise
