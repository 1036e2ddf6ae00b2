"""A journal that makes changes of several files all or none, even if killed, and undoes them."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import FolderError, LlmdError
from ..files.marked import make_marked, remove_marked
from ..files.remembered import forget, is_known, is_remembered, remember
from ..files.writing import copy_owner
from .files import OWN, TEMPORARY, read_bytes

JOURNAL = ".lmm/llmd"
ENTRY = "journal"  # the kind of the folders in it
KEPT = 20  # how many applied replies can be taken back
_KIND = "journals"
_TEXT = re.compile(r"[0-9]+\.(old|new)")


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

    folder: where they are kept; document: the one that asked for them; entry: its entry (0: none);
    reply: a fingerprint of the reply."""

    folder: Path
    document: str
    entry: int
    reply: str
    changes: tuple[JournalChange, ...]


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
    """Changes of files under a root, in progress and done.

    Each has a folder, which is renamed as a whole, so that it is always one of these:

    N.making   not completely written: discarded by the next run, nothing has changed
    N.open     in progress: completed by the next run
    N.back     being taken back: taken back completely by the next run
    N.done     done; `undo` takes it back
    N.left     could not be taken back completely: holds the old texts
    N.gone     discarded

    Files are written from `open`, `back` and `done` only if this user began them in this place
    (`begin`), since a folder that comes with a clone may look like any of them.

    The caller has to keep others from changing anything here meanwhile."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / JOURNAL

    def prepare(self) -> None:
        """Make the folder. Raise LlmdError if it is or holds a link, and OSError."""
        if Path(os.path.realpath(self.folder)) != self.folder:
            raise LlmdError(f"{self.folder}: a link; the journal has to be in the project")
        self.folder.mkdir(parents=True, exist_ok=True)
        _refuse_others(self.folder)
        ignore = self.folder / ".gitignore"
        if not (ignore.exists() and ignore.stat().st_size):  # an empty one was written on a full disk
            ignore.write_text("*\n", encoding="utf-8")

    @property
    def unfinished(self) -> list[Path]:
        """Return the folders that a killed run left."""
        return [folder for folder in self._folders() if folder.suffix in (".making", ".open", ".back", ".gone")]

    def _folders(self) -> list[Path]:
        """Return all folders by number."""
        if Path(os.path.realpath(self.folder)) != self.folder or not self.folder.is_dir():
            return []
        found = [folder for folder in self.folder.iterdir() if folder.stem.isdecimal() and folder.is_dir()]
        return sorted(found, key=lambda folder: int(folder.stem))

    def apply(self, changes: Sequence[JournalChange], document: str, entry: int = 0, reply: str = "") -> None:
        """Make all changes, or none if one cannot be made.

        Raise LlmdError if a file is not what it was before, and OSError."""
        self.prepare()
        for one in changes:
            if read_bytes(self._place(one.path)) != one.old:
                raise LlmdError(f"{one.path}: changed on disk meanwhile; nothing was applied: run again")
        making = self._write(document, entry, reply, changes)
        begin(making)
        try:
            problem = self._finish(self._rename(making, "open"))
        except (OSError, LlmdError):
            self._take_back(self._rename(making.with_suffix(".open"), "back"))
            raise
        if problem:
            raise LlmdError(problem)
        for folder in self._done()[:-KEPT]:
            self._discard(folder)

    def recover(self) -> list[str]:
        """Finish what a killed run of this user left, and return what was done.

        What nobody knows stays as it is, which is said. Raise LlmdError and OSError."""
        said = []
        for folder in self.unfinished:
            if folder.suffix in (".open", ".back") and not is_begun(folder):
                said.append(_unknown(folder))
            elif folder.suffix == ".open":
                said.append(self._finish(folder) or "a run was stopped on its way: its changes are made now")
            elif folder.suffix == ".back":
                said.append(self._take_back(folder) or "a run was stopped on its way back: all is as before it")
            else:
                self._discard(folder)
        return said

    def done(self, document: str) -> Iterator[Applied]:
        """Yield what this user applied for a document and did not take back, newest first.

        Raise LlmdError if it cannot be read."""
        done = (self._read(folder) for folder in reversed(self._done()))
        return (one for one in done if one.document == document)

    def recorded(self, document: str) -> Iterator[Applied]:
        """Yield what was applied for a document, here or (as far as readable) elsewhere.

        Use it to know, never to write. Raise LlmdError if it cannot be read."""
        yield from self.done(document)
        for folder in self.unknown:
            try:
                found = self._read(folder)
            except LlmdError:  # it tells nothing
                continue
            if found.document == document:
                yield found

    def _done(self) -> list[Path]:
        return [folder for folder in self._folders() if folder.suffix == ".done" and is_begun(folder)]

    @property
    def unknown(self) -> list[Path]:
        """Return the folders of what was applied elsewhere or by somebody else; it is not taken back."""
        return [folder for folder in self._folders() if folder.suffix == ".done" and not is_begun(folder)]

    def last(self, document: str) -> Applied | None:
        """Return what was last applied for a document, or None. Raise LlmdError if it cannot be read."""
        return next(self.done(document), None)

    def changed_since(self, applied: Applied) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return the files that are not as they were left: path, bytes then and bytes now.

        A conversation that went on at the document's end counts as no change."""
        now = [(one.path, one.new, read_bytes(self._place(one.path))) for one in applied.changes]
        return [
            (path, new, found)
            for path, new, found in now
            if new != found and not (path == applied.document and new and found and found.startswith(new))
        ]

    def undo(self, applied: Applied) -> None:
        """Put everything back as it was; text added at the document's end since stays.

        Raise LlmdError if a file changed since, and OSError; the next run then goes on."""
        if changed := self.changed_since(applied):
            raise LlmdError(f"{changed[0][0]}: changed since; nothing was undone")
        self._take_back(self._rename(self._with_end(applied), "back"))

    def _with_end(self, applied: Applied) -> Path:
        """Return the folder of the changes with the document's present end in both of its texts."""
        found = next((one for one in applied.changes if one.path == applied.document), None)
        if found is None or found.old is None or found.new is None:
            return applied.folder
        end = (read_bytes(self._place(found.path)) or b"")[len(found.new) :]
        if not end:
            return applied.folder
        now = replace(found, old=found.old + end, new=found.new + end)
        changes = [now if one is found else one for one in applied.changes]
        making = self._write(applied.document, applied.entry, applied.reply, changes)
        begin(making)
        made = self._rename(making, "done")
        self._discard(applied.folder)
        return made

    # Steps

    def _finish(self, folder: Path) -> str:
        """Make the changes that are missing, and return "" or what is left.

        If a file is neither as before nor as after, all others are taken back."""
        applied = self._read(folder)
        if any(self._found(one) == "other" for one in applied.changes):
            return self._take_back(self._rename(folder, "back"))
        for one in applied.changes:
            if self._found(one) == "old":
                self._put(one, one.new)
            elif self._found(one) == "other":  # an earlier change made it so
                return self._take_back(self._rename(folder, "back"))
            self._remove_temporary(one)
        self._rename(folder, "done")
        return ""

    def _take_back(self, folder: Path) -> str:
        """Undo what is as the changes made it, and return "" or what is left.

        What somebody changed since stays, and the old texts stay in the journal."""
        applied = self._read(folder)
        left = [one.path for one in applied.changes if self._found(one) == "other"]
        for one in reversed(applied.changes):
            if self._found(one) == "new":
                self._put(one, one.old)
            self._remove_temporary(one)
            self._remove_folders(one)
        if not left:
            self._discard(folder)
            return ""
        kept = self._rename(folder, "left")
        return f"not applied: {', '.join(left)} changed meanwhile (what was there before is kept in {kept})"

    def _found(self, one: JournalChange) -> Literal["old", "new", "other"]:
        place = self._place(one.path)
        try:
            data = read_bytes(place)
        except LlmdError:
            return "other"
        return "old" if data == one.old else "new" if data == one.new else "other"

    def _put(self, one: JournalChange, data: bytes | None) -> None:
        """Replace a file as a whole."""
        place, temporary = self._place(one.path), self._temporary(one.path)
        if data is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._remove_temporary(one)
            try:
                write_synced(temporary, data, None)
                copy_owner(place, temporary)
                if one.mode is not None:
                    os.chmod(temporary, one.mode)
                os.replace(temporary, place)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(place)) from None
        _sync(place.parent)

    def _remove_temporary(self, one: JournalChange) -> None:
        """Remove the temporary file if it exists; removing nothing would fail on a read-only disk."""
        temporary = self._temporary(one.path)
        if os.path.lexists(temporary):
            temporary.unlink()

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

    def _temporary(self, path: str) -> Path:
        """Return a name beside the file, so that it can be renamed; always the same, so that none is left."""
        place = self._place(path)
        return place.with_name(f".{place.name[:40]}{TEMPORARY}")

    # The journal's own files

    def _write(self, document: str, entry: int, reply: str, changes: Sequence[JournalChange]) -> Path:
        """Write changes into a new folder; they are not made yet."""
        number = max((int(folder.stem) for folder in self._folders()), default=0) + 1
        making = self.folder / f"{number:04}.making"
        said = [{**asdict(one), "old": one.old is not None, "new": one.new is not None} for one in changes]
        record = {"document": document, "entry": entry, "reply": reply, "changes": said}
        try:
            make_marked(making, ENTRY)
            for at, one in enumerate(changes):
                for name in ("old", "new"):
                    if (data := getattr(one, name)) is not None:
                        write_synced(making / f"{at}.{name}", data, 0o600)
            write_synced(making / "journal.json", json.dumps(record, indent=1).encode(), 0o600)
            _sync(making)
        except OSError:
            _remove(making)
            raise
        return making

    def _read(self, folder: Path) -> Applied:
        _refuse_others(folder)
        try:
            said: dict[str, Any] = json.loads((folder / "journal.json").read_bytes())
            changes = tuple(_read_changes(folder, said["changes"]))
            return Applied(folder, str(said["document"]), int(said["entry"]), str(said["reply"]), changes)
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise LlmdError(f"{folder}: cannot be read ({error}): move it away to go on without it") from None

    def _rename(self, folder: Path, state: str) -> Path:
        made = folder.with_suffix(f".{state}")
        folder.rename(made)
        _sync(self.folder)
        return made

    def _discard(self, folder: Path) -> None:
        _remove(folder if folder.suffix in (".gone", ".making") else self._rename(folder, "gone"))


def _remove(folder: Path) -> None:
    """Remove a folder of the journal. Raise LlmdError if it holds what is not ours, and OSError."""
    try:
        remove_marked(folder, ENTRY)
    except FolderError as error:
        raise LlmdError(str(error)) from None
    forget(_KIND, folder.with_suffix(""))


# Who has begun it


def begin(folder: Path) -> None:
    """Remember with the user that these changes were begun here, whatever state the folder is in.

    Raise OSError if that cannot be written."""
    remember(_KIND, folder.with_suffix(""), *_contents(folder))


def is_begun(folder: Path) -> bool:
    """Return True if this user began exactly these changes here. Raise LlmdError and OSError."""
    place = folder.with_suffix("")
    if not is_known(_KIND, place):  # nothing of it is read: it may be anything
        return False
    _refuse_others(folder)
    return is_remembered(_KIND, place, *_contents(folder))


def _contents(folder: Path) -> list[bytes]:
    """Return what changes are recognised by: names and bytes of the record and of the texts."""
    found = (entry.name for entry in folder.iterdir())
    names = sorted(name for name in found if name == "journal.json" or _TEXT.fullmatch(name))
    return [part for name in names for part in (os.fsencode(name), (folder / name).read_bytes())]


def _unknown(folder: Path) -> str:
    return (
        f"{folder}: says that changes were begun here, but not by you on this machine (or your cache was cleared): "
        "nothing of it was done; look at journal.json in it, and then move it away: "
        f"mv {shlex.quote(str(folder))} {shlex.quote(str(folder) + '.other')}"
    )


def _refuse_others(folder: Path) -> None:
    """Raise LlmdError if a journal holds a link or a pipe, which only somebody else can have made.

    It might lead to any file, or nowhere. Raise OSError if it cannot be read."""
    for path in (folder, *folder.iterdir()):
        if not (stat.S_ISREG(mode := path.lstat().st_mode) or stat.S_ISDIR(mode)):
            raise LlmdError(f"{path}: {_kind(mode)}, which is none of the journal's: remove it")


def _kind(mode: int) -> str:
    return "a link" if stat.S_ISLNK(mode) else "no regular file"


def _read_changes(folder: Path, said: list[dict[str, Any]]) -> Iterator[JournalChange]:
    for number, one in enumerate(said):
        old, new = (
            (folder / f"{number}.{name}").read_bytes() if one[name] else None for name in ("old", "new")
        )  # fmt: skip
        mode = None if one["mode"] is None else int(one["mode"]) & 0o777
        yield JournalChange(_read_path(one["path"]), old, new, mode, tuple(map(_read_path, one["folders"])))


def _read_path(said: Any) -> str:
    """Return a path from a journal. Raise ValueError for one that no file can have."""
    path = str(said)
    if "\0" in path:
        raise ValueError("a path with NUL")
    os.fsencode(path)
    return path


def write_synced(place: Path, data: bytes, mode: int | None) -> None:
    """Write a new file and sync it to the disk. Raise OSError if that fails."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(place, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(place, mode)


def _sync(folder: Path) -> None:
    """Sync the names in a folder to the disk. The folder may be gone."""
    if os.name == "posix" and folder.is_dir():
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
