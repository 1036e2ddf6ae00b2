"""Overviews of documents with their mistakes, of which some are only seen beside the other documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache

from ...markdown.blocks import Problem
from ...markdown.files import MarkdownDocument, MarkdownFile
from ...markdown.parse import parse_markdown_text
from ...scan.annotations.overview import Overview, SectionOverview, overview
from ...scan.check.finding import Finding
from ...scan.check.mistakes import find_mistakes
from ...scan.check.type_words import nearly_more_used
from ...settings.project import Project, project_finder, wrong_settings
from .remember import digest, key_text, remembered
from .types import count_all_types


def look_over(files: Mapping[str, MarkdownFile]) -> dict[str, Overview]:
    """Return the overview of each file. What is known of an unchanged file is not made again. Raise ConfigError."""
    documents = [*map(MarkdownDocument, files.values())]
    used = count_all_types(documents)
    near = repr((sorted(used), nearly_more_used(used))).encode()
    project_at = project_finder()
    settings = cache(lambda folder: digest(project_at(folder / "-")))
    projects = [project_at(file.path) for file in files.values()]
    things = [
        (settings(project.root) + key_text(one), (one.file, project))
        for one, project in zip(documents, projects, strict=True)
    ]
    rows = remembered("overview", near, things, lambda thing: asdict(_overview_of(*thing, used)))
    return {name: _overview_from(row) for name, row in zip(files, rows, strict=True)}


def _overview_of(file: MarkdownFile, project: Project, used: Counter[str]) -> Overview:
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    findings = find_mistakes(blocks, problems, replace(project.rules, types=frozenset(used)), used)
    return overview(blocks, findings=[*wrong_settings(blocks, project), *findings])


def _overview_from(row: dict[str, list[dict[str, int]]]) -> Overview:
    """Return an overview that was written as JSON."""
    seen = Overview(**row)  # type: ignore[arg-type]  # its two lists follow
    seen.sections = [SectionOverview(**section) for section in row["sections"]]  # type: ignore[arg-type]
    seen.findings = [Finding(**finding) for finding in row["findings"]]  # type: ignore[arg-type]
    return seen
