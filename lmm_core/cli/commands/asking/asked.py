"""The command `lmm asked`: what students asked, as `lmm serve` has recorded it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from ....asked.recordings import Recordings, recordings_path
from ....errors import RecordingError
from ....files.outputs import LINES_OF_JSON, write_output
from ....logging import counted, put, say
from ...arguments import check_written, output_option, searched_project
from ...reports import ReportPrinter, report_failure


@click.group()
def asked() -> None:
    """Read, export and delete what students asked.

    It is recorded by lmm serve, if record in the section [serve] of config.toml says so."""


@contextmanager
def opened_recordings() -> Iterator[Recordings]:
    """Open the recordings of the working folder's project, for the block.

    Its RecordingError ends the command with a message."""
    try:
        with closing(Recordings(recordings_path(searched_project().root))) as recordings:
            yield recordings
    except RecordingError as error:
        raise click.ClickException(str(error)) from None


@asked.command("export")
@output_option("-o", "--output", help="The file to write (.jsonl); by default, standard output.")
def export_recordings(output: Path | None) -> None:
    """Print all recordings as lines of JSON, which lmm bench --questions reads."""
    from ....asked.exports import export_lines

    if output is not None:
        check_written(output, (), LINES_OF_JSON)
    with opened_recordings() as recordings:
        turns = recordings.turns()
    if not turns:
        say("nothing is recorded: record in the section [serve] of config.toml says whether lmm serve does", err=True)
    if output is None:
        put(export_lines(turns))
        return
    try:
        write_output(output, export_lines(turns).encode("utf-8"))
    except OSError as error:
        report_failure(error, output, ReportPrinter())
        sys.exit(1)
    say(f"written: {output} ({counted(len(turns), 'question')})", err=True)


@asked.command("delete")
@click.option("--yes", is_flag=True, help="Do not ask first.")
def delete_recordings(yes: bool) -> None:
    """Delete all recordings for good."""
    with opened_recordings() as recordings:
        if not yes and not click.confirm(f"Delete everything in {recordings.path} for good?", err=True):
            sys.exit(1)
        count = recordings.delete()
    say(f"deleted: {counted(count, 'question')}", err=True)


@asked.command("forget")
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
def forget_word(words: tuple[str, ...]) -> None:
    """Delete for good each question with its answer and comment in which WORD occurs.

    Several words are looked for as they stand, one after the other. Case does not matter."""
    word = " ".join(words)
    with opened_recordings() as recordings:
        count = recordings.forget(word)
    say(f"forgotten: {counted(count, 'question')} with {word!r}", err=True)
