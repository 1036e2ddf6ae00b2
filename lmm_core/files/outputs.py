"""Outputs: which file may be written, and which of them we have made.

A person who mistypes a name must not lose a text. An output is never written over what it is
made from, nor over markdown or configuration of the writer's, and its ending says what is in
it. What this program has written itself it may replace, as long as nobody has changed it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from .user import cache_folder
from .walk import SUFFIXES, TEXT_SUFFIXES, is_inside
from .writing import is_stream, replace_file, write_file

# Endings by what is in a file; the first one is the one to advise.
MARKDOWN = (*SUFFIXES[:-1], *sorted(TEXT_SUFFIXES - {suffix.lower() for suffix in SUFFIXES}))
HTML = (".html", ".htm")
TABLE = (".csv",)
PACKAGE = (".apkg",)
LINES_OF_JSON = (".jsonl",)
_CONFIGURATION = frozenset({".toml", ".yml", ".yaml", ".bib", ".csl"})


class OutputError(Exception):
    """A file that may not be written; the text says what to do."""


def check_output(
    output: Path,
    inputs: Iterable[Path],
    endings: Collection[str] = (),
    within: Path | None = None,
    may_replace: bool = False,
) -> None:
    """Look whether an output may be written. Devices and pipes may.

    inputs: the files and folders that it is made from; endings: those of what is written (none:
    any); within: the folder that it has to be in, links followed; may_replace: whether it may go
    over markdown and configuration, or is only added to. Raises OutputError."""
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
    if not may_replace and _holds_text(real) and not is_ours(output):
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


def _holds_text(path: Path) -> bool:
    """Whether a file holds what a writer may have written."""
    is_text = path.suffix.lower() in TEXT_SUFFIXES | _CONFIGURATION
    return is_text and path.is_file() and path.stat().st_size > 0


# What we have made


def write_output(output: Path, data: bytes) -> None:
    """Write an output, which the next run may replace. Raises OSError."""
    write_file(output, data)
    if not is_stream(output) and output.suffix.lower() in TEXT_SUFFIXES:
        with suppress(OSError):  # the next run will not know it, and ask
            record = _record(output)
            record.parent.mkdir(parents=True, exist_ok=True)
            replace_file(record, _mark(data))


def is_ours(output: Path) -> bool:
    """Whether a file holds just what this program has written into it, as an output, for this
    user."""
    try:
        return _record(output).read_bytes() == _mark(output.read_bytes())
    except OSError:
        return False


def is_made_again(output: Path, path: Path) -> bool:
    """Whether a file that was found is the output of a run before, which is no input of the next."""
    return _is_same(path, output) and is_ours(output)


def _record(output: Path) -> Path:
    """Where it is remembered what was written into a file: with the user, since a project's
    folder may be somebody else's."""
    name = hashlib.blake2b(os.fsencode(os.path.realpath(output)), digest_size=16).hexdigest()
    return cache_folder() / "outputs" / name


def _mark(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=20).hexdigest().encode()
