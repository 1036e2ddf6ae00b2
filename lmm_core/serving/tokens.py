"""Store the hashes of access tokens for courses and groups."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ..errors import FolderError, TokenError
from ..files.marked import check_inside
from ..files.writing import replace_file

PLACE = (".lmm", "tokens.json")
FORMAT = 1
BYTES = 24  # of entropy, enough for a fast hash
LARGEST = 1_000_000  # bytes of the file
_NAME = re.compile(r"\w[\w .+-]{0,59}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a course or group, stored as a hash. made: day."""

    name: str
    sha256: str
    made: str


def tokens_path(root: Path) -> Path:
    return root.joinpath(*PLACE)


def read_tokens(path: Path) -> list[Token] | None:
    """Return the tokens in a file, None if missing.

    Raise TokenError for a file that is unreadable, damaged, a link, or accessible to others."""
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise TokenError(f"{path}: not a file")
        if sys.platform != "win32" and about.st_mode & 0o077:
            raise TokenError(f"{path}: others may read or change it. See whether its tokens are yours, then: chmod 600")
        return _tokens_in(path.read_bytes() if about.st_size <= LARGEST else b"", path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TokenError(f"{path}: {error.strerror or error}") from None


def _tokens_in(data: bytes, path: Path) -> list[Token]:
    try:
        record = json.loads(data)
        tokens = [Token(**token) for token in record["tokens"]]
        fit = [bool(_NAME.fullmatch(token.name) and _HASH.fullmatch(token.sha256)) for token in tokens]
        is_whole = record["format"] == FORMAT and all(fit) and len({token.name for token in tokens}) == len(tokens)
    except (ValueError, TypeError, KeyError, RecursionError):
        is_whole = False
    if not is_whole:
        raise TokenError(f"{path}: damaged. Remove it, and make new tokens with `lmm serve token add NAME`")
    return tokens


def add_token(root: Path, name: str) -> str:
    """Create a token, store its hash, and return it. Raise TokenError and OSError."""
    if not _NAME.fullmatch(name):
        raise TokenError("The name of a token has up to 60 letters, digits, blanks and . _ + -, and begins with one.")
    path = tokens_path(root)
    tokens = read_tokens(path)
    if any(token.name == name for token in tokens or ()):
        raise TokenError(f"There is a token {name!r}. To replace it, first: lmm serve token revoke {name!r}")
    text = secrets.token_urlsafe(BYTES)
    token = Token(name, _hash(text.encode()), datetime.now(UTC).date().isoformat())
    _write(root, tokens, [*(tokens or ()), token])
    return text


def revoke_token(root: Path, name: str) -> None:
    """Revoke a token, effective immediately. Raise TokenError and OSError."""
    tokens = read_tokens(tokens_path(root))
    kept = [token for token in tokens or () if token.name != name]
    if len(kept) == len(tokens or ()):
        there = ", ".join(token.name for token in kept) or "none"
        raise TokenError(f"There is no token {name!r}; there is: {there}.")
    _write(root, tokens, kept)


def _write(root: Path, before: Sequence[Token] | None, tokens: Sequence[Token]) -> None:
    path = tokens_path(root)
    try:
        check_inside(root, path)
    except FolderError as error:
        raise TokenError(str(error)) from None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if before is None:  # a replaced file keeps its permissions
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def check() -> None:
        if before is not None and read_tokens(path) != before:
            raise TokenError(f"{path} was changed at the same time: try again.")

    data = {"format": FORMAT, "tokens": [asdict(token) for token in tokens]}
    replace_file(path, (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8"), check)


def _hash(token: bytes) -> str:
    return sha256(token).hexdigest()


class TokenFile:
    """A project's tokens, read for each request."""

    def __init__(self, root: Path) -> None:
        self.path = tokens_path(root)
        self._was_there = False

    def read(self) -> list[Token] | None:
        """Return the tokens, None if there never was a file. Raise TokenError.

        If the file disappears while the server runs, nobody gets access."""
        tokens = read_tokens(self.path)
        if tokens is None and self._was_there:
            raise TokenError(f"{self.path}: gone. Restart the server to let all in, or make tokens")
        self._was_there = self._was_there or tokens is not None
        return tokens

    def name_of(self, given: bytes) -> str | None:
        """Return a token's name, None if invalid. Raise TokenError."""
        digest = _hash(given)
        names = [token.name for token in self.read() or () if hmac.compare_digest(token.sha256, digest)]
        return names[0] if names else None
