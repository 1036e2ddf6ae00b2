"""Create and remove this program's own folders, which have a sentinel file.

`FOLDER/.lmm-folder` contains the line `lmm-folder 1 KIND`. It is written first and removed last. Since it can be forged
in a clone, a folder with other files than ours is never removed.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import FolderError

MARK = ".lmm-folder"
WORD = "lmm-folder 1"
LONGEST = 100  # bytes read of a sentinel file
# Kinds of removable folders, with patterns for our files in them
REMOVABLE = {
    "collection": (
        "collection.json", "lengths.json", "ahead.jsonl", "shard", ".collection.json.*.tmp", ".lengths.json.*.tmp",
        "kept-*", ".kept-*.tmp",  # of an earlier version
    ),
    "ask-box": ("*.js", "*.css", "*.txt"),
    "sample-course": (  # by `lmm demo`, our commands and Quarto
        "0[1-7]-*.md", "07-computing.qmd", "index.md", "README.md", "references.bib", "_quarto*.yml", "config.toml",
        "figures", "notes", "_freeze", "_book", "_instructor", "_site", "_extensions", ".lmm", ".quarto", ".gitignore",
    ),
    "course": ("pages", "site", "site.old"),  # work folder of `lmm course`
    "site": ("*",),  # may hold any files
}  # fmt: skip
_OF_SYSTEMS = (  # left by file managers and file systems
    ".DS_Store", "Thumbs.db", "desktop.ini", "._*", ".directory", "@eaDir", ".nfs*", ".fuse_hidden*",
)  # fmt: skip
_OF_PROJECTS = frozenset({"config.toml", "_quarto.yml", "_quarto.yaml", ".git"})
_REPOSITORY = frozenset({".git"})  # a site may publish the others, so only this protects it
_JUNCTION = 0xA0000003  # tag of Windows' junctions, which behave like links
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK | getattr(os, "O_BINARY", 0)


def is_link(path: Path) -> bool:
    """Return True for a symbolic link, or a junction of Windows."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def check_inside(root: Path, path: Path) -> None:
    """Raise FolderError unless a path is below a folder, with no link on the way."""
    if not path.is_relative_to(root) or ".." in path.relative_to(root).parts:
        raise FolderError(f"{path} does not lie in {root}: name a folder that does")
    place = root
    for part in path.relative_to(root).parts:
        place /= part
        if is_link(place):
            raise FolderError(_leads_anywhere(place))


def _leads_anywhere(link: str | Path) -> str:
    return f"{link} is a link, which may lead anywhere: remove it and run this again"


def own_place(root: Path, path: Path) -> Path:
    """Return the absolute path of a folder of ours. Raise FolderError for one in the project behind a link."""
    place = Path(os.path.normpath(root / path))
    if place.is_relative_to(root):
        check_inside(root, place)
    return place


def all_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield all entries below a folder that can be read, without following links."""
    waiting = [os.fspath(folder)]
    while waiting:
        with suppress(FileNotFoundError, PermissionError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                yield entry


def check_no_links(folder: Path) -> None:
    """Raise FolderError if a folder contains a link."""
    for entry in all_below(folder):
        if entry.is_symlink() or (sys.platform == "win32" and is_link(Path(entry.path))):
            raise FolderError(_leads_anywhere(entry.path))


def write_own(path: str | Path, data: bytes) -> None:
    """Write a file in a folder of ours. Raise FolderError for a link, and OSError."""
    handle = _open_own(path)
    try:
        while data:
            data = data[os.write(handle, data) :]
    finally:
        os.close(handle)


def _open_own(path: str | Path) -> int:
    if _NO_LINK:
        with suppress(FileExistsError):
            return os.open(path, _WRITE | os.O_EXCL, 0o666)
    if is_link(Path(path)):
        raise FolderError(f"{path} is a link, which is none of ours: remove it and run this again")
    return os.open(path, _WRITE, 0o666)


def make_marked(folder: Path, kind: str) -> None:
    """Create a folder of ours with its sentinel file, unless it exists. Raise OSError, and FolderError for other
    folders that are not empty.
    """
    if is_ours(folder, kind):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(folder / MARK, _WRITE, 0o666), "wb") as file:
        file.write(_line(kind))
        file.flush()
        os.fsync(file.fileno())


def hide_from_git(folder: Path) -> None:
    """Write a .gitignore that ignores the whole folder, if it has none. Raise OSError."""
    if not os.path.lexists(folder / ".gitignore"):
        write_own(folder / ".gitignore", b"*\n")


def mark_filled(folder: Path, kind: str) -> None:
    """Write the sentinel file into a folder inside one of ours, even if it is not empty. Raise OSError."""
    write_own(folder / MARK, _line(kind))


def has_mark(folder: Path, kind: str) -> bool:
    """Return True if a folder has a sentinel file of this kind. Raise OSError."""
    return _read_mark(folder) == _line(kind)


def is_ours(folder: Path, kind: str) -> bool:
    """Return True if a folder is ours, False if it is missing or empty. Raise FolderError for others, and OSError."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        file = next(place for place in (folder, *folder.parents) if place.exists())
        raise FolderError(f"{file} is a file, not a folder: move it away, or name another folder") from None
    mark = _read_mark(folder)
    if mark == _line(kind):
        return True
    if names and not (
        names == [MARK] and mark is not None and _line(kind).startswith(mark)
    ):  # a run was killed while writing the sentinel
        raise FolderError(_refusal(folder, mark))
    return False


def _line(kind: str) -> bytes:
    return f"{WORD} {kind}\n".encode()


def _read_mark(folder: Path) -> bytes | None:
    path = folder / MARK
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
            return file.read(LONGEST).replace(b"\r\n", b"\n")
    except FileNotFoundError:
        return None


def _refusal(folder: Path, mark: bytes | None) -> str:
    if mark is not None and mark.startswith(b"lmm-folder "):
        why = f"belongs to lmm for something else ({mark.decode('ascii', 'replace').strip()!r} in {MARK})"
    else:
        why = f"is not empty, and lmm has not made it (no {MARK} of ours is in it)"
    away = ""
    if not _holds(folder, "."):
        away = f", or move this one away (mv {shlex.quote(str(folder))} {shlex.quote(str(folder) + '.old')})"
    return f"{folder} {why}: nothing in it is touched; name a new or empty folder{away}"


def _holds(folder: Path, place: str) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))


def remove_marked(folder: Path, kind: str) -> None:
    """Remove a folder of ours, if it exists; its sentinel file goes last.

    Raise OSError, and FolderError (before any removal) for a folder that is not ours, is a link, or contains foreign
    files, a project, the working or home folder.
    """
    if not os.path.lexists(folder):
        return
    import shutil

    check_removable(folder, kind)
    for entry in sorted(folder.iterdir()):
        if entry.name == MARK:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    (folder / MARK).unlink(missing_ok=True)
    folder.rmdir()


def check_removable(folder: Path, kind: str) -> None:
    """Raise the error that `remove_marked` would raise before any removal."""
    check_inside(folder.parent, folder)
    is_ours(folder, kind)
    if foreign := list(_foreign_entries(folder, kind)):
        raise FolderError(
            f"{folder} is not removed: {', '.join(foreign[:3])} in it is not lmm's; move it away and run this again"
        )
    if protected := protected_in(folder, _REPOSITORY if kind in ("sample-course", "site", "course") else _OF_PROJECTS):
        raise FolderError(f"{folder} is not removed: {protected} lies in it; move that away and run this again")


def _foreign_entries(folder: Path, kind: str) -> Iterator[str]:
    patterns = (MARK, *REMOVABLE[kind], *_OF_SYSTEMS)
    for entry in sorted(folder.iterdir()):
        if is_link(entry) or not any(fnmatchcase(entry.name, pattern) for pattern in patterns):
            yield entry.name


def protected_in(folder: Path, projects: frozenset[str] = _REPOSITORY) -> str:
    """Return the protected place that a folder is or contains, or "".

    projects: files that mark a project
    """
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home fails where there is none)
    for name, place in (("the home folder", home), ("the working folder", ".")):
        if _holds(folder, place):
            return name
    for base, folders, files in os.walk(folder):
        if markers := projects & {*folders, *files}:
            return f"the project {base} ({', '.join(sorted(markers))})"
    return ""
