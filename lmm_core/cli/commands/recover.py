"""The command that writes back what pandoc has torn."""

from __future__ import annotations

from pathlib import Path

import click

from ...files.recovery import Record, find_record, forget
from ...logging import say
from ...markdown.files import save_bytes
from ..reports import Told, leave, tell


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--before", is_flag=True, help="Write what stood there before, in place of what pandoc was writing.")
@click.option("--keep", is_flag=True, help="The file is as you want it: leave it, and forget the other texts.")
def recover(file: Path, before: bool, keep: bool) -> None:
    """Write a file back, byte for byte, that pandoc was ended while writing."""
    if before and keep:
        raise click.UsageError("--before and --keep exclude each other")
    logger = Told()
    try:
        record = find_record(file)
        if record is None:
            say(f"{file}: nothing is known of a text that pandoc was writing", err=True)
        elif keep:
            forget(record)
            say(f"{file}: left as it is", err=True)
        else:
            _write_back(file, record, before, logger)
    except OSError as error:
        tell(error, file, logger)
    leave(logger)


def _write_back(file: Path, record: Record, before: bool, logger: Told) -> None:
    """Write the text that was being written, or the one before; not over anything else."""
    data, wanted = file.read_bytes(), record.before if before else record.wanted
    is_torn = record.explains(data, file.stat().st_mtime_ns) or record.wanted.startswith(data)
    if data == wanted or not (is_torn or before):
        say(f"{file}: is whole; nothing was written", err=True)
    elif not is_torn and data != record.after:
        logger.error(f"{file}: was edited after pandoc wrote it; the text before is at the end of {record.place}")
    else:
        save_bytes(file, wanted)
        say(f"{file}: recovered, {len(wanted):,} bytes", err=True)
