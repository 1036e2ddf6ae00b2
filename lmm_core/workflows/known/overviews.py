"""Overviews of documents with their mistakes, of which some are only seen beside the other documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...markdown.blocks import Problem
from ...markdown.files import MarkdownFile
from ...markdown.parse import parse_markdown_text
from ...scan.annotations.overview import Overview, SectionOverview, overview
from ...scan.check.finding import Finding
from ...scan.check.mistakes import find_mistakes
from ...scan.check.type_words import nearly_more_used
from ...settings.project import Project, project_finder, wrong_settings
from .cache import Known
from .documents import Load, find_in_documents, see_documents
from .remember import digest
from .types import count_known_types


def look_over(paths: Sequence[Path], load: Load) -> dict[Path, Overview]:
    """Return the overview of each file that can be read. An unchanged file whose overview is known is not read, nor is
    that made again. Raise ConfigError."""
    project_at = project_finder()
    settings = cache(lambda folder: digest(project_at(folder / "-")))

    def look(file: MarkdownFile) -> tuple[Any, ...]:  # with names, it would take twice as long to read again
        return astuple(_overview_of(file, project_at(file.path), used))

    def beside(path: Path) -> list[bytes]:
        return [settings(project_at(path).root)]

    with closing(Known()) as known:
        documents = see_documents(paths, load, known)
        used = count_known_types(documents, known)
        near = repr((sorted(used), nearly_more_used(used))).encode()
        rows = find_in_documents("overview", near, documents, look, known, beside)
    return {path: _overview_from(row) for path, row in rows.items()}


def _overview_of(file: MarkdownFile, project: Project, used: Counter[str]) -> Overview:
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    findings = find_mistakes(blocks, problems, replace(project.rules, types=frozenset(used)), used)
    return overview(blocks, findings=[*wrong_settings(blocks, project), *findings])


def _overview_from(row: Sequence[Any]) -> Overview:
    """Return an overview that was written as JSON."""
    seen = Overview(*row)
    seen.sections = [SectionOverview(*section) for section in seen.sections]  # type: ignore[misc]
    seen.findings = [Finding(*finding) for finding in seen.findings]  # type: ignore[misc]
    return seen
