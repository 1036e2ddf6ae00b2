"""The commands that convert: lecture notes, metadata spelling, other formats to documents."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import MarkdownError, OutputError
from ...files.outputs import MARKDOWN, check_output, check_replaced, write_output
from ...files.walk import is_entered, is_inside
from ...files.writing import is_stream, make_folders
from ...installation import packaged_pandoc, pandoc_command, program_folders
from ...logging import LoggerBase, in_file, put, say
from ...markdown.blocks import Spelling
from ...markdown.visibility import ALL, KnitRules, header_rules
from ...scan.check.mistakes import read_documents, with_types
from ...scan.documents.passes import convert_work, knit_work
from ...settings.quarto_inputs import DocumentFinder
from ...study.outline import course_title
from ..arguments import (
    Writing,
    check_text,
    check_written,
    find_documents,
    folders_argument,
    needs_extra,
    output_option,
    paths_argument,
    project_at,
    writing_options,
)
from ..files import rewrite, work_file
from ..reports import ReportPrinter, exit_with_status, report_failure

if TYPE_CHECKING:
    from ...importing import ImportedDocument

# Endings of pandoc's output formats, first the text formats that need -s for a whole document
WHOLE = (".html", ".htm", ".xhtml", ".tex", ".latex", ".rtf", ".typ", ".rst", ".adoc", ".fb2")
BY_PANDOC = (*WHOLE, ".pdf", ".docx", ".odt", ".epub", ".pptx", ".ipynb", ".icml")


@click.command()
@folders_argument
@output_option("-o", "--output", help="The file to write, or the folder for several files.", folder=True)
@click.option("--keep", multiple=True, metavar="TYPE", help="A type of material to leave in (exercise, …).")
def knit(paths: tuple[Path, ...], finder: DocumentFinder, output: Path | None, keep: tuple[str, ...]) -> None:
    """Write the lecture notes, without RAG-only material."""
    logger = ReportPrinter()
    if output is not None and output.suffix.lower() in BY_PANDOC and not output.is_dir():
        command = _by_pandoc(paths, finder, output, keep)
        raise click.UsageError(f"{output}: lmm knit writes markdown; pandoc makes this file:\n\n    {command}")
    files = [path for path in find_documents(paths, logger, finder=finder) if not _is_made_before(path, paths, output)]
    of_folders = len(files) > 1 or any(path.is_dir() for path in paths)
    if (len(files) > 1 and output is None) or (of_folders and output is not None and output.is_file()):
        raise click.UsageError("Several files need a folder as output: -o FOLDER")
    targets = {path: _target(path, paths, output) for path in files}
    if len(set(targets.values())) < len(files):
        raise click.UsageError("Several files would be written to the same place: knit them one by one.")
    for notes in filter(None, targets.values()):
        check_written(notes, files, MARKDOWN, within=output if notes != output else None, text_follows=True)
    if keep and files:
        project = project_at(files[0])
        for notes in filter(None, targets.values()):
            _refuse_page(notes, project.root)
        _warn_of_types(keep, files, project.rules, logger)
    results = [(target, asyncio.run(work_file(path, knit_work(keep), logger))) for path, target in targets.items()]
    texts = [(target, text[1]) for target, text in results if text is not None]
    for target, text in texts:
        if target is not None:
            check_text(target, text)
    for target, text in texts:
        _write_notes(text, target, logger)
    exit_with_status(logger)


def _warn_of_types(keep: Sequence[str], files: Sequence[Path], rules: KnitRules, logger: LoggerBase) -> None:
    documents = [*read_documents(files)]
    types = with_types(rules, documents).types
    types = types.union(*(header_rules(document.header, rules).div_types for document in documents))
    for type in sorted({*keep} - types - {ALL}):
        logger.warning(f"--keep {type}: there is no such type of material here; there are {', '.join(sorted(types))}")


@click.command()
@writing_options
@click.option(
    "--to", default="div", show_default=True, type=click.Choice(["div", "native", "comment"]),
    help="The spelling to write.",
)  # fmt: skip
def convert(writing: Writing, to: Spelling) -> None:
    """Change how metadata blocks are written, in place."""
    rewrite(writing, convert_work(to), "converted")


def _by_pandoc(paths: Sequence[Path], finder: DocumentFinder, output: Path, keep: Sequence[str]) -> str:
    files = find_documents((*paths,), None, finder=finder)
    options = ["-s"] if output.suffix.lower() in WHOLE else []
    if any(file.suffix.lower() not in (".md", ".markdown") for file in files):
        options += ["-f", "markdown"]
    if len(files) > 1:  # otherwise titles replace each other
        folders = [path.resolve() for path in paths if path.is_dir() and len(paths) == 1]
        title = course_title(project_at(files[0]).root, *folders) or "".join(folder.name for folder in folders)
        options += ["-M", f"title={title}"] if title else []
    options += ["-M", f"lmm-keep={','.join(keep)}"] if keep else []
    names = [f"./{name}" if name.startswith("-") else name for name in map(str, [*files, output])]
    words = ["lmm", "pandoc", "-F", "lmm-knit", *options, *names[:-1], "-o", names[-1]]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _target(path: Path, paths: tuple[Path, ...], output: Path | None) -> Path | None:
    folders = [folder for folder in paths if folder.is_dir() and path.is_relative_to(folder)]
    if output is None or not (output.is_dir() or folders or len(paths) > 1):
        return output
    return output / (path.relative_to(folders[0]) if folders else path.name)


def _refuse_page(output: Path, root: Path) -> None:
    """Raise UsageError for an output with material left out of the notes that `lmm course` would publish as a page."""
    folders = output.parent.resolve().relative_to(root).parts if is_inside(output, root) else ("_",)
    if not is_stream(output) and all(map(is_entered, folders)):
        raise click.UsageError(
            f"{output}: with --keep this file would show what the notes leave out, and lmm course would publish it as "
            f"a page. Write it outside of {root}, or into a folder whose name begins with _"
        )


def _is_made_before(path: Path, paths: tuple[Path, ...], output: Path | None) -> bool:
    if output is None or not output.is_dir() or path in paths:
        return False
    lies_in = any(is_inside(output, folder) and not is_inside(folder, output) for folder in paths)
    return lies_in and is_inside(path, output)


def _write_notes(text: str, target: Path | None, logger: ReportPrinter) -> None:
    if target is None:
        put(text)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_output(target, text.encode("utf-8"))
    except OSError as error:
        report_failure(error, target, logger)


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="ARGUMENTS…")
def pandoc(arguments: tuple[str, ...]) -> None:
    """Run pandoc with our filters.

    lmm pandoc -F lmm-rag notes.md -o notes.md

    Filters: lmm-rag annotates, lmm-chat answers questions in the text, lmm-knit makes lecture notes, lmm-index
    indexes, lmm-pass runs your own pass."""
    if {"-h", "--help"} & {*arguments}:
        say(f"{click.get_current_context().get_help()}\n")
    program = packaged_pandoc() or shutil.which("pandoc")
    if program is None:
        raise click.ClickException(f"No pandoc was found: {pandoc_command()}")
    path = os.pathsep.join([*map(str, program_folders()), os.environ.get("PATH", "")])
    sys.exit(subprocess.run([program, *arguments], env={**os.environ, "PATH": path}).returncode)


# Other formats


@click.command("import")
@paths_argument
@output_option("-o", "--output", help="The file to write, or the folder for several files.", folder=True)
def import_files(paths: tuple[Path, ...], output: Path | None) -> None:
    """Convert Word, slides, web pages and PDF to markdown.

    notes.docx gives notes.md beside it, with its pictures in the folder notes_files. The header says
    that the document is imported (`~imported`). Nothing is fetched from the network."""
    logger = ReportPrinter()
    targets = {path: _import_target(path, output, len(paths)) for path in paths}
    if len(set(targets.values())) < len(paths):
        raise click.UsageError("Several files would be written to the same place: import them one by one.")
    if output is not None and output in targets.values():
        check_written(output, paths, MARKDOWN)
    with needs_extra("import"):
        for path, target in targets.items():
            _import(path, target, paths, logger)
    exit_with_status(logger)


def _import_target(path: Path, output: Path | None, count: int) -> Path:
    if output is None or count == 1:
        return output or path.with_suffix(".md")
    return output / path.with_suffix(".md").name


def _import(path: Path, target: Path, paths: tuple[Path, ...], logger: ReportPrinter) -> None:
    from ...importing import import_document

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
