"""The command `lmm scan`: list sections, missing annotations and mistakes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ...logging import counted, in_file, one_line, say
from ...markdown.blocks import Problem
from ...markdown.parse import parse_markdown_text
from ...scan.annotations.overview import Overview, SectionOverview, overview
from ...scan.check.document import CheckedDocument, all_types
from ...scan.check.finding import CODES, WARNINGS, report_findings, wrong_settings
from ...scan.check.mistakes import find_mistakes
from ...settings.project import project_finder
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import find_documents, folders_argument, json_option
from ..reports import ReportPrinter, exit_with_status, load, print_json


def _codes() -> str:
    rows = [f"  {code + '*' * (code in WARNINGS):<18}{meaning}" for code, meaning in CODES.items()]
    return "\b\nCodes:\n" + "\n".join(rows)


@click.command(epilog=_codes())
@folders_argument
@click.option("--strict", is_flag=True, help="Exit with 1 if any mistake was found.")
@json_option
def scan(paths: tuple[Path, ...], finder: DocumentFinder, strict: bool, as_json: bool) -> None:
    """Show sections, missing annotations, and mistakes. Nothing is written.

    For a single file, its sections are listed; for several, each file has one line.
    Each mistake is shown as FILE:LINE: CODE and what to do. The exit status is 1 if something cannot
    be read or would be shown by mistake; with --strict, also for the codes marked with a *."""
    logger = ReportPrinter()
    files = find_documents(paths, logger, finder=finder)
    overviews = _look_over(files, logger)
    if as_json:
        print_json(
            [
                {"path": str(path), **asdict(document_overview), "findings": _as_rows(document_overview)}
                for path, document_overview in overviews.items()
            ]
        )
    else:
        describe = _describe if len(overviews) == 1 else _document_line
        for path, document_overview in overviews.items():
            say(describe(str(path), document_overview))
    for path, document_overview in overviews.items():
        report_findings(document_overview.findings, in_file(logger, path))
    if strict and any(document_overview.findings for document_overview in overviews.values()):
        sys.exit(1)
    exit_with_status(logger)


def _look_over(paths: Sequence[Path], logger: ReportPrinter) -> dict[Path, Overview]:
    project_at = project_finder()
    problems: dict[Path, list[Problem]] = {path: [] for path in paths}
    files = [file for path in paths if (file := load(path, logger)) is not None]
    documents = {file.path: CheckedDocument(parse_markdown_text(file.text, problems[file.path])) for file in files}
    types = all_types(documents.values())
    overviews = {}
    for path, document in documents.items():
        project = project_at(path)
        mistakes = find_mistakes(document, problems[path], replace(project.rules, types=types))
        overviews[path] = overview(document, [*wrong_settings(document.blocks, project), *mistakes], project.RAG)
    return overviews


def _as_rows(document_overview: Overview) -> list[dict[str, Any]]:
    return [{**asdict(finding), "level": finding.level} for finding in document_overview.findings]


def _describe(path: str, document_overview: Overview) -> str:
    lines = [
        one_line(f"{path}: {document_overview.title or '(no title)'}"),
        one_line(f"  {_size(document_overview)}; docid {document_overview.docid or '(none)'}"),
        *map(_section_line, document_overview.sections),
    ]
    if document_overview.missing:
        lines.append(f"  header: missing {', '.join(document_overview.missing)}")
    return "\n".join(lines)  # for a single write


def _document_line(path: str, document_overview: Overview) -> str:
    line = f"{path}: {document_overview.title or '(no title)'}; {_size(document_overview)}"
    for name, state in (("missing", "without annotations"), ("outdated", "outdated"), ("stale", "stale")):
        count = sum(bool(getattr(section, name)) for section in document_overview.sections)
        line += f"; {counted(count, 'section')} {state}" if count else ""
    return one_line(line)


def _size(document_overview: Overview) -> str:
    return f"{counted(document_overview.words, 'word')} in {counted(len(document_overview.sections), 'section')}"


def _section_line(section: SectionOverview) -> str:
    notes = [f"type {word}" for word in section.types]
    for name in ("missing", "outdated", "stale"):
        notes += [f"{name}: {', '.join(getattr(section, name))}"] if getattr(section, name) else []
    title = "  " * (section.level - 1) + (section.title or "(no title)")
    notes_text = one_line("; ".join(notes)) if notes else ""  # usually empty, so skip the work
    return f"  {section.line:>5}  {title:<52.52} {section.words:>5} words  {notes_text}".rstrip()
