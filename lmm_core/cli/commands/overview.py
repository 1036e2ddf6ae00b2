"""The command that shows what is in documents, what is missing, and mistakes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ...logging import counted, in_file, one_line, say
from ...markdown.blocks import Problem
from ...markdown.files import MarkdownFile
from ...markdown.parse import parse_markdown_text
from ...markdown.rag_only import KnitRules
from ...scan.annotations.overview import Overview, overview
from ...scan.check.finding import CODES, WARNINGS, report_findings
from ...scan.check.mistakes import find_mistakes
from ...scan.check.type_words import count_types
from ...settings.project import load_project, wrong_settings
from ...settings.quarto_inputs import DocumentFinder
from ...workflows.typos import with_types
from ..arguments import config_checked, find_documents, folders_argument, json_option
from ..reports import ReportPrinter, exit_with_status, load, print_json


def _codes() -> str:
    """Return the list of the codes of mistakes, for the help."""
    rows = [f"  {code + '*' * (code in WARNINGS):<18}{what}" for code, what in CODES.items()]
    return "\b\nCodes:\n" + "\n".join(rows)


@click.command(epilog=_codes())
@folders_argument
@click.option("--strict", is_flag=True, help="Exit with 1 if anything at all was found.")
@json_option
def scan(paths: tuple[Path, ...], finder: DocumentFinder, strict: bool, as_json: bool) -> None:
    """Show title, sections, words, what is missing, and mistakes. Nothing is written.

    Each mistake is shown as FILE:LINE: CODE and what to do. The exit status is 1 if something is not
    read or would be shown by mistake; with --strict, also for the codes marked with a *."""
    logger, found = ReportPrinter(), {}
    read = [load(path, logger) for path in find_documents(paths, logger, finder=finder)]
    files = {str(file.path): file for file in read if file is not None}
    documents = [parse_markdown_text(file.text) for file in files.values()]
    types, used = with_types(KnitRules(), documents).types, count_types(documents)
    for name, file in files.items():
        found[name] = _look_over(file, types, used)
    if as_json:
        print_json([{"path": path, **asdict(seen), "findings": _as_rows(seen)} for path, seen in found.items()])
    else:
        for name, seen in found.items():
            _print_overview(name, seen)
    for name, seen in found.items():
        report_findings(seen.findings, in_file(logger, name))
    if strict and any(seen.findings for seen in found.values()):
        sys.exit(1)
    exit_with_status(logger)


def _look_over(file: MarkdownFile, types: frozenset[str], used: Mapping[str, int]) -> Overview:
    """Return the overview of a file. types, used: those of the parts of all files, and how often each is used."""
    project = config_checked(lambda: load_project(file.path))
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    findings = find_mistakes(blocks, problems, replace(project.rules, types=types), used)
    return overview(blocks, findings=[*wrong_settings(blocks, project), *findings])


def _as_rows(seen: Overview) -> list[dict[str, Any]]:
    return [{**asdict(one), "level": one.level} for one in seen.findings]


def _print_overview(path: str, seen: Overview) -> None:
    say(one_line(f"{path}: {seen.title or '(no title)'}"))
    size = f"{counted(seen.words, 'word')} in {counted(len(seen.sections), 'section')}"
    say(one_line(f"  {size}; docid {seen.docid or '(none)'}"))
    for section in seen.sections:
        notes = [f"type {word}" for word in section.types]
        for name in ("missing", "outdated", "stale"):
            notes += [f"{name}: {', '.join(getattr(section, name))}"] if getattr(section, name) else []
        title = "  " * (section.level - 1) + (section.title or "(no title)")
        say(f"  {section.line:>5}  {title:<52.52} {section.words:>5} words  {one_line('; '.join(notes))}".rstrip())
    if seen.missing:
        say(f"  header: missing {', '.join(seen.missing)}")
