"""Check whether a file may be written, and record the files that we wrote.

An output never replaces its source or another file of the writer's, and its ending has to fit. A file that this program
wrote may be replaced until somebody changes it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ..errors import OutputError
from .remembered import is_known, is_remembered, remember
from .walk import SUFFIXES, TEXT_SUFFIXES, is_inside
from .writing import is_stream, write_file

# The endings for each content; the first is the one to advise
MARKDOWN = (*SUFFIXES, *sorted(TEXT_SUFFIXES - set(SUFFIXES)))
HTML = (".html", ".htm")
TABLE = (".csv",)
PACKAGE = (".apkg",)
LINES_OF_JSON = (".jsonl",)
# Tells Anki how to read a table of cards; the ids let an import update existing cards:
# https://docs.ankiweb.net/importing/text-files.html#file-headers
COLUMNS = ("id", "front", "back", "tags", "source")
CSV_HEAD = f"#separator:Comma\n#html:false\n#columns:{','.join(COLUMNS)}\n#guid column:1\n#tags column:4\n"
# Found in our own pages and tables only, whichever machine made them
GENERATOR = '<meta name="generator" content="LM markdown">'  # in the head of our pages
_SIGNS = {GENERATOR.encode(): HTML, CSV_HEAD.encode(): TABLE}
_KIND = "outputs"


def check_output(
    output: Path,
    inputs: Iterable[Path],
    endings: Collection[str] = (),
    within: Path | None = None,
    may_replace: bool = False,
    text_follows: bool = False,
) -> None:
    """Check that an output may be written. Devices and pipes always may.

    inputs: files and folders that it is made from; endings: allowed ones (none: any); within: the folder it must lie
    in; may_replace: an existing file may be replaced or appended to; text_follows: `check_replaced` will be called.
    Raise OutputError."""
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
    if source := next((path for path in inputs if _is_same(output, path)), None):
        raise OutputError(f"{output}: this would be written over its own source, {source}; name another output")
    _check_ending(output, real, endings)
    if not (may_replace or text_follows):
        check_replaced(output)


def check_replaced(output: Path, data: bytes | None = None) -> None:
    """Check that an output is empty, written by us, or equal to `data` (None: unknown). Raise OutputError."""
    if is_stream(output) or not _holds_something(output) or is_ours(output) or _has_sign(output):
        return
    if data is None or output.read_bytes() != data:
        raise OutputError(
            f"{output}: the file exists, and lmm has not made it, or it was changed since; "
            "name another output, or remove it first"
        )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _check_ending(output: Path, real: Path, endings: Collection[str]) -> None:
    for path in (output, real):
        if endings and path.suffix.lower() not in {ending.lower() for ending in endings}:
            leads = "" if path.name == output.name else f" (a link to {real})"
            raise OutputError(f"{output}{leads}: the name has to end in {' or '.join(_advised(endings))}")


def _advised(endings: Collection[str]) -> list[str]:
    return [".md", ".qmd", ".txt"] if endings is MARKDOWN else [*endings]


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _has_sign(output: Path) -> bool:
    """Return True if a file carries our sign but is unknown to this user: another machine made it."""
    if is_known(_KIND, output):  # known, so it was changed since
        return False
    with output.open("rb") as file:
        head = file.read(400)
    return any(sign in head and output.suffix.lower() in endings for sign, endings in _SIGNS.items())


# What we have made


def write_output(output: Path, data: bytes) -> None:
    """Write an output, which the next run may replace. Raise OSError if it cannot be written."""
    write_file(output, data)
    remember_output(output, data)


def remember_output(output: Path, data: bytes) -> None:
    """Remember the content of an output, or what pandoc is about to write for a filter."""
    if not is_stream(output):
        remember(_KIND, output, data)


def is_ours(output: Path) -> bool:
    """Return True if a file holds exactly what this program wrote there as an output for this user."""
    try:
        return is_known(_KIND, output) and is_remembered(_KIND, output, output.read_bytes())
    except OSError:
        return False


def is_made_again(output: Path, path: Path) -> bool:
    """Return True if a file found as an input is the output of an earlier run."""
    return _is_same(path, output) and is_ours(output)
