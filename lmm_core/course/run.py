"""Run the steps that build a course site: check, annotate, render, check for leaks, index, publish.

A failed step stops the run, so the index is refreshed and the site replaced only if nothing leaked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import CourseError, LmmError, RenderError
from ..files.walk import RENDERED, is_inside
from ..logging import ListLogger, LoggerBase, Progress, Report, counted, report_failure
from ..markdown.files import project_root
from ..quarto.after_render import refresh_index, report_leaks, write_site_box
from ..quarto.pages import Page, name_in_project, project_options, read_pages
from ..settings.quarto_inputs import DocumentFinder, find_inputs, only_inside
from ..settings.quarto_project import mapping_in, project_file, read_project
from ..settings.tables import CONFIG_NAME, IN_COURSE
from .publish import Workshop

CLEANED = ("website", "book", "manuscript")  # project types whose output Quarto deletes before rendering
OUTPUTS = {"book": "_book", "manuscript": "_manuscript"}  # by Quarto project type, default _site


@dataclass
class Course:
    """A course and its build settings.

    workshop: where the site is built before it replaces the published one
    settings: of `_quarto.yml`, or {}
    annotate: annotate all documents, whatever `_quarto.yml` says
    use_quarto: use Quarto for a Quarto project, if installed"""

    folder: Path
    workshop: Workshop
    logger: LoggerBase
    settings: dict[str, Any] = field(default_factory=dict)
    annotate: bool = False
    use_quarto: bool = True
    progress: AbstractContextManager[Progress | None] = field(default_factory=nullcontext)

    @property
    def quarto(self) -> str | None:
        """The path of Quarto, or None if it does not render this course."""
        return shutil.which("quarto") if self.use_quarto and project_file(self.folder) else None

    def pages(self) -> list[Page]:
        """Read the course's documents and included files."""
        return read_pages(course_documents(self.folder), self.folder)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step.

    summary: what it did, or why it was skipped; "" if it failed"""

    step: str
    ok: bool
    seconds: float
    summary: str
    reports: tuple[Report, ...]
    skipped: bool = False


class _Skipped(str):
    __slots__ = ()


def open_course(folder: Path, output: Path | None, logger: LoggerBase, use_quarto: bool = True) -> Course:
    """Return the course in a folder. Raise CourseError, FolderError and QuartoError.

    output: the published folder; by default as in `_quarto.yml`, or `_site`"""
    folder = folder.resolve()
    if project_file(folder) is None and (project := next(filter(project_file, folder.parents), None)):
        raise CourseError(f"{folder} is a part of the Quarto project {project}: run lmm course on that folder")
    if (root := project_root(folder / "-")) != folder and (root / CONFIG_NAME).is_file():
        logger.info(
            f"{folder.name} is a part of the course in {os.path.relpath(root)}, whose {CONFIG_NAME} is there: "
            "this makes a site of the part alone"
        )
    settings = read_project(folder)
    published = Path.cwd() / output if output else folder / output_dir(folder)
    is_cleaned = output is None and mapping_in(settings, "project").get("type") in CLEANED
    workshop = Workshop(folder, published, may_remove=is_cleaned)
    workshop.check()
    return Course(folder, workshop, logger, settings, use_quarto=use_quarto)


def output_dir(folder: Path) -> str:
    """Return the configured output folder. Raise QuartoError, and CourseError for one outside the project."""
    project = mapping_in(read_project(folder), "project")
    name = str(project.get("output-dir") or OUTPUTS.get(str(project.get("type")), "_site"))
    if not is_inside(folder / name, folder):
        raise CourseError(f"output-dir: {name} leads out of the folder. To allow that, name it: --output {name}")
    return name


def course_documents(folder: Path, logger: LoggerBase | None = None) -> list[Path]:
    """Return the documents that become pages: in a Quarto project those that Quarto renders, else as `[files]` says.

    Raise QuartoError and ConfigError."""
    documents = only_inside(find_inputs(folder, logger), folder, logger)
    if project_file(folder):
        return documents
    finder = DocumentFinder()
    return [path for path in documents if finder.why_not(path) != "pattern"]


# Steps


def check(course: Course) -> str:
    """Check notes and project. Raise RenderError with a line per problem, and CourseError without documents."""
    from ..quarto.before_render import find_problems
    from ..quarto.native_blocks import find_native

    problems: list[str] = []
    pages = read_pages(course_documents(course.folder, course.logger), course.folder, problems)
    if not pages and not problems:
        raise CourseError(f"{course.folder}: there are no documents in it ({', '.join(RENDERED)})")
    problems += _project_problems(course, pages)
    if course.settings:
        problems += find_native((name_in_project(page.file.path, course.folder), page) for page in pages)
    problems += find_problems(pages, course.folder)
    if problems:
        raise RenderError("\n".join(dict.fromkeys(problems)))
    return counted(sum(not page.included for page in pages), "document")


def _project_problems(course: Course, pages: Sequence[Page]) -> list[str]:
    if not course.quarto:
        return _unrun_cells(course, pages)
    from ..quarto.setup import check_project

    findings = [
        finding
        for finding in check_project(course.folder)
        if not finding.ok and finding.name in ("extension", "filters")
    ]
    return [
        f"{finding.name}: {finding.result}" + (f"\n{finding.paste}" if finding.paste else "") for finding in findings
    ]


def _unrun_cells(course: Course, pages: Sequence[Page]) -> list[str]:
    if not course.use_quarto or not project_file(course.folder):
        return []
    count = _count_cells(pages)
    advice = "Install it (pip install quarto-cli), or show the code without results: lmm course --no-quarto"
    return [f"Quarto is not installed, so {counted(count, 'cell')} would not be run. {advice}"] if count else []


def _count_cells(pages: Sequence[Page]) -> int:
    from .text import count_cells  # with all that indexes: not for the other steps

    return sum(count_cells(page.file) for page in pages)


def annotate(course: Course) -> str:
    """Annotate the documents for which `_quarto.yml` or the course says so."""
    pages = [page for page in course.pages() if course.annotate or page.options.annotate]
    if not pages:
        how = "annotate: true under lmm: in _quarto.yml" if course.settings else "lmm rag"
        return _Skipped(f"to annotate the notes: {how}")
    from ..quarto.before_render import annotate_pages

    annotate_pages(pages, course.folder, course.logger)
    return counted(len(pages), "document")


def render(course: Course) -> str:
    """Render the site into the workshop. Raise CourseError."""
    course.workshop.open()
    if course.quarto:
        return _render_with_quarto(course, course.quarto)
    from .site import write_site

    pages = course.pages()
    with course.progress as progress:
        count = write_site(pages, course.folder, course.workshop.site, course.settings, course.logger, progress)
    without = " (navigation, theme and formats of _quarto.yml need Quarto)" if course.settings else ""
    cells = _count_cells(pages)
    results = f"; {counted(cells, 'code cell')} shown without results" if cells else ""
    return f"{counted(count, 'page')}, by pandoc{without}{results}"


def _render_with_quarto(course: Course, quarto: str) -> str:
    target = os.path.relpath(course.workshop.site, course.folder)
    result = subprocess.run(
        [quarto, "render", "--output-dir", target],
        cwd=course.folder,
        env={**os.environ, IN_COURSE: "1"},
        stdout=2,
        check=False,
    )
    if result.returncode:
        raise CourseError(f"quarto render failed (exit status {result.returncode}): see its messages above")
    write_site_box(course.workshop.site, course.folder, course.logger)  # Quarto 1.4 does not run extensions' scripts
    pages = len(list(course.workshop.site.rglob("*.html")))
    return f"{counted(pages, 'page')}, by Quarto"


def leaks(course: Course) -> str:
    """Check the site for text left out of the notes."""
    site = course.workshop.site if course.workshop.site.is_dir() else course.workshop.published
    if not site.is_dir():
        raise CourseError(f"{site}: there is no site yet: render it first")
    return report_leaks([site], course.pages(), course.folder, course.logger).result


def index(course: Course) -> str:
    """Refresh the index, and remove files that are gone."""
    if not project_options(course.folder).index:
        return _Skipped("index: false under lmm: in _quarto.yml")
    refresh_index(course.pages(), course.folder, course.logger, prune=True)
    return ""


def publish(course: Course) -> str:
    """Replace the published site by the new one."""
    course.workshop.publish(course.logger)
    course.workshop.close()
    return str(course.workshop.published)


STEPS: dict[str, Callable[[Course], str]] = {
    "check": check,
    "annotate": annotate,
    "render": render,
    "leaks": leaks,
    "index": index,
    "site": publish,
}


def run_steps(
    course: Course, steps: Sequence[str], tell: Callable[[str], None] = lambda name: None
) -> Iterator[StepResult]:
    """Run steps in the order of `STEPS`, and yield the result of each until one fails.

    tell: called with the name of each step before it runs"""
    for name, step in STEPS.items():
        if name in steps:
            tell(name)
            result = _run_step(name, step, course)
            yield result
            if not result.ok:
                return


def _run_step(name: str, step: Callable[[Course], str], course: Course) -> StepResult:
    began, summary = time.monotonic(), ""
    reports = _CourseLogger(course)
    try:
        summary = step(replace(course, logger=reports))
    except (OSError, LmmError) as error:
        report_failure(error, reports)
    reports.say_warnings()
    is_ok = not reports.count("error")
    seconds = time.monotonic() - began
    return StepResult(
        name, is_ok, seconds, summary if is_ok else "", tuple(reports.reports), isinstance(summary, _Skipped)
    )


_VARYING = re.compile(r"'[^']*'|\d+")  # differs between messages of one kind


class _CourseLogger(ListLogger):
    """A logger with relative paths, and warnings grouped at the end of a step."""

    def __init__(self, course: Course) -> None:
        super().__init__()
        self._course = course

    def report(self, report: Report) -> None:
        if Path(report.path).is_relative_to(self._course.folder):
            report = replace(report, path=str(Path(report.path).relative_to(self._course.folder)))
        super().report(report)
        if report.level != "warning":
            self._course.logger.report(report)

    def say_warnings(self) -> None:
        """Pass on the first warning of each kind, with the number of others."""
        kinds: dict[str, list[Report]] = {}
        for report in self.reports:
            if report.level == "warning":
                kind = _VARYING.sub("", report.message.partition(": ")[2] or report.message)
                kinds.setdefault(kind, []).append(report)
        for first, *others in kinds.values():
            more = f" (and {len(others):,} more of this kind)" if others else ""
            self._course.logger.report(replace(first, message=f"{first.message}{more}"))
