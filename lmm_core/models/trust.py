"""The hosts that may have a key, as the person at this machine decides.

A `config.toml` may come with a cloned folder. It can have a key sent only to this machine and
to the host of the source that the key belongs to. Any other host needs the person's consent,
given in a file of the user's own configuration (`lmm config trust HOST VARIABLE`) or in LMM_TRUST.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MarkdownError, TrustError
from .addresses import address_of, read_host

if TYPE_CHECKING:
    from ..markdown.files import MarkdownFile

TRUST_VARIABLE = "LMM_TRUST"
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_HEAD = (
    "# Which keys may go to which hosts, beside those of LM markdown's own sources: HOST = [VARIABLES].\n"
    "# Written by `lmm config trust`.\n"
)


@dataclass(frozen=True, order=True, slots=True)
class Pair:
    """A host (with its port unless that is 443) and a variable whose key may be sent to it."""

    host: str
    variable: str

    @property
    def command(self) -> str:
        """Return the command that allows the pair, safe to paste into a shell."""
        return f"lmm config trust {shlex.quote(self.host)} {shlex.quote(self.variable)}"


# Pairs of a host and a variable


def read_pair(host: str, variable: str) -> Pair:
    """Return a pair as a person writes it.

    Raise TrustError if it is wrong. The message does not repeat the text, which may be a key."""
    if not VARIABLE.fullmatch(variable):
        raise TrustError("give the name of an environment variable (A-Z, 0-9, _), never the key itself")
    return Pair(read_host(host), variable)


# The decision


def key_refusal(url: str, variable: str, file: str, home: Collection[str] = (), otherwise: str = "") -> str:
    """Return why the key in a variable is not sent to a server, or "" if it may be sent.

    The sentence includes the command that would allow it. file: the `config.toml` that names the
    server or the variable; "" if the person does (environment, code), who may send the key
    anywhere. home: the hosts that the key is for. otherwise: advice besides using https."""
    if not file:
        return ""
    try:
        address = address_of(url)
        if address.here or (address.scheme == "https" and address.host in home):
            return ""
        if address.scheme != "https":
            unsafe = f"the key in {variable} is not sent to {address.host} unencrypted, as {file} asks"
            return f"{unsafe}: use https://{otherwise}"
        pair = read_pair(address.host, variable)
        if pair in read_trust_variable() or pair in trusted_pairs(Path(file).parent):
            return ""
    except TrustError as error:
        return f"the key in {variable} is not sent to the server that {file} names: {error}"
    return (
        f"the key in {variable} is not sent to {pair.host}, which {file} names: "
        f"if that server may have it, run this on this machine: {pair.command}"
    )


def trusted_pairs(root: Path | None) -> dict[Pair, str]:
    """Return the pairs that the person has allowed, each with the place that says so.

    root: the folder of the project's `config.toml`, or None; a file of pairs inside it does not
    count. Raise TrustError if a pair or the file is wrong."""
    path = trust_file()
    given = dict.fromkeys(read_trust_variable(), f"environment {TRUST_VARIABLE}")
    kept = _pairs_in(_load(path, root)) if path.exists() else []
    return dict.fromkeys(kept, str(path)) | given


def read_trust_variable() -> list[Pair]:
    """Return the pairs in LMM_TRUST: `HOST VARIABLE, HOST VARIABLE`.

    Raise TrustError if one is wrong. The message gives its number instead of its text, which may be
    a key."""
    pairs = []
    for number, text in enumerate(os.environ.get(TRUST_VARIABLE, "").split(","), 1):
        words = text.split()
        try:
            if len(words) not in (0, 2):
                raise TrustError("write a host and a variable: HOST VARIABLE, HOST VARIABLE")
            pairs += [read_pair(*words)] if words else []
        except TrustError as error:
            raise TrustError(f"{TRUST_VARIABLE}, pair {number}: {error}") from None
    return pairs


# The file


def trust_file() -> Path:
    """Return the file of allowed pairs, in the user's configuration folder.

    That folder is XDG_CONFIG_HOME on every system, or the system's usual one. Raise TrustError if
    the user has no home."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base, "lmm", "trust.toml")
    try:
        home = Path.home()
    except RuntimeError:
        raise TrustError(f"there is no home folder for the file of allowed hosts: set {TRUST_VARIABLE}") from None
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "lmm" / "trust.toml"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming", "lmm", "trust.toml")
    return home / ".config" / "lmm" / "trust.toml"


def set_pair(pair: Pair, allowed: bool, root: Path | None) -> bool:
    """Add a pair to the file, or remove it, and return True if that changed the file. Raise TrustError or OSError."""
    path = trust_file()
    if allowed:
        _check_place(path, root)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))  # the mode stays when the file is replaced
    elif not path.exists():
        return False
    file = _load(path, root)
    pairs = set(_pairs_in(file))
    if (pair in pairs) == allowed:
        return False
    _save(file, pairs | {pair} if allowed else pairs - {pair})
    return True


def _load(path: Path, root: Path | None) -> MarkdownFile:
    """Return the file as it is now.

    Raise TrustError if it cannot be read, or if somebody else may have written it."""
    from ..markdown.files import read_markdown

    _check_place(path, root)
    try:
        _check_owner(path)
        return read_markdown(path)
    except OSError as error:
        raise TrustError(f"{path} cannot be read: {error.strerror}") from None
    except MarkdownError as error:
        raise TrustError(str(error)) from None


def _pairs_in(file: MarkdownFile) -> list[Pair]:
    import tomllib

    try:
        table = tomllib.loads(file.text)
        return [read_pair(host, name) for host, names in table.items() for name in _names(names)]
    except (tomllib.TOMLDecodeError, TrustError) as error:
        raise TrustError(f"{file.path}: {error}") from None


def _save(file: MarkdownFile, pairs: set[Pair]) -> None:
    """Replace the file, unless it has changed since it was read."""
    from ..markdown.files import write_markdown

    hosts: dict[str, list[str]] = {}
    for pair in sorted(pairs):
        hosts.setdefault(pair.host, []).append(pair.variable)
    lines = [f"{json.dumps(host)} = {json.dumps(names)}\n" for host, names in hosts.items()]
    try:
        write_markdown(file.path, _HEAD + "".join(lines), file)
    except MarkdownError as error:
        raise TrustError(str(error)) from None


def _names(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TrustError('each line has to be like "api.groq.com" = ["GROQ_API_KEY"]')
    return value


def _check_place(path: Path, root: Path | None) -> None:
    """Raise TrustError if the path is no regular file, or lies in the project.

    Reading a pipe would wait for ever. A project may be cloned, and must not trust itself."""
    if path.exists() and not path.is_file():
        raise TrustError(f"{path} is not a file, so it does not count: remove it")
    folder = root.resolve() if root else None
    if folder is None:
        return
    if path.is_relative_to(folder) or path.resolve().is_relative_to(folder):
        raise TrustError(
            f"{path} lies inside the project {folder}, so it does not count: use the environment instead "
            f'({TRUST_VARIABLE}="HOST VARIABLE"), or set XDG_CONFIG_HOME to a folder elsewhere'
        )


def _check_owner(path: Path) -> None:
    """Raise TrustError if anybody but this user and root can write the file, its folder or its link."""
    if sys.platform == "win32":  # a user's own folder is closed to the others there
        return
    for place in dict.fromkeys((path.parent, path, path.resolve().parent, path.resolve())):
        states = place.lstat(), place.stat()
        if any(state.st_uid not in (os.geteuid(), 0) for state in states):
            raise TrustError(f"{place} belongs to another user, so it does not count")
        if states[1].st_mode & 0o022:
            advice = f"chmod go-w {shlex.quote(str(place))}"
            raise TrustError(f"{place} can be written by others, so it does not count: run {advice}")
