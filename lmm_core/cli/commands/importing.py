"""The command that converts other formats to documents."""

from __future__ import annotations

from pathlib import Path

import click

from ...errors import MarkdownError, OutputError
from ...files.create import make_folders
from ...files.outputs import MARKDOWN, check_output, check_replaced, write_output
from ...importing import ImportedDocument, import_document
from ...logging import in_file, say
from ..arguments import check_written, needs_extra, output_option, paths_argument
from ..reports import ReportPrinter, exit_with_status, report_failure


@click.command("import")
@paths_argument
@output_option("-o", "--output", help="The file to write, or the folder for several files.", folder=True)
def import_files(paths: tuple[Path, ...], output: Path | None) -> None:
    """Make markdown of Word, slides, web pages and PDF.

    notes.docx gives notes.md beside it, with its pictures in the folder notes_files. The header says
    that the document is imported (`~imported`). Nothing is fetched from the network."""
    logger = ReportPrinter()
    targets = {path: _target(path, output, len(paths)) for path in paths}
    if len(set(targets.values())) < len(paths):
        raise click.UsageError("Several files would be written to the same place: import them one by one.")
    if output is not None and output in targets.values():
        check_written(output, paths, MARKDOWN)
    with needs_extra("import"):
        for path, target in targets.items():
            _import(path, target, paths, logger)
    exit_with_status(logger)


def _target(path: Path, output: Path | None, count: int) -> Path:
    if output is None or count == 1:
        return output or path.with_suffix(".md")
    return output / path.with_suffix(".md").name


def _import(path: Path, target: Path, paths: tuple[Path, ...], logger: ReportPrinter) -> None:
    try:
        document = import_document(path, f"{target.stem}_files")
        _write(document, target, paths)
    except OSError as error:
        report_failure(error, path, logger)
    except MarkdownError as error:
        in_file(logger, path).error(str(error))
    except OutputError as error:
        logger.error(str(error))
    else:
        say(f"imported: {path} -> {target}", err=True)
        for remark in document.remarks:
            logger.warning(f"{path}: {remark}")


def _write(document: ImportedDocument, target: Path, paths: tuple[Path, ...]) -> None:
    files = {target.parent / f"{target.stem}_files" / name: data for name, data in document.pictures.items()}
    files[target] = document.text.encode("utf-8")
    for file, data in files.items():
        check_output(file, paths, text_follows=True)
        check_replaced(file, data)
    for file, data in files.items():
        make_folders(file.parent)
        write_output(file, data)
