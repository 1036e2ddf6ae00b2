"""Outputs: which file may be written, and which of them we have made.

A person who mistypes a name must not lose a file. An output is never written over what it is
made from, nor over any other file of the writer's, and its ending says what is in it. What this
program has written itself it may replace, as long as nobody has changed it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from ..errors import OutputError
from .remembered import is_known, is_remembered, remember
from .walk import SUFFIXES, TEXT_SUFFIXES, is_inside
from .writing import is_stream, write_file

# Endings by what is in a file; the first one is the one to advise.
MARKDOWN = (*SUFFIXES, *sorted(TEXT_SUFFIXES - set(SUFFIXES)))
HTML = (".html", ".htm")
TABLE = (".csv",)
PACKAGE = (".apkg",)
LINES_OF_JSON = (".jsonl",)
# What tells Anki how to read a table of cards; ids make an import update the cards that are there:
# https://docs.ankiweb.net/importing/text-files.html#file-headers
COLUMNS = ("id", "front", "back", "tags", "source")
CSV_HEAD = f"#separator:Comma\n#html:false\n#columns:{','.join(COLUMNS)}\n#guid column:1\n#tags column:4\n"
# What is in our own pages and tables and in no others, wherever they were made
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
    """Look whether an output may be written. Devices and pipes may.

    inputs: the files and folders that it is made from; endings: those of what is written (none:
    any); within: the folder that it has to be in, links followed; may_replace: whether it may go
    over what is there, or is only added to; text_follows: whether `check_replaced` is called once
    it is known what will be written. Raises OutputError."""
    if is_stream(output):
        return
    if output.is_dir():
        raise OutputError(f"{output}: a folder; name a file in it")
    real = Path(os.path.realpath(output))
    if may_replace and output.exists() and output.stat().st_nlink > 1:
        raise OutputError(
            f"{output}: has another name, too (a hard link), whose text would change; name another output"
        )
    if within is not None and not is_inside(output, within):
        raise OutputError(f"{output}: leads out of {within}, to {real}; remove the link, or name another output")
    if source := next((path for path in inputs if _is_same(output, path)), None):
        raise OutputError(f"{output}: would be written over its own source, {source}; name another output")
    _check_ending(output, real, endings)
    if not (may_replace or text_follows):
        check_replaced(output)


def check_replaced(output: Path, data: bytes | None = None) -> None:
    """Look whether what an output holds now may go: nothing, what we have made, or what is to be
    written (data; None: not known yet). Raises OutputError."""
    if is_stream(output) or not _holds_something(output) or is_ours(output) or _has_sign(output):
        return
    if data is None or output.read_bytes() != data:
        raise OutputError(
            f"{output}: is there already, and lmm has not made it, or it was changed since; "
            "name another output, or remove it first"
        )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_ending(output: Path, real: Path, endings: Collection[str]) -> None:
    for path in (output, real):
        if endings and path.suffix.lower() not in {ending.lower() for ending in endings}:
            leads = "" if path.name == output.name else f" (a link to {real})"
            raise OutputError(f"{output}{leads}: what is written has to end in {' or '.join(_advised(endings))}")


def _advised(endings: Collection[str]) -> list[str]:
    return [".md", ".qmd", ".txt"] if endings is MARKDOWN else [*endings]


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _has_sign(output: Path) -> bool:
    """Whether a file that this user has not made carries our sign: another machine has made it."""
    if is_known(_KIND, output):  # and changed since
        return False
    with output.open("rb") as file:
        head = file.read(400)
    return any(sign in head and output.suffix.lower() in endings for sign, endings in _SIGNS.items())


# What we have made


def write_output(output: Path, data: bytes) -> None:
    """Write an output, which the next run may replace. Raises OSError."""
    write_file(output, data)
    remember_output(output, data)


def remember_output(output: Path, data: bytes) -> None:
    """Remember what is in an output, or what pandoc is about to write into it for a filter."""
    if not is_stream(output):
        remember(_KIND, output, data)


def is_ours(output: Path) -> bool:
    """Whether a file holds just what this program has written into it, as an output, for this
    user."""
    try:
        return is_known(_KIND, output) and is_remembered(_KIND, output, output.read_bytes())
    except OSError:
        return False


def is_made_again(output: Path, path: Path) -> bool:
    """Whether a file that was found is the output of a run before, which is no input of the next."""
    return _is_same(path, output) and is_ours(output)
