"""Check output files before they are written, and remember those that were.

An output never replaces a source or another file of the writer, only an earlier output that is unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import OutputError
from .names import cache_folder
from .walk import SUFFIXES, TEXT_SUFFIXES, is_inside
from .writing import is_stream, replace_file, write_file

# Suffixes for each kind of output
MARKDOWN = (*SUFFIXES, *sorted(TEXT_SUFFIXES - set(SUFFIXES)))
HTML = (".html", ".htm")
TABLE = (".csv",)
PACKAGE = (".apkg",)
LINES_OF_JSON = (".jsonl",)
# Anki's header of a table of cards; the ids let it update earlier cards:
# https://docs.ankiweb.net/importing/text-files.html#file-headers
COLUMNS = ("id", "front", "back", "tags", "source")
CSV_HEAD = f"#separator:Comma\n#html:false\n#columns:{','.join(COLUMNS)}\n#guid column:1\n#tags column:4\n"
GENERATOR = '<meta name="generator" content="LM markdown">'


def check_output(
    output: Path,
    inputs: Iterable[Path],
    endings: Collection[str] = (),
    within: Path | None = None,
    may_replace: bool = False,
    text_follows: bool = False,
) -> None:
    """Raise OutputError if an output must not be written. Streams may be.

    inputs: files that must not be overwritten
    endings: allowed suffixes; if empty, all are
    within: folder out of which no link may lead
    may_replace: allow replacing any other file
    text_follows: the caller checks the replaced file by `check_replaced`
    """
    if is_stream(output):
        return
    if output.is_dir():
        raise OutputError(f"{output}: this is a folder; name a file in it")
    real = Path(os.path.realpath(output))
    if may_replace and output.exists() and output.stat().st_nlink > 1:
        raise OutputError(
            f"{output}: the file has another name (a hard link), whose text would change too; name another output"
        )
    if within is not None and not is_inside(output, within):
        raise OutputError(f"{output}: this link leads out of {within}, to {real}; remove it, or name another output")
    if source := next((path for path in inputs if is_same_file(output, path)), None):
        raise OutputError(f"{output}: this would overwrite its own source, {source}; name another output")
    _check_ending(output, real, endings)
    if not (may_replace or text_follows):
        check_replaced(output)


def check_replaced(output: Path, data: bytes | None = None) -> None:
    """Raise OutputError unless an output is empty, equal to `data`, or as lmm has written it before."""
    is_filled = output.is_file() and output.stat().st_size > 0
    if is_stream(output) or not is_filled or is_ours(output):
        return
    if data is None or output.read_bytes() != data:
        raise OutputError(
            f"{output}: the file exists, but lmm has not made it, or it has changed since; "
            "name another output, or remove it first"
        )


def is_same_file(path: Path, other: Path) -> bool:
    """Return True if two paths lead to the same file, for example by a link or where case does not matter."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def _check_ending(output: Path, real: Path, endings: Collection[str]) -> None:
    for path in (output, real):
        if endings and path.suffix.lower() not in {ending.lower() for ending in endings}:
            leads = "" if path.name == output.name else f" (a link to {real})"
            advised = (".md", ".qmd", ".txt") if endings is MARKDOWN else endings
            raise OutputError(f"{output}{leads}: the name has to end in {' or '.join(advised)}")


def write_output(output: Path, data: bytes) -> None:
    """Write an output, which the next run may replace. Raise OSError."""
    write_file(output, data)
    remember_output(output, data)


def remember_output(output: Path, data: bytes) -> None:
    """Record the content of an output, if possible, so that a later run may replace it.

    The record is in the user's cache, since one in the project could be forged."""
    if is_stream(output):
        return
    record = _record(output)
    with suppress(OSError):
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(record, _digest(data))


def is_ours(output: Path) -> bool:
    """Return True for a file that lmm wrote for this user, and that has not changed since."""
    try:
        record = _record(output).read_bytes()
        return record == _digest(output.read_bytes())
    except OSError:
        return False


def _record(output: Path) -> Path:
    import hashlib

    name = hashlib.blake2b(os.fsencode(os.path.realpath(output)), digest_size=16).hexdigest()
    return cache_folder() / "outputs" / name


def _digest(data: bytes) -> bytes:
    import hashlib

    return hashlib.blake2b(b"%d:" % len(data) + data, digest_size=20).hexdigest().encode()
