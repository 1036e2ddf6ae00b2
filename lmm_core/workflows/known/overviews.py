"""Overviews of documents with their mistakes, of which some are only seen beside the other documents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from ...markdown.blocks import Problem
from ...markdown.files import MarkdownFile, root_of
from ...markdown.parse import parse_markdown_text
from ...scan.annotations.overview import Overview, SectionOverview, overview
from ...scan.check.finding import Finding
from ...scan.check.mistakes import find_mistakes
from ...scan.check.type_words import count_types, nearly_more_used
from ...settings.project import Project, load_project
from ..passes import wrong_settings
from .cache import Known, digest, key_of


def look_over(files: Mapping[str, MarkdownFile]) -> dict[str, Overview]:
    """Return the overview of each file. What is known of an unchanged file is not made again. Raise ConfigError."""
    known = Known()
    used = _count_types(files, known)
    found = _look_over(files, used, known)
    known.close()
    return found


def _count_types(files: Mapping[str, MarkdownFile], known: Known) -> Counter[str]:
    """Return how many parts of all files have each type."""
    keys = {name: key_of("types", file.data) for name, file in files.items()}
    counts = known.find(set(keys.values()))
    new = {
        keys[name]: dict(count_types([parse_markdown_text(file.text)]))
        for name, file in files.items()
        if keys[name] not in counts
    }
    known.keep(new)
    counts |= new
    return sum((Counter(counts[key]) for key in keys.values()), Counter())


def _look_over(files: Mapping[str, MarkdownFile], used: Counter[str], known: Known) -> dict[str, Overview]:
    project_of = _project_finder()
    near = repr((sorted(used), nearly_more_used(used))).encode()
    settings = cache(lambda root: digest(project_of(root)))
    root = cache(root_of)
    roots = {name: root(Path(os.path.realpath(file.path)).parent) for name, file in files.items()}
    keys = {name: key_of("overview", file.data, settings(roots[name]), near) for name, file in files.items()}
    found = {key: _overview_from(row) for key, row in known.find(set(keys.values())).items()}
    new = {}
    for name, file in files.items():
        if keys[name] not in found:
            new[keys[name]] = found[keys[name]] = _overview_of(file, project_of(roots[name]), used)
    known.keep({key: asdict(seen) for key, seen in new.items()})
    return {name: found[key] for name, key in keys.items()}


def _project_finder() -> Callable[[Path], Project]:
    """Return a function that reads the project in a folder, each once."""
    return cache(lambda root: load_project(root / "-"))


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
