"""Journal of changes to several files: all are made or none, even if the process is killed, and can be undone.

It holds the last changes only: `changes.open` while they are made or undone (the next run undoes them if the process
was killed), `changes.done` afterwards, `changes-….left` if they could not be undone completely. The files lie in the
user's cache folder, because anything in a project may be somebody else's.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import LlmdError
from ..files.user import cache_folder
from ..files.writing import remove_leftovers, replace_file, sync_folder
from .files import read_bytes


@dataclass(frozen=True, slots=True)
class JournalChange:
    """A file before and after; None means no file.

    path: from the root, without links; mode: permission bits before the change."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes in the journal.

    document: the one that asked for them; entry: its entry (0: none); reply: a hash of the reply."""

    document: str
    entry: int
    reply: str
    changes: tuple[JournalChange, ...]


def change(root: Path, place: Path, old: bytes | None, new: bytes | None) -> JournalChange:
    """Return the change of one file. Raise LlmdError for a file that may not be written."""
    path = place.relative_to(root).as_posix()
    mode = _mode(place) if old is not None else None
    if mode is not None and not mode & 0o222:
        raise LlmdError(f"{path}: the file is read-only")
    return JournalChange(path, old, new, mode)


def _mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode) & 0o777


class Journal:
    """The journal of the files under a root."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        name = hashlib.blake2b(os.fsencode(self.root), digest_size=16).hexdigest()
        self.folder = cache_folder() / "llmd" / name
        self.open, self.done = self.folder / "changes.open", self.folder / "changes.done"

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

    def apply(self, changes: Sequence[JournalChange], document: str, entry: int = 0, reply: str = "") -> None:
        """Make all changes, or none if one fails.

        Raise LlmdError if a file has changed on disk, and OSError."""
        for change in changes:
            if self._state(change) != "old" and change.old != change.new:
                raise LlmdError(f"{change.path}: changed on disk meanwhile; nothing was applied: run again")
        _write(Applied(document, entry, reply, tuple(changes)), self.open)
        try:
            for change in changes:
                if self._state(change) == "other":  # an earlier change made it so
                    raise LlmdError(f"{change.path}: cannot be written beside the other changes")
                self._put(change, change.new)
        except (OSError, LlmdError):
            self._undo()
            raise
        self._rename(self.open, self.done)

    def recover(self) -> str:
        """Undo the changes of a killed run. Return a message for the user, or "".

        Raise LlmdError and OSError."""
        return (self._undo() or "a run was stopped on its way: all is as before it") if self.open.exists() else ""

    def last(self, document: str) -> Applied | None:
        """Return the last changes if they belong to a document and were not undone. Raise LlmdError if unreadable."""
        applied = _read(self.done) if self.done.exists() else None
        return applied if applied is not None and applied.document == document else None

    def changed_since(self, applied: Applied) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return the files that have changed since: path, bytes then, bytes now.

        Text added at the document's end does not count."""
        now = [(change.path, change.new, read_bytes(self._place(change.path))) for change in applied.changes]
        return [
            (path, new, data)
            for path, new, data in now
            if new != data and not (path == applied.document and new and data and data.startswith(new))
        ]

    def undo(self, applied: Applied) -> None:
        """Restore the files; text added at the document's end since stays.

        Raise LlmdError if a file changed since, and OSError; the next run then continues."""
        if changed := self.changed_since(applied):
            raise LlmdError(f"{changed[0][0]}: changed since; nothing was undone")
        _write(replace(applied, changes=tuple(map(self._with_end, applied.changes))), self.done)
        self._rename(self.done, self.open)
        self._undo()

    def _with_end(self, change: JournalChange) -> JournalChange:
        """Return the change of a document with the text added at its end since in both versions."""
        if change.old is None or change.new is None:
            return change
        end = (read_bytes(self._place(change.path)) or b"")[len(change.new) :]
        return replace(change, old=change.old + end, new=change.new + end)

    # Steps

    def _undo(self) -> str:
        """Restore the files that were changed. Return a message about those changed by others, or "".

        The journal keeps the old texts of these."""
        applied = _read(self.open)
        conflicts = [change.path for change in applied.changes if self._state(change) == "other"]
        for change in reversed(applied.changes):
            if (place := self._place(change.path)).parent.is_dir():
                remove_leftovers(place)
            if change.path not in conflicts:
                self._put(change, change.old)
        if not conflicts:
            self.open.unlink()
            return ""
        file = self.folder / f"changes-{time.time_ns()}.left"
        self._rename(self.open, file)
        return f"not applied: {', '.join(conflicts)} changed meanwhile (what was there before is kept in {file})"

    def _state(self, change: JournalChange) -> Literal["old", "new", "other"]:
        place = self._place(change.path)
        try:
            data = read_bytes(place)
        except LlmdError:
            return "other"
        return "old" if data == change.old else "new" if data == change.new else "other"

    def _put(self, change: JournalChange, data: bytes | None) -> None:
        """Replace or remove a file unless it is so already, and restore its permissions."""
        place = self._place(change.path)
        try:
            if data is None:
                place.unlink(missing_ok=True)
            elif read_bytes(place) != data:
                place.parent.mkdir(parents=True, exist_ok=True)
                replace_file(place, data)
            if data is not None and change.mode not in (None, _mode(place)):
                os.chmod(place, change.mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from None

    def _place(self, path: str) -> Path:
        """Return the place of a path in the journal. Raise LlmdError if it is a link by now."""
        place = self.root / path
        if Path(os.path.realpath(place)) != place:
            raise LlmdError(f"{path}: has become a link since, so it is not touched; see {self.folder}")
        return place

    def _rename(self, file: Path, name: Path) -> None:
        file.replace(name)
        sync_folder(self.folder)


def _write(applied: Applied, file: Path) -> None:
    changes = [{**asdict(change), "old": _encode(change.old), "new": _encode(change.new)} for change in applied.changes]
    replace_file(file, json.dumps({**asdict(applied), "changes": changes}, indent=1).encode())


def _read(file: Path) -> Applied:
    """Return the changes in a file of the journal. Raise LlmdError if it cannot be read."""
    try:
        record = json.loads(file.read_bytes())
        changes = tuple(map(_read_change, record["changes"]))
        return Applied(record["document"], record["entry"], record["reply"], changes)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LlmdError(f"{file}: cannot be read ({error}): move it away to go on without it") from None


def _read_change(record: dict[str, Any]) -> JournalChange:
    return JournalChange(record["path"], _decode(record["old"]), _decode(record["new"]), record["mode"])


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
