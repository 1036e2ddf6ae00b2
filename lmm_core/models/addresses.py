"""Addresses of servers."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import TrustError

# Narrower than any client reads addresses, so that none can take another host from one.
_HOST = r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]"
_ADDRESS = re.compile(rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?(?:/[!-~]*)?", re.I)
_HOST_AND_PORT = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: `host` with its port, where that is not the scheme's own; `here`:
    on this machine."""

    scheme: str
    host: str
    here: bool


def read_host(text: str) -> str:
    """A host as it is compared: in lower case, without the dot at its end and without port
    443. Raises TrustError where it is anything but HOST or HOST:PORT."""
    if not text.isascii():
        raise TrustError(f"a host is written in ASCII{_ascii_form(text)}")
    found = _HOST_AND_PORT.fullmatch(text)
    if not found:
        raise TrustError("a host alone is wanted, like api.groq.com or api.groq.com:8443: no https://, no path, no @")
    return _with_port(_host(found[1]), found[2], _HTTPS)


def address_of(url: str) -> Address:
    """The server that a URL leads to. Raises TrustError where it is not written plainly."""
    found = _ADDRESS.fullmatch(url)
    if not found:
        raise TrustError("an address like https://host:port/path is wanted, in ASCII, without user and `\\`")
    scheme, host = found[1].lower(), _host(found[2])
    here = host == "localhost" or (_is_ip(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)
    return Address(scheme, _with_port(host, found[3], _HTTPS if scheme == "https" else 80), here)


def _host(text: str) -> str:
    """A name or an IP address as it is compared. Raises TrustError where it could be read in
    more than one way (`127.1`, `localhost.`, which a name server may answer for)."""
    if _is_ip(text):
        address = ipaddress.ip_address(text.strip("[]"))
        return f"[{address}]" if address.version == 6 else str(address)
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)) or re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
        raise TrustError("neither a host's name nor an IP address (IPv6 in brackets)")
    if name == "localhost" and text.endswith("."):
        raise TrustError("localhost is written without a dot at its end")
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
    """How a name in other letters is written in ASCII, which shows what only looks alike."""
    try:
        return f": if you mean it, write {host.encode('idna').decode('ascii')}"
    except UnicodeError:
        return ""


def is_address(url: str) -> bool:
    """Whether a URL can be that of a server."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown_address(url: str) -> str:
    """An address without what may be secret in it: a password, a query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def server_of(url: str) -> str:
    """Scheme, host and port of an address, as they are shown."""
    parts = urlsplit(shown_address(url))
    return f"{parts.scheme}://{parts.netloc}".lower()


def is_loopback(url: str) -> bool:
    """Whether a URL's host is this machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
