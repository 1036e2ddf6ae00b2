"""A journal of changes of several files: all are made or none, even if the process is killed, and can be undone.

Each application is one file: NUMBER.open while its changes are made or undone (the next run undoes them if the process
was killed), NUMBER.done when they are made, NUMBER.left if they could not be undone completely. They lie in the user's
cache folder, since anything that comes with a project may be somebody else's.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import LlmdError
from ..files.user import cache_folder
from ..files.writing import remove_leftovers, replace_file, sync_folder
from .files import read_bytes

KEPT = 20  # how many applied replies can be undone


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
    file: Path


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
        self.root = Path(os.path.realpath(root))
        name = hashlib.blake2b(os.fsencode(self.root), digest_size=16).hexdigest()
        self.folder = cache_folder() / "llmd" / name

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the journal for this process alone. Raise LlmdError if that is not possible."""
        from ..errors import StoreError
        from ..store.folder_lock import FolderLock

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LlmdError(
                f"{self.folder}: the texts from before cannot be kept there ({error.strerror}), so nothing was "
                "changed; set XDG_CACHE_HOME to a folder that can be written"
            ) from None
        lock = FolderLock(self.folder)
        try:
            lock.take()
        except StoreError:
            raise LlmdError(f"{self.root}: another run is changing files here; try again when it has ended") from None
        try:
            yield
        finally:
            lock.release()

    @property
    def unfinished(self) -> list[Path]:
        """The entries that a killed run left."""
        return self._entries(".open")

    def _entries(self, state: str) -> list[Path]:
        return sorted(self.folder.glob(f"*{state}"), key=lambda path: int(path.stem))

    def apply(self, changes: Sequence[JournalChange], document: str, entry: int = 0, reply: str = "") -> None:
        """Make all changes, or none if one cannot be made.

        Raise LlmdError if a file is not what it was before, and OSError."""
        for one in changes:
            if self._state(one) != "old" and one.old != one.new:
                raise LlmdError(f"{one.path}: changed on disk meanwhile; nothing was applied: run again")
        numbers = [int(path.stem) for path in self.folder.iterdir() if path.stem.isdecimal()]
        file = self.folder / f"{max(numbers, default=0) + 1:04}.open"
        _write(Applied(document, entry, reply, tuple(changes), file))
        try:
            for one in changes:
                if self._state(one) == "other":  # an earlier change made it so
                    raise LlmdError(f"{one.path}: cannot be written beside the other changes")
                self._put(one, one.new)
        except (OSError, LlmdError):
            self._undo(file)
            raise
        self._rename(file, "done")
        for old in self._entries(".done")[:-KEPT]:
            old.unlink()

    def recover(self) -> list[str]:
        """Undo what a killed run left in progress, and return what was done. Raise LlmdError and OSError."""
        return [self._undo(file) or "a run was stopped on its way: all is as before it" for file in self.unfinished]

    def done(self, document: str) -> Iterator[Applied]:
        """Yield what was applied for a document and not undone, newest first. Raise LlmdError if it cannot be read."""
        for file in reversed(self._entries(".done")):
            if (applied := _read(file)).document == document:
                yield applied

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
            _write(replace(applied, changes=changes))
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
            file.unlink()
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
        """Return the place of a path in the journal. Raise LlmdError if it has become a link since."""
        place = self.root / path
        if Path(os.path.realpath(place)) != place:
            raise LlmdError(f"{path}: has become a link since, so it is not touched; see {self.folder}")
        return place

    def _rename(self, file: Path, state: str) -> Path:
        renamed = file.with_suffix(f".{state}")
        file.rename(renamed)
        sync_folder(self.folder)
        return renamed


def _write(applied: Applied) -> None:
    changes = [{**asdict(one), "old": _encode(one.old), "new": _encode(one.new)} for one in applied.changes]
    record = {"document": applied.document, "entry": applied.entry, "reply": applied.reply, "changes": changes}
    replace_file(applied.file, json.dumps(record, indent=1).encode())


def _read(file: Path) -> Applied:
    """Return an entry. Raise LlmdError if it is none."""
    try:
        record = json.loads(file.read_bytes())
        changes = tuple(map(_read_change, record["changes"]))
        return Applied(record["document"], record["entry"], record["reply"], changes, file)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LlmdError(f"{file}: cannot be read ({error}): move it away to go on without it") from None


def _read_change(one: dict[str, Any]) -> JournalChange:
    return JournalChange(one["path"], _decode(one["old"]), _decode(one["new"]), one["mode"], tuple(one["folders"]))


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
