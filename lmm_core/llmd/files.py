"""Read a project's files, limited to those that an LLMD document may show to a model and change."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LlmdError
from ..files.gitignore import is_ignored
from ..files.names import DEVICES
from ..files.outputs import is_same_file
from ..files.recovery import torn_problem
from ..files.writing import is_leftover
from ..logging import visible

OWN = {".git": "git", "git~1": "git", ".lmm": "lmm", "lmm~1": "lmm"}


def name_problem(path: str) -> str:
    """Return why a path cannot name a project's file on every system, or "" if it can."""
    if not path.strip():
        return "the path is empty"
    if odd := [sign for sign in path if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")]:
        return f"the path has an invisible character (U+{ord(odd[0]):04X})"
    if path.startswith("/") or path[1:2] == ":":
        return "the path is absolute: start it from the project"
    if "\\" in path or ":" in path:
        return "the path has `\\` or `:`: separate folders by `/`"
    parts = path.split("/")
    if ".." in parts:
        return "the path leads out of the project (`..`)"
    if "" in parts or "." in parts:
        return "the path has `.` or `//`: write it without"
    return next((problem for part in parts if (problem := _part_problem(part))), "")


def _part_problem(part: str) -> str:
    plain = unicodedata.normalize("NFKC", part).casefold().rstrip(". ")
    if plain in OWN:
        return f"`{part}` belongs to {OWN[plain]}"
    if is_leftover(plain):
        return f"`{part}` is a name of lmm's temporary files"
    if part.endswith((".", " ")):
        return f"`{part}` ends with a dot or a blank"
    if plain.split(".")[0].rstrip() in DEVICES:
        return f"`{part}` is a device on Windows"
    return ""


@dataclass(frozen=True)
class Files:
    """The files that a document may show to a model and change.

    root: the project's folder, resolved; document: the LLMD document, which is not among them
    paths: files in its code context; allow: further files, as patterns of .gitignore"""

    root: Path
    document: Path
    paths: Collection[str]
    allow: Sequence[str] = ()

    def locate(self, path: str) -> Path:
        """Return a file's resolved path. Raise LlmdError with the reason if the document may not access it."""
        if problem := name_problem(path):
            raise LlmdError(f"{visible(path)}: {problem}")
        try:
            place = Path(os.path.realpath(self.root / path))
        except UnicodeEncodeError:
            raise LlmdError(f"{path}: this system cannot write the name ({sys.getfilesystemencoding()})") from None
        if problem := self._problem(path, place):
            raise LlmdError(f"{path}: {problem}")
        return place

    def read(self, path: str) -> str | None:
        """Return a file's text with line ends and byte-order mark, or None if missing.

        Raise LlmdError if the document may not access it, or if it is not text."""
        place = self.locate(path)
        data = read_bytes(place)
        if data is None:
            return None
        try:
            problem = torn_problem(place, data)
        except OSError as error:
            raise LlmdError(f"{place}: {error.strerror or error}") from None
        if problem:
            raise LlmdError(f"{path}: {problem}")
        return as_text(path, data)

    def _problem(self, path: str, place: Path) -> str:
        if not place.is_relative_to(self.root):
            return f"this is a link out of the project, to {place}"
        real = place.relative_to(self.root).as_posix()
        if real != path and (problem := name_problem(real)):
            return f"this is a link to {real}: {problem}"
        if place == self.document or is_same_file(place, self.document):
            return "this is the document itself"
        return self._rule_problem(path, real) or _kind_problem(self.root / path, place)

    def _rule_problem(self, path: str, real: str) -> str:
        if path not in self.paths and not self._is_allowed(path):
            return f"the file is not in the code context: add it there, or allow it with --allow '{path}'"
        try:
            return "git ignores the file" if is_ignored(self.root, path) or is_ignored(self.root, real) else ""
        except OSError as error:
            return f"a .gitignore cannot be read: {error.strerror}"

    def _is_allowed(self, path: str) -> bool:
        from pathspec import GitIgnoreSpec
        from pathspec.patterns.gitignore.base import GitIgnorePatternError

        try:
            return bool(self.allow) and GitIgnoreSpec.from_lines(self.allow).match_file(path)
        except GitIgnorePatternError as error:
            raise LlmdError(f"--allow: {error}") from None


def _kind_problem(place: Path, real: Path) -> str:
    try:
        mode = real.stat().st_mode
    except FileNotFoundError:
        return "this is a broken link" if place.is_symlink() else ""
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISDIR(mode):
        return "this is a folder"
    return "" if stat.S_ISREG(mode) else "this is not a regular file"


def read_bytes(place: Path) -> bytes | None:
    """Return a file's bytes, or None if missing. Raise LlmdError if it cannot be read."""
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LlmdError(f"{place}: {error.strerror or error}") from None


def as_text(path: str, data: bytes) -> str:
    """Decode UTF-8. Raise LlmdError for binary data and other encodings."""
    if b"\0" in data:
        raise LlmdError(f"{path}: the file is binary")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LlmdError(f"{path}: line {line} is not UTF-8: save the file as UTF-8") from None


def as_data(path: str, text: str) -> bytes:
    """Encode a text. Raise LlmdError if it could not be read back."""
    data = text.encode("utf-8")
    as_text(path, data)
    return data
