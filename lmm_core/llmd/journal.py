"""Journal atomic changes to several files, and undo them.

Only the last changes are stored: in `changes.open` while in progress (the next run rolls them back after a kill),
then in `changes.done`, or in `changes-….left` after an incomplete rollback. The files are in the user's cache
folder, because a project's content is untrusted."""

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
from typing import Literal

from ..errors import LlmdError, StoreError
from ..files.names import cache_folder
from ..files.writing import remove_leftovers, replace_file, sync_folder
from .files import read_bytes


@dataclass(frozen=True, slots=True)
class JournalChange:
    """The change of a file.

    path: relative to the root, without links; mode: permission bits before
    old, new: content before and after, or None where there is no file"""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes recorded in the journal. document: path; entry: number, or 0; reply: hash of the entry's reply."""

    document: str
    entry: int
    reply: str
    changes: tuple[JournalChange, ...]


def journal_change(root: Path, place: Path, old: bytes | None, new: bytes | None) -> JournalChange:
    """Return the change of a file. Raise LlmdError if it is read-only."""
    path = place.relative_to(root).as_posix()
    mode = _mode(place) if old is not None else None
    if mode is not None and not mode & 0o222:
        raise LlmdError(f"{path}: the file is read-only: make it writable")
    return JournalChange(path, old, new, mode)


def _mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode) & 0o777


class Journal:
    """The journal of changes to the files of a project."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        name = hashlib.blake2b(os.fsencode(self.root), digest_size=16).hexdigest()
        self.folder = cache_folder() / "llmd" / name
        self.open, self.done = self.folder / "changes.open", self.folder / "changes.done"

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the journal's lock. Raise LlmdError if that fails."""
        from ..store.folder_lock import FolderLock

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LlmdError(
                f"{self.folder}: cannot be written ({error.strerror}), so nothing was changed: set XDG_CACHE_HOME to "
                "another folder"
            ) from None
        lock = FolderLock(self.folder)
        try:
            lock.take()
        except StoreError:
            raise LlmdError(f"{self.root}: another run is changing files here: try again when it has ended") from None
        try:
            yield
        finally:
            lock.release()

    def apply(self, changes: Sequence[JournalChange], document: str, entry: int = 0, reply: str = "") -> None:
        """Make all changes, or none if one fails. Raise OSError, and LlmdError if a file has changed on disk."""
        for change in changes:
            if self._state(change) != "old" and change.old != change.new:
                raise LlmdError(f"{change.path}: changed on disk meanwhile, so nothing was applied: run again")
        _write(Applied(document, entry, reply, tuple(changes)), self.open)
        try:
            for change in changes:
                if self._state(change) == "other":  # through an earlier change
                    raise LlmdError(f"{change.path}: the reply changes it in two ways, so nothing was applied")
                self._put(change, change.new)
        except (OSError, LlmdError):
            self._undo()
            raise
        self._rename(self.open, self.done)

    def recover(self) -> str:
        """Roll back a killed run. Return a message for the user, or "". Raise LlmdError and OSError."""
        if not self.open.exists():
            return ""
        return self._undo() or "The last run was interrupted. All files are as they were before it."

    def last(self, document: str) -> Applied | None:
        """Return the last changes that a document made and that were not undone, or None. Raise LlmdError."""
        applied = _read(self.done) if self.done.exists() else None
        return applied if applied is not None and applied.document == document else None

    def changed_since(self, applied: Applied) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return the files changed since: path, content after the changes, content now.

        Text appended to the document does not count."""
        states = [(change.path, change.new, read_bytes(self._place(change.path))) for change in applied.changes]
        return [
            (path, new, data)
            for path, new, data in states
            if new != data and not (path == applied.document and new and data and data.startswith(new))
        ]

    def undo(self, applied: Applied) -> None:
        """Restore the files as they were, but keep text appended to the document.

        Raise LlmdError if a file has changed since. After an OSError, the next run restores the remaining files."""
        if changed := self.changed_since(applied):
            raise LlmdError(f"{changed[0][0]}: changed since, so nothing was undone")
        _write(replace(applied, changes=tuple(map(self._with_end, applied.changes))), self.done)
        self._rename(self.done, self.open)
        self._undo()

    def _with_end(self, change: JournalChange) -> JournalChange:
        if change.old is None or change.new is None:
            return change
        end = (read_bytes(self._place(change.path)) or b"")[len(change.new) :]
        return replace(change, old=change.old + end, new=change.new + end)

    # Steps

    def _undo(self) -> str:
        """Roll back all changes. Return "", or a message with files that others have changed, which stay."""
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
        return f"{', '.join(conflicts)}: changed meanwhile, so left as it is. The earlier content is in {file}."

    def _state(self, change: JournalChange) -> Literal["old", "new", "other"]:
        place = self._place(change.path)
        try:
            data = read_bytes(place)
        except LlmdError:
            return "other"
        return "old" if data == change.old else "new" if data == change.new else "other"

    def _put(self, change: JournalChange, data: bytes | None) -> None:
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
        place = self.root / path
        if Path(os.path.realpath(place)) != place:
            raise LlmdError(f"{path}: has become a link, and was not changed: see {self.folder}")
        return place

    def _rename(self, file: Path, name: Path) -> None:
        file.replace(name)
        sync_folder(self.folder)


def _write(applied: Applied, file: Path) -> None:
    text = json.dumps(asdict(applied), default=lambda data: base64.b64encode(data).decode(), indent=1)  # of bytes
    replace_file(file, text.encode())


def _read(file: Path) -> Applied:
    try:
        record = json.loads(file.read_bytes())
        for change in record["changes"]:
            change |= {key: base64.b64decode(change[key]) for key in ("old", "new") if change[key] is not None}
        return Applied(**record | {"changes": tuple(JournalChange(**change) for change in record["changes"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LlmdError(f"{file}: cannot be read ({error}). To continue without it, move it away") from None
