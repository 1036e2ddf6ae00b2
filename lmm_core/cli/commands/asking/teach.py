"""The commands for learners: table of contents, study plan, cards."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import click

from ....files.outputs import MARKDOWN, PACKAGE, TABLE, is_ours, is_same_file, write_output
from ....files.writing import is_stream
from ....indexing.documents import encode_files
from ....indexing.passages import Material, build_material
from ....logging import counted, put, say
from ....retrieve.library import Library, reading_order
from ....settings.models import Models
from ....settings.project import Project
from ....settings.quarto_inputs import DocumentFinder
from ....store.vector_store import ScoredPoint
from ....study.cards import Card, cards_to_csv, cards_to_markdown, make_cards
from ....study.outline import course_title, make_outline, show_outline
from ....study.plan import make_plan, show_plan
from ...arguments import (
    check_written,
    exclude_option,
    find_documents,
    json_option,
    needs_extra,
    output_option,
    project_at,
    searched_project,
)
from ...reports import ReportPrinter, exit_with_status, print_json, warn, with_library

WIDEST = 100  # characters
FORMS = {"anki": PACKAGE, "csv": TABLE, "md": tuple(suffix.lower() for suffix in MARKDOWN)}  # with their file endings


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES…]")
@exclude_option
@click.option("--plan", "wish", metavar="WISH", help="Plan the reading: “three evenings”, “two hours on residuals”.")
@click.option("--level", type=click.IntRange(1), metavar="N", help="How many levels to list (1: only documents).")
@click.option("--summaries", is_flag=True, help="Add the summaries of the sections.")
@json_option
def toc(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    wish: str | None,
    level: int | None,
    summaries: bool,
    as_json: bool,
) -> None:
    """List contents with reading times, or plan how to study.

    The contents are those of FILES, or else of the index. A plan always uses the index."""
    if wish is not None and (level or summaries):
        raise click.UsageError("--plan excludes --level and --summaries")
    if wish is not None and not wish.strip():
        raise click.UsageError("The wish is empty: say how much time you have.")
    if wish is not None and paths:
        raise click.UsageError("--plan excludes FILES, because it searches the index")
    logger = ReportPrinter()
    if paths:
        files = find_documents(paths, logger, finder=finder)
        _print_outline(_read(files, project_at(files[0] if files else None), logger), level or 0, summaries, as_json)
        exit_with_status(logger)

    async def work(library: Library) -> None:
        if wish is not None:
            await _print_plan(library, wish, as_json)
        else:
            _print_outline(await library.material(), level or 0, summaries, as_json)

    with_library(searched_project(), Models(warn=warn), work)


def _print_outline(material: Material, level: int, summaries: bool, as_json: bool) -> None:
    entries = make_outline(material, level)
    if as_json:
        print_json([asdict(entry) for entry in entries])
    else:
        say(show_outline(entries, summaries, _width()), nl=False)


async def _print_plan(library: Library, wish: str, as_json: bool) -> None:
    plan = await make_plan(library, wish)
    if as_json:
        print_json({**asdict(plan), "minutes": plan.minutes})
    else:
        say(show_plan(plan, _width()), nl=False)


def _width() -> int:
    return min(shutil.get_terminal_size((88, 24)).columns, WIDEST) if sys.stdout.isatty() else 88


# Cards


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES…]")
@exclude_option
@click.option("--format", "form", type=click.Choice([*FORMS]),
              help="A package for Anki, a table, or markdown (default: by FILE's ending).")  # fmt: skip
@output_option(
    "-o", "--output", help="The file to write: .apkg, .csv, .md (default: NAME.apkg for anki, else standard output)."
)
def cards(paths: tuple[Path, ...], finder: DocumentFinder, form: str | None, output: Path | None) -> None:
    """Make study cards from questions, definitions and exercises.

    They are made from FILES, or else from the index. If you import them into Anki again, the earlier
    cards are updated."""
    logger, form = ReportPrinter(), form or _form_of(output)
    files = [
        path
        for path in find_documents(paths, logger, finder=finder)
        if path in paths or output is None or not (is_same_file(path, output) and is_ours(output))
    ]
    project = project_at(files[0] if files else paths[0] / "-") if paths else searched_project()
    name = _name(paths, project)
    output = output or (Path(f"{name}.apkg") if form == "anki" else None)
    if output is not None:
        check_written(output, files, FORMS[form])
    material = _read(files, project, logger) if paths else with_library(project, Models(warn=warn), Library.material)
    if deck := make_cards(material):
        title = course_title(project.root, *filter(Path.is_dir, paths)) or name
        _write(deck, form, title, output, project.root, logger)
    else:
        logger.error("No cards: there are no annotated questions (`lmm rag` writes them), definitions or exercises.")
    exit_with_status(logger)


def _form_of(output: Path | None) -> str:
    if output is None or is_stream(output):
        return "md"
    form = next((form for form, endings in FORMS.items() if output.suffix.lower() in endings), None)
    if form is None:
        raise click.UsageError(f"{output}: cards need a file that ends in .apkg, .csv or .md")
    return form


def _name(paths: tuple[Path, ...], project: Project) -> str:
    """Return the output's name, from the only path or the project: a title by somebody else could contain a path."""
    if len(paths) != 1:
        return project.root.name or "cards"
    path = paths[0].resolve()
    return (path.stem if path.is_file() else path.name) or "cards"


def _read(files: list[Path], project: Project, logger: ReportPrinter) -> Material:
    points = [ScoredPoint(chunk.uuid, chunk.payload) for chunk in encode_files(files, project_at, logger)]
    return build_material(points, reading_order(project))


def _write(deck: list[Card], form: str, name: str, output: Path | None, root: Path, logger: ReportPrinter) -> None:
    try:
        if form == "anki":
            assert output is not None
            with needs_extra("cards"):
                from ....study.anki import write_package
            write_package(deck, name, output, root)
        else:
            text = cards_to_csv(deck) if form == "csv" else cards_to_markdown(deck, name)
            write_output(output, text.encode("utf-8")) if output is not None else put(text)
    except OSError as error:
        logger.error(f"{output or 'standard output'}: {error.strerror or error}")
        return
    if output is not None:
        say(f"{output}: {_count(deck)}", err=True)


def _count(deck: list[Card]) -> str:
    types = [card.type for card in deck]
    parts = [counted(types.count(type), type) for type in dict.fromkeys(types)]
    return f"{counted(len(deck), 'card')} ({', '.join(parts)})"
