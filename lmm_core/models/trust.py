"""Trust: which keys the person at this machine lets go to which hosts.

A `config.toml` may come with a cloned folder. What it says may send a key to the host of the
source of ours that the key belongs to, and to this machine; to any other host only once the
person has said so: in a file of the user's own configuration (`lmm trust add HOST VARIABLE`),
or in LMM_TRUST. Hosts are compared whole, with their ports, never by parts of their names.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..errors import MarkdownError, TrustError
from ..markdown.files import MarkdownFile, load_markdown, save_markdown

TRUST_VARIABLE = "LMM_TRUST"
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# Narrower than any client reads addresses, so that none can take another host from one.
_HOST = r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]"
_ADDRESS = re.compile(rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?(?:/[!-~]*)?", re.I)
_HOST_AND_PORT = re.compile(rf"({_HOST})(?::([0-9]{{1,5}}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_HTTPS = 443
_HEAD = (
    "# Which keys may go to which hosts, beside those of LM markdown's own sources: HOST = [VARIABLES].\n"
    "# Written by `lmm trust add HOST VARIABLE` and `lmm trust remove HOST VARIABLE`.\n"
)


@dataclass(frozen=True, order=True, slots=True)
class Pair:
    """A host (with its port, where that is not 443) and the variable whose key it may have."""

    host: str
    variable: str

    @property
    def command(self) -> str:
        """The command that allows it, safe to be pasted into a shell."""
        return f"lmm trust add {shlex.quote(self.host)} {shlex.quote(self.variable)}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: `host` with its port, where that is not the scheme's own; `here`:
    on this machine."""

    scheme: str
    host: str
    here: bool


# Hosts and variables


def read_pair(host: str, variable: str) -> Pair:
    """A pair as a person writes it. Raises TrustError, which does not repeat what may be a key."""
    if not VARIABLE.fullmatch(variable):
        raise TrustError("the name of an environment variable (A-Z, 0-9, _) is wanted, never the key itself")
    return Pair(read_host(host), variable)


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


# The question


def key_refusal(url: str, variable: str, file: str, home: Collection[str] = (), otherwise: str = "") -> str:
    """Why the key in a variable is not sent to a server, in a sentence with the command that
    allows it; "" where it is sent.

    file: the `config.toml` that names the server or the variable; "" where the person does
    (environment, code), who may send it anywhere. home: the hosts that the key is for; otherwise:
    what else can be done than to take https."""
    if not file:
        return ""
    try:
        address = address_of(url)
        if address.here or (address.scheme == "https" and address.host in home):
            return ""
        if address.scheme != "https":
            unsafe = f"the key in {variable} is not sent to {address.host} unencrypted, as {file} has it"
            return f"{unsafe}: take https://{otherwise}"
        pair = read_pair(address.host, variable)
        if pair in read_trust_variable() or pair in trusted_pairs(Path(file).parent):
            return ""
    except TrustError as error:
        return f"the key in {variable} is not sent to the server that {file} names: {error}"
    return (
        f"the key in {variable} is not sent to {pair.host}, which {file} names: "
        f"if that server may have it, say so on this machine: {pair.command}"
    )


def trusted_pairs(root: Path | None) -> dict[Pair, str]:
    """What the person at this machine has allowed, each with where that is said; root: the
    folder of the project's `config.toml`, in which nobody's trust is kept; None without such
    a file. Raises TrustError."""
    path = trust_file()
    given = dict.fromkeys(read_trust_variable(), f"environment {TRUST_VARIABLE}")
    kept = _pairs_in(_load(path, root)) if path.exists() else []
    return dict.fromkeys(kept, str(path)) | given


def read_trust_variable() -> list[Pair]:
    """The pairs in LMM_TRUST: `HOST VARIABLE, HOST VARIABLE`. Raises TrustError, which names
    the pair by its number, since what stands there may be a key."""
    pairs = []
    for number, text in enumerate(os.environ.get(TRUST_VARIABLE, "").split(","), 1):
        words = text.split()
        try:
            if len(words) not in (0, 2):
                raise TrustError("a host and a variable are wanted: HOST VARIABLE, HOST VARIABLE")
            pairs += [read_pair(*words)] if words else []
        except TrustError as error:
            raise TrustError(f"{TRUST_VARIABLE}, pair {number}: {error}") from None
    return pairs


# The file


def trust_file() -> Path:
    """Where trust is kept: in the user's configuration folder, which is XDG_CONFIG_HOME on
    every system, else where the system keeps configuration. Raises TrustError."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base, "lmm", "trust.toml")
    try:
        home = Path.home()
    except RuntimeError:
        raise TrustError(f"there is no home folder to keep trust in: set {TRUST_VARIABLE}") from None
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "lmm" / "trust.toml"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming", "lmm", "trust.toml")
    return home / ".config" / "lmm" / "trust.toml"


def add_pair(pair: Pair, root: Path | None) -> bool:
    """Keep a pair; says whether it is new. Raises TrustError and OSError."""
    path = trust_file()
    _check_place(path, root)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))  # the mode stays when the file is replaced
    file = _load(path, root)
    pairs = _pairs_in(file)
    if pair not in pairs:
        _save(file, [*pairs, pair])
    return pair not in pairs


def remove_pair(pair: Pair, root: Path | None) -> bool:
    """Take a pair out of the file; says whether it was there. Raises TrustError and OSError."""
    path = trust_file()
    if not path.exists():
        return False
    file = _load(path, root)
    pairs = _pairs_in(file)
    if pair in pairs:
        _save(file, [each for each in pairs if each != pair])
    return pair in pairs


def _load(path: Path, root: Path | None) -> MarkdownFile:
    """The file as it is. Raises TrustError, also where somebody else may have written it."""
    _check_place(path, root)
    try:
        _check_owner(path)
        return load_markdown(path)
    except OSError as error:
        raise TrustError(f"{path}: cannot be read: {error.strerror}") from None
    except MarkdownError as error:
        raise TrustError(str(error)) from None


def _pairs_in(file: MarkdownFile) -> list[Pair]:
    import tomllib

    try:
        table = tomllib.loads(file.text)
        return [read_pair(host, name) for host, names in table.items() for name in _names(names)]
    except (tomllib.TOMLDecodeError, TrustError) as error:
        raise TrustError(f"{file.path}: {error}") from None


def _save(file: MarkdownFile, pairs: list[Pair]) -> None:
    """Replace the file, where it is still the one that was read."""
    hosts: dict[str, list[str]] = {}
    for pair in sorted(set(pairs)):
        hosts.setdefault(pair.host, []).append(pair.variable)
    lines = [f"{json.dumps(host)} = {json.dumps(names)}\n" for host, names in hosts.items()]
    try:
        save_markdown(file.path, _HEAD + "".join(lines), file)
    except MarkdownError as error:
        raise TrustError(str(error)) from None


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TrustError('lines like "api.groq.com" = ["GROQ_API_KEY"] are wanted')
    return value


def _check_place(path: Path, root: Path | None) -> None:
    """Raises TrustError for what is no file, like a pipe, which would be waited for; and in a
    project, which may be cloned, and does not say what it may itself."""
    if path.exists() and not path.is_file():
        raise TrustError(f"{path}: is not a file, so it does not count: remove it")
    folder = root.resolve() if root else None
    if folder is None:
        return
    if path.is_relative_to(folder) or path.resolve().is_relative_to(folder):
        raise TrustError(
            f"{path}: lies inside the project {folder}, so it does not count: say it in the environment "
            f'({TRUST_VARIABLE}="HOST VARIABLE"), or set XDG_CONFIG_HOME to a folder elsewhere'
        )


def _check_owner(path: Path) -> None:
    """Raises TrustError where others than this user (and root) can write the file, the folder
    that it is in, or the link that leads there."""
    if os.name != "posix":
        return
    for place in dict.fromkeys((path.parent, path, path.resolve().parent, path.resolve())):
        states = place.lstat(), place.stat()
        if any(state.st_uid not in (os.geteuid(), 0) for state in states):
            raise TrustError(f"{place}: belongs to another user, so it does not count")
        if states[1].st_mode & 0o022:
            advice = f"chmod go-w {shlex.quote(str(place))}"
            raise TrustError(f"{place}: others may write it, so it does not count: {advice}")
