"""A journal of changes of several files: all are made or none, even if the process is killed, and can be undone.

Each application is one file: NUMBER.open while its changes are made or undone (the next run undoes them if the process
was killed), NUMBER.done when they are made, NUMBER.left if they could not be undone completely. Files are written
from it only if this user began it in this place (`begin`), since one that comes with a clone may say anything.
The caller has to keep others from changing anything here meanwhile.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import LlmdError
from ..files.remembered import forget, is_remembered, remember
from ..files.writing import remove_leftovers, replace_file, sync_folder
from .files import OWN, read_bytes

JOURNAL = ".lmm/llmd"
KEPT = 20  # how many applied replies can be undone
_KIND = "journals"


@dataclass(frozen=True, slots=True)
class JournalChange:
    """A file before and after, None for no file.

    path: from the root, without links; mode: the permissions before; folders: those that have to
    be made for it, outermost first."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes in the journal.

    document: the one that asked for them; entry: its entry (0: none); reply: a hash of the reply."""

    document: str
    entry: int
    reply: str
    changes: tuple[JournalChange, ...]
    file: Path = Path()


def change(root: Path, place: Path, old: bytes | None, new: bytes | None) -> JournalChange:
    """Return the change of one file. Raise LlmdError for a file that may not be written."""
    path = place.relative_to(root).as_posix()
    mode = stat.S_IMODE(place.stat().st_mode) & 0o777 if old is not None else None
    if mode is not None and not mode & 0o222:
        raise LlmdError(f"{path}: the file is read-only")
    missing = [folder for folder in place.parents if folder.is_relative_to(root) and not folder.exists()]
    return JournalChange(
        path, old, new, mode, tuple(folder.relative_to(root).as_posix() for folder in reversed(missing))
    )


class Journal:
    """The journal of the files under a root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / JOURNAL

    def prepare(self) -> None:
        """Make the folder. Raise LlmdError if it is or holds a link, and OSError."""
        if Path(os.path.realpath(self.folder)) != self.folder:
            raise LlmdError(f"{self.folder}: a link; the journal has to be in the project")
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            _refuse_link(path)
        ignore = self.folder / ".gitignore"
        if not (ignore.exists() and ignore.stat().st_size):  # an empty one was written on a full disk
            ignore.write_text("*\n", encoding="utf-8")

    @property
    def unfinished(self) -> list[Path]:
        """The entries that a killed run left."""
        return self._entries(".open")

    @property
    def unknown(self) -> list[Path]:
        """The entries of what was applied elsewhere or by somebody else, which is not undone."""
        return [file for file in self._entries(".done") if not is_begun(file)]

    def _entries(self, state: str) -> list[Path]:
        if Path(os.path.realpath(self.folder)) != self.folder or not self.folder.is_dir():
            return []
        files = [path for path in self.folder.iterdir() if path.suffix == state and path.stem.isdecimal()]
        return sorted((path for path in files if not path.is_dir()), key=lambda path: int(path.stem))

    def apply(self, changes: Sequence[JournalChange], document: str, entry: int = 0, reply: str = "") -> None:
        """Make all changes, or none if one cannot be made.

        Raise LlmdError if a file is not what it was before, and OSError."""
        self.prepare()
        for one in changes:
            if self._state(one) != "old" and one.old != one.new:
                raise LlmdError(f"{one.path}: changed on disk meanwhile; nothing was applied: run again")
        numbers = [int(path.stem) for path in self.folder.iterdir() if path.stem.isdecimal()]
        file = self.folder / f"{max(numbers, default=0) + 1:04}.open"
        self._write(Applied(document, entry, reply, tuple(changes), file))
        try:
            for one in changes:
                if self._state(one) == "other":  # an earlier change made it so
                    raise LlmdError(f"{one.path}: cannot be written beside the other changes")
                self._put(one, one.new)
        except (OSError, LlmdError):
            self._undo(file)
            raise
        self._rename(file, "done")
        for old in [path for path in self._entries(".done") if is_begun(path)][:-KEPT]:
            self._discard(old)

    def recover(self) -> list[str]:
        """Undo what a killed run of this user left in progress, and return what was done.

        What nobody knows stays as it is, which is reported. Raise LlmdError and OSError."""
        reports = []
        for file in self.unfinished:
            if is_begun(file):
                reports.append(self._undo(file) or "a run was stopped on its way: all is as before it")
            else:
                reports.append(_unknown(file))
        return reports

    def done(self, document: str) -> Iterator[Applied]:
        """Yield what this user applied for a document and did not undo, newest first.

        Raise LlmdError if it cannot be read."""
        for file in reversed(self._entries(".done")):
            if is_begun(file) and (applied := _read(file)).document == document:
                yield applied

    def recorded(self, document: str) -> Iterator[Applied]:
        """Yield what was applied for a document, here or (as far as readable) elsewhere.

        Use it to know, never to write. Raise LlmdError if it cannot be read."""
        yield from self.done(document)
        for file in self.unknown:
            try:
                applied = _read(file)
            except LlmdError:  # it tells nothing
                continue
            if applied.document == document:
                yield applied

    def last(self, document: str) -> Applied | None:
        """Return what was last applied for a document, or None. Raise LlmdError if it cannot be read."""
        return next(self.done(document), None)

    def changed_since(self, applied: Applied) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return the files that are not as they were left: path, bytes then and bytes now.

        A conversation that went on at the document's end counts as no change."""
        now = [(one.path, one.new, read_bytes(self._place(one.path))) for one in applied.changes]
        return [
            (path, new, data)
            for path, new, data in now
            if new != data and not (path == applied.document and new and data and data.startswith(new))
        ]

    def undo(self, applied: Applied) -> None:
        """Put everything back as it was; text added at the document's end since stays.

        Raise LlmdError if a file changed since, and OSError; the next run then goes on."""
        if changed := self.changed_since(applied):
            raise LlmdError(f"{changed[0][0]}: changed since; nothing was undone")
        changes = tuple(map(self._with_end, applied.changes))
        if changes != applied.changes:
            self._write(replace(applied, changes=changes))
        self._undo(self._rename(applied.file, "open"))

    def _with_end(self, one: JournalChange) -> JournalChange:
        """Return a change with what stands behind its new text now in both of its texts."""
        if one.old is None or one.new is None:
            return one
        end = (read_bytes(self._place(one.path)) or b"")[len(one.new) :]
        return replace(one, old=one.old + end, new=one.new + end)

    # Steps

    def _undo(self, file: Path) -> str:
        """Undo the changes that were made, and return "" or what is left.

        What somebody changed since stays, and the old texts stay in the journal."""
        applied = _read(file)
        left = [one.path for one in applied.changes if self._state(one) == "other"]
        for one in reversed(applied.changes):
            if (place := self._place(one.path)).parent.is_dir():
                remove_leftovers(place)
            if one.path not in left:
                self._put(one, one.old)
            self._remove_folders(one)
        if not left:
            self._discard(file)
            return ""
        kept = self._rename(file, "left")
        return f"not applied: {', '.join(left)} changed meanwhile (what was there before is kept in {kept})"

    def _state(self, one: JournalChange) -> Literal["old", "new", "other"]:
        place = self._place(one.path)
        try:
            data = read_bytes(place)
        except LlmdError:
            return "other"
        return "old" if data == one.old else "new" if data == one.new else "other"

    def _put(self, one: JournalChange, data: bytes | None) -> None:
        """Replace or remove a file, unless it is as it should be, and give it the permissions from before."""
        place = self._place(one.path)
        try:
            if data is None:
                place.unlink(missing_ok=True)
            elif read_bytes(place) != data:
                place.parent.mkdir(parents=True, exist_ok=True)
                replace_file(place, data)
            if data is not None and one.mode is not None and stat.S_IMODE(place.stat().st_mode) & 0o777 != one.mode:
                os.chmod(place, one.mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from None

    def _remove_folders(self, one: JournalChange) -> None:
        """Remove the folders that were made, if they are empty."""
        for name in reversed(one.folders if one.old is None else ()):
            folder = self._place(name)
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _place(self, path: str) -> Path:
        """Return the place of a path in the journal, which may be somebody else's. Raise LlmdError."""
        place = self.root / path
        parts = Path(path).parts
        own = any(part.casefold().rstrip(". ") in OWN for part in parts)
        if not parts or Path(path).is_absolute() or ".." in parts or own or Path(os.path.realpath(place)) != place:
            raise LlmdError(f"{path}: not to be touched (it leads elsewhere, or has become a link); see {self.folder}")
        return place

    # The journal's own files

    def _write(self, applied: Applied) -> None:
        """Write an entry as a whole. The changes are not made yet."""
        changes = [{**asdict(one), "old": _encoded(one.old), "new": _encoded(one.new)} for one in applied.changes]
        record = {"document": applied.document, "entry": applied.entry, "reply": applied.reply, "changes": changes}
        data = json.dumps(record, indent=1).encode()
        begin(self.folder, data)
        replace_file(applied.file, data)

    def _rename(self, file: Path, state: str) -> Path:
        renamed = file.with_suffix(f".{state}")
        file.rename(renamed)
        sync_folder(self.folder)
        return renamed

    def _discard(self, file: Path) -> None:
        data = file.read_bytes()
        file.unlink()
        forget(_KIND, _record(self.folder, data))


def _encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _read(file: Path) -> Applied:
    """Return an entry. Raise LlmdError if it is none."""
    _refuse_link(file)
    try:
        record: dict[str, Any] = json.loads(file.read_bytes())
        changes = tuple(map(_read_change, record["changes"]))
        return Applied(str(record["document"]), int(record["entry"]), str(record["reply"]), changes, file)
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise LlmdError(f"{file}: cannot be read ({error}): move it away to go on without it") from None


def _read_change(one: dict[str, Any]) -> JournalChange:
    old, new = (None if one[name] is None else base64.b64decode(one[name]) for name in ("old", "new"))
    mode = None if one["mode"] is None else int(one["mode"]) & 0o777
    return JournalChange(_read_path(one["path"]), old, new, mode, tuple(map(_read_path, one["folders"])))


def _read_path(value: Any) -> str:
    """Return a path from a journal. Raise ValueError for one that no file can have."""
    path = str(value)
    if "\0" in path:
        raise ValueError("a path with NUL")
    os.fsencode(path)
    return path


# Who has begun it


def begin(folder: Path, data: bytes) -> None:
    """Remember with the user that an entry of a journal was begun here."""
    remember(_KIND, _record(folder, data), data)


def is_begun(file: Path) -> bool:
    """Return True if this user began exactly this entry here. Raise LlmdError and OSError."""
    _refuse_link(file)
    data = file.read_bytes()
    return is_remembered(_KIND, _record(file.parent, data), data)


def _record(folder: Path, data: bytes) -> Path:
    return folder / hashlib.sha256(data).hexdigest()


def _unknown(file: Path) -> str:
    return (
        f"{file}: says that changes were begun here, but not by you on this machine (or your cache was cleared): "
        "nothing of it was done; look at it, and then move it away: "
        f"mv {shlex.quote(str(file))} {shlex.quote(str(file) + '.other')}"
    )


def _refuse_link(path: Path) -> None:
    """Raise LlmdError for a link or a pipe in a journal, which only somebody else can have made.

    It might lead to any file, or nowhere. Raise OSError if it cannot be read."""
    mode = path.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a link" if stat.S_ISLNK(mode) else "no regular file"
        raise LlmdError(f"{path}: {kind}, which is none of the journal's: remove it")
