"""Run passes on files, for commands and for programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...arguments import validated
from ...errors import MarkdownError, ModelError
from ...files.outputs import MARKDOWN, check_output, write_output
from ...logging import ConsoleLogger, LoggerBase, Progress, in_file
from ...markdown.blocks import Block, Problem, Spelling, header_content, serialize_blocks
from ...markdown.edits import broken_edits
from ...markdown.files import MarkdownFile, read_markdown, write_markdown
from ...markdown.metadata.lmm_options import report_refused
from ...markdown.parse import parse_markdown_text
from ...markdown.spelling import convert
from ...markdown.visibility import header_rules
from ...models.annotators.annotator import Annotator, UnaskedAnnotator
from ...models.sources import STAND_IN_NAME
from ...settings.models import Models
from ...settings.project import Project, load_project, project_finder
from ...settings.quarto_inputs import included_finder
from ...settings.tables import ScanOpts
from ..header import report_errors, scan
from ..knit import knit
from ..rag import PlannedRequest, RagRun, Tally
from .document import docid_of, new_rag_run, project_of, reporting

USUAL_REPLY = 120  # tokens of five questions and a summary by a small model
SaveTo = bool | str | Path
Work = Callable[[list[Block], MarkdownFile, LoggerBase], Awaitable[Sequence[Block]]]


@validated
def markdown_scan(path: str | Path, save: SaveTo = True, logger: LoggerBase | None = None) -> list[Block] | None:
    """Complete the header of a file (`~title`, `~docid`), and report errors.

    save: True to write the file, False to write nothing, or the path of an output
    Return the blocks, or None if an error was reported.
    """
    return run_on_file(Path(path), _scan, save, logger)


@validated
def markdown_rag(
    path: str | Path,
    opts: ScanOpts | None = None,
    save: SaveTo = True,
    annotator: Annotator | None = None,
    refresh: bool = False,
    logger: LoggerBase | None = None,
) -> list[Block] | None:
    """Complete the header of a file, and annotate its sections (see `scan_rag`).

    opts, annotator: by default from header and configuration
    save: see `markdown_scan`
    refresh: also replace what a model wrote before
    Return the blocks, or None if an error was reported. Raise ConfigError.
    """
    from ...models.chat import then_close

    work = RagWork(Models(), opts, annotator=annotator, refresh=refresh)

    async def annotate(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        return await then_close(work.finish(blocks, file, logger), work.models, *filter(None, [annotator]))

    return run_on_file(Path(path), annotate, save, logger)


@dataclass(frozen=True, slots=True)
class RagPlan:
    """The requests for annotating a document, and the annotator."""

    annotator: str = ""
    requests: Sequence[PlannedRequest] = ()


@dataclass
class RagWork:
    """The work of `markdown_rag`.

    opts: by default from header and configuration
    changes: values of single options, by name, which replace those in `opts`
    asks: False to write placeholders instead, which shows whether a file would change
    """

    models: Models
    opts: ScanOpts | None = None
    changes: Mapping[str, bool] = field(default_factory=dict)
    annotator: Annotator | None = None
    refresh: bool = False
    asks: bool = True
    progress: Progress | None = None
    tallies: dict[Path, Tally] = field(default_factory=dict, init=False)
    _project_of: Callable[[Path], Project] = field(default_factory=project_finder, init=False)
    _is_included: Callable[[Path], bool] = field(default_factory=included_finder, init=False)

    async def finish(self, blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        """Return the annotated blocks. Raise ConfigError."""
        run = await self._start(blocks, file, logger)
        if run is None:
            return blocks
        if run.open:
            await run.ask()
        return run.finish()

    async def plan(self, blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> RagPlan:
        """Return the requests that `finish` would make. Raise ConfigError and ModelError."""
        run = await self._start(blocks, file, logger)
        if run is None:
            return RagPlan()
        return RagPlan(run.annotator.name, run.planned())

    async def _start(self, blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> RagRun | None:
        project = project_of(blocks, self._project_of(file.path), logger)
        try:
            annotator = self.annotator or (self.models.annotator(project) if project else None)
        except ModelError as error:
            logger.error(f"not annotated: {error}")
            return None
        if project is None or annotator is None:
            return None
        if not self.asks and annotator.name != STAND_IN_NAME:
            annotator = UnaskedAnnotator(annotator.name)
        run = new_rag_run(project, annotator, file.path, logger, self._is_included)
        run.opts = replace(self.opts or project.RAG, **self.changes)
        run.refresh, run.progress = self.refresh, self.progress
        self.tallies[file.path] = run.tally
        run.start(blocks)
        return run


def knit_work(keep: Sequence[str] = ()) -> Work:
    """Return the work of knitting a file; RAG-only material of the types in `keep` stays."""
    from ..check.mistakes import refuse_mistakes

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        rules = header_rules(header_content(blocks), load_project(file.path).rules)
        refuse_mistakes(blocks, rules, logger)
        return knit(blocks, replace(rules, keep=rules.keep | set(keep)), logger)

    return work


def convert_work(to: Spelling) -> Work:
    """Return the work of converting metadata blocks to one spelling."""

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        report_errors(blocks, logger)
        return convert(blocks, to)

    return work


def clear_annotations(corrected: bool) -> Work:
    """Return the work of removing annotations, including corrected and frozen ones if `corrected`."""

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        from ..annotations.removal import Removal

        return Removal(corrected, logger).apply(blocks)

    return work


async def _scan(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
    return scan(blocks, file.path.stem, docid_of(file.path), logger)


def run_on_file(path: Path, work: Work, save: SaveTo, logger: LoggerBase | None) -> list[Block] | None:
    """Process and save a file. Return its blocks, or None after reporting an error."""
    from ...models.chat import run

    logger = logger or ConsoleLogger()

    def work_and_save() -> list[Block]:
        check_save_to(path, save)
        file, blocks = run(work_on(path, work, logger))
        save_as(file, serialize_blocks(blocks), save)
        return blocks

    return reporting(work_and_save, logger)


def check_save_to(path: Path, save: SaveTo) -> None:
    """Raise OutputError, before any work, if `save` is a path that must not be written."""
    if not isinstance(save, bool):
        check_output(Path(save), (), MARKDOWN, may_replace=_same(path, Path(save)))


def replace_text(file: MarkdownFile, text: str) -> None:
    """Replace a file's text, unless it has changed on disk. Raise OSError and MarkdownError."""
    write_markdown(file.path, text, file)


def save_as(file: MarkdownFile, text: str, save: SaveTo) -> None:
    """Write a file's new text as `save` says. Raise OSError and MarkdownError."""
    if save is True and text != file.text:
        replace_text(file, text)
    elif not isinstance(save, bool):
        if _same(file.path, Path(save)):
            write_markdown(Path(save), text, file)
        else:
            write_output(Path(save), text.encode("utf-8"))


async def rewrite_file(
    path: Path, work: Work, logger: LoggerBase, write: Callable[[MarkdownFile, str], object] = replace_text
) -> bool:
    """Process a file, and write it if its text has changed. Return True then. Raise OSError and MarkdownError."""
    file, blocks = await work_on(path, work, logger)
    text = serialize_blocks(blocks)
    if text != file.text:
        write(file, text)
    return text != file.text


async def work_on(path: Path, work: Work, logger: LoggerBase) -> tuple[MarkdownFile, list[Block]]:
    """Return a file and its processed blocks, unwritten. Raise OSError, and MarkdownError, also for broken edits."""
    file, located = read_markdown(path), in_file(logger, path)
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    if broken := broken_edits(blocks):
        raise MarkdownError("\n".join(f"{path}:{problem.line}: {problem.message}" for problem in broken))
    for problem in problems:
        located.warning(problem.message, problem.line)
    report_refused(blocks, located)
    return file, list(await work(blocks, file, located))


def _same(path: Path, other: Path) -> bool:
    return other.exists() and path.samefile(other)
