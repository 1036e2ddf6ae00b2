"""Compare server addresses, by whole hosts with ports, and decide which hosts may get a key.

A `config.toml` may come with a cloned folder, so it can send a key only to this machine and the key's own source.
Other hosts need the user's consent in LMM_TRUST, in the environment.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from ..arguments import matching
from ..errors import LmmError, TrustError

# Stricter than any client, so that none reads another host. Few runs need these patterns: compiled on first use.
HOST = r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]"
_HOST_AND_PORT = rf"({HOST})(?::([0-9]{{1,5}}))?"
_ADDRESS = rf"(?i:(https?)://{_HOST_AND_PORT}(?:/[!-~]*)?)"
Url = Annotated[
    str,
    matching(  # clients differ in how they read `\\` and white space in an address
        rf"(?i:https?)://(?:{HOST})(?::[0-9]{{1,5}})?(?:/[!-\"$->@-\[\]-~]*)?",
        "an address that begins with http:// or https://, without user, password, `?` or `#`",
    ),
]
_VARIABLE = "[A-Z_][A-Z0-9_]*"
Variable = Annotated[
    str, matching(_VARIABLE, "the name of an environment variable (A-Z, 0-9, _), never the key itself")
]
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
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


def address_of(url: str) -> Address:
    """Return the server of a URL. Raise TrustError if the URL is ambiguous."""
    parsed = re.fullmatch(_ADDRESS, url)
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
    are_labels = all(re.fullmatch(_LABEL, label) for label in labels)
    if len(name) > 253 or not are_labels or re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
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
    """Open an HTTP client in the block. If environment settings prevent it, raise an error with a sentence on them."""
    try:
        yield
    except (ImportError, ValueError, OSError, *_invalid_urls()) as error:  # type: ignore[misc]
        doubt = doubt_environment("", (*_ROUTES, "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"))
        raise make_error(f"an HTTP client cannot be opened: {error}. {doubt}".rstrip()) from None


def _invalid_urls() -> tuple[type[Exception], ...]:
    return tuple(sys.modules[name].InvalidURL for name in ("httpx", "httpx2") if name in sys.modules)


def doubt_environment(otherwise: str = "", variables: Collection[str] = _ROUTES) -> str:
    """Return a question that names the variables set, or else `otherwise`."""
    names = [name for name, value in os.environ.items() if value.strip() and name.upper() in variables]
    return f"{'Are' if names[1:] else 'Is'} {', '.join(names)} in the environment right?" if names else otherwise


# Trust


TRUST_VARIABLE = "LMM_TRUST"


def read_trust_variable() -> list[str]:
    """Return the pairs in LMM_TRUST (`HOST VARIABLE, HOST VARIABLE`), with normalized hosts.

    Raise TrustError with the number of a wrong pair; its text may be a key."""
    pairs = []
    for number, text in enumerate(os.environ.get(TRUST_VARIABLE, "").split(","), 1):
        try:
            pairs += [_read_pair(*words)] if (words := text.split()) else []
        except TrustError as error:
            raise TrustError(f"{TRUST_VARIABLE}, pair {number}: {error}") from None
    return pairs


def _read_pair(host: str, *variables: str) -> str:
    if len(variables) != 1:
        raise TrustError("write a host and a variable: HOST VARIABLE, HOST VARIABLE")
    if not re.fullmatch(_VARIABLE, variables[0]):
        raise TrustError("give the name of an environment variable (A-Z, 0-9, _), never the key itself")
    if not host.isascii():
        raise TrustError(f"a host has to be written in ASCII{_ascii_form(host)}")
    parsed = re.fullmatch(_HOST_AND_PORT, host)
    if not parsed:
        raise TrustError("write only the host, like api.groq.com or api.groq.com:8443, without https://, path and @")
    return f"{_with_port(_host(parsed[1]), parsed[2], _HTTPS)} {variables[0]}"


def key_refusal(url: str, variable: str, file: str, home: Collection[str] = (), otherwise: str = "") -> str:
    """Return why a key is not sent to a server, with the setting to allow it, or "".

    file: the `config.toml` that names server or variable; "" if the user does, who may send the key anywhere
    home: hosts of the key's own source
    otherwise: advice beyond https"""
    if not file:
        return ""
    try:
        address = address_of(url)
        if address.here or (address.scheme == "https" and address.host in home):
            return ""
        if address.scheme != "https":
            unsafe = f"the key in {variable} is not sent to {address.host} unencrypted, as {file} asks"
            return f"{unsafe}: use https://{otherwise}"
        pair, trusted = f"{address.host} {variable}", read_trust_variable()
    except TrustError as error:
        return f"the key in {variable} is not sent to the server that {file} names: {error}"
    if pair in trusted:
        return ""
    return (
        f"the key in {variable} is not sent to {address.host}, which {file} names: if that server may have it, "
        f'set in the environment of this machine: {TRUST_VARIABLE}="{", ".join([*trusted, pair])}"'
    )
