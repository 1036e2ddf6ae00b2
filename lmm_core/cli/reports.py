"""What the commands share: arguments, reports, progress, and work on many files."""

from __future__ import annotations

import asyncio
import difflib
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import ConfigError, MarkdownError, ModelError, OutputError
from ..files.outputs import check_output, check_replaced
from ..files.walk import SUFFIXES
from ..files.writing import STANDARD_OUTPUT, is_stream
from ..logging import ListLogger, LoggerBase, Report, as_json, one_line, put, say, visible
from ..markdown.blocks import serialize_blocks
from ..markdown.files import MarkdownFile, find_markdown, load_markdown, save_markdown
from ..settings.project import Project, load_project
from ..workflows.models import Models
from ..workflows.passes import Work, work_on

if TYPE_CHECKING:
    from ..retrieve.library import Library
    from ..workflows.ask import SharedLibrary

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # hosts that nobody else reaches
Result = TypeVar("Result")
FILES_AT_ONCE = 16
_DIFF_STYLES = {"+++ ": "bold green", "--- ": "bold red", "+": "green", "-": "red", "@": "cyan"}

Command = Callable[..., None]
paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES…")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")


def writing_options(command: Command) -> Command:
    check = click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
    diff = click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
    return paths_argument(check(diff(json_option(command))))


def asking_options(command: Command) -> Command:
    model = click.option("--model", default="", metavar="SPEC", help="The model to ask: source/model.")
    jobs = click.option("--jobs", type=click.IntRange(1), metavar="N", help="Requests at the same time (16).")
    quiet = click.option("-q", "--quiet", is_flag=True, help="Print errors alone.")
    return model(jobs(quiet(command)))


# Reports and progress


class Told(ListLogger):
    """Prints each report at once, and counts; errors alone where it is quiet."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__()
        self.quiet = quiet

    def report(self, report: Report) -> None:
        super().report(report)
        if self.quiet and report.level != "error":
            return
        kind = "warning: " if report.level == "warning" else ""
        path = one_line(report.path)
        where = f"{path}:{report.line}: " if report.line else f"{path}: " if path else ""
        say(f"{where}{kind}{report.message}", err=True)


def warn(message: str) -> None:
    say(f"warning: {message}", err=True)


class Bar:
    """A progress bar on standard error, for work that takes longer than a second, in
    front of a person."""

    def __init__(self, quiet: bool) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self.count = self.done = 0
        self.began = time.monotonic()
        self.bar: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.render_finish()

    def expect(self, count: int) -> None:
        """See `Progress`."""
        self.count += count
        if self.bar is not None:
            self.bar.length = self.count

    def advance(self) -> None:
        """See `Progress`."""
        self.add(1)

    def add(self, count: int) -> None:
        """So many more are done."""
        self.done += count
        if self.bar is not None:
            self.bar.update(count)
        elif self.shown and time.monotonic() - self.began > 1 and self.done < self.count:
            self.bar = click.progressbar(length=self.count, label="sections", file=sys.stderr, show_pos=True)
            self.bar.update(self.done)


def find(paths: tuple[Path, ...], logger: LoggerBase | None, endings: Sequence[str] = SUFFIXES) -> list[Path]:
    """The documents that are named, or in folders that are named; what is left out of a folder is
    a warning. (None: it has been told.) endings: of documents."""
    try:
        return find_markdown(list(paths), logger, endings)
    except (FileNotFoundError, MarkdownError) as error:
        raise click.UsageError(str(error)) from None


def output_option(*names: str, shown: str, folder: bool = False) -> Callable[[Command], Command]:
    """An option that names an output; `-` is standard output."""
    kind = click.Path(dir_okay=folder, path_type=Path)
    return click.option(*names, type=kind, metavar="FILE", callback=_standard_output, help=shown)


def _standard_output(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    return Path(STANDARD_OUTPUT) if value == Path("-") else value


def check_written(output: Path, inputs: Iterable[Path], endings: Collection[str], **rules: Any) -> None:
    """Raise UsageError, before any work, for what may not be written. (See `check_output`.)"""
    try:
        check_output(output, inputs, endings, **rules)
    except OutputError as error:
        raise click.UsageError(str(error)) from None
    if "within" not in rules and not is_stream(output) and not output.parent.is_dir():
        raise click.UsageError(f"{output}: there is no folder {output.parent}; nothing was written")


def check_text(output: Path, text: str) -> None:
    """Raise UsageError for what may not be written over. (See `check_replaced`.)"""
    try:
        check_replaced(output, text.encode("utf-8"))
    except OutputError as error:
        raise click.UsageError(str(error)) from None


def load(path: Path, logger: Told) -> MarkdownFile | None:
    try:
        return load_markdown(path)
    except (OSError, MarkdownError) as error:
        tell(error, path, logger)
        return None


def checked(read: Callable[[], Result]) -> Result:
    """A wrong configuration is wrong usage."""
    try:
        return read()
    except ConfigError as error:
        raise click.UsageError(str(error)) from None


def project_at(path: Path | None) -> Project:
    """The project of a file (None: of the working folder)."""
    return checked(lambda: load_project(path))


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Says how to install packages that are imported within the block, where they are
    missing: those of an extra of ours, which installs `what`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the package {error.name!r} is missing: pip install 'lmm-markdown[{extra}]' installs what {what}"
        ) from None


# Work on files


@dataclass
class Outcome:
    """What came of one file."""

    path: str
    changed: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list)


async def work_file(path: Path, work: Work, logger: Told) -> tuple[MarkdownFile, str] | None:
    """A file and its text after the work; None where it cannot be read."""
    try:
        file, blocks = await work_on(path, work, logger)
    except (OSError, MarkdownError) as error:
        tell(error, path, logger)
        return None
    return file, serialize_blocks(blocks)


def tell(error: OSError | MarkdownError, path: Path, logger: Told) -> None:
    if isinstance(error, BrokenPipeError):  # `| head`: nothing more can be shown, of any file
        raise error
    if isinstance(error, OSError):
        logger.report(Report("error", error.strerror or str(error), str(path)))
    else:
        logger.error(str(error))


def rewrite(
    paths: tuple[Path, ...],
    work: Work,
    check: bool,
    diff: bool,
    as_json: bool,
    done: str,
    quiet: bool = False,
    models: Models | None = None,
) -> None:
    """Do some work on the blocks of all files, and write each as soon as it is done."""
    if as_json and diff:
        raise click.UsageError("--json and --diff exclude each other")

    async def one(path: Path, logger: Told) -> bool:
        file, blocks = await work_on(path, work, logger)
        text = serialize_blocks(blocks)
        if text != file.text and diff:
            print_diff(str(path), file.text, text)
        elif text != file.text and not check:
            save_markdown(path, text, file)
        return text != file.text

    verb = f"would be {done}" if check or diff else done
    outcomes = for_each(paths, one, verb, as_json, quiet, models)
    if check and any(outcome.changed for outcome in outcomes):
        sys.exit(1)
    leave(outcomes)


def for_each(
    paths: tuple[Path, ...],
    one: Callable[[Path, Told], Awaitable[bool]],
    verb: str,
    as_json: bool = False,
    quiet: bool = False,
    models: Models | None = None,
) -> list[Outcome]:
    """Do `one` on all files, many at the same time (it says whether the file has changed),
    and tell what came of it."""
    began, left_out = time.monotonic(), Told(quiet)
    outcomes = run(_all_of(find(paths, left_out), one, quiet, models))
    changed = [outcome.path for outcome in outcomes if outcome.changed]
    if as_json:
        beside = [Outcome(report.path, reports=[asdict(report)]) for report in left_out.reports]
        print_json([asdict(outcome) for outcome in (*beside, *outcomes)])
    elif not quiet:
        for name in changed:
            say(f"{verb}: {name}", err=True)
        say(f"{len(changed)} of {len(outcomes)} files {verb}{cost(models, began)}", err=True)
    return outcomes


async def _all_of(
    paths: list[Path], one: Callable[[Path, Told], Awaitable[bool]], quiet: bool, models: Models | None
) -> list[Outcome]:
    places = asyncio.Semaphore(FILES_AT_ONCE)

    async def work(path: Path) -> Outcome:
        async with places:
            if models and models.stopped:
                return Outcome(str(path), reports=[{"level": "info", "message": "left alone: the model is not asked"}])
            logger = Told(quiet)
            changed = False
            try:
                changed = await one(path, logger)
            except (OSError, MarkdownError) as error:
                tell(error, path, logger)
            return Outcome(str(path), changed, [asdict(report) for report in logger.reports])

    try:
        return await asyncio.gather(*map(work, paths))
    finally:
        if models:
            await models.close()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Asynchronous work; a wrong configuration is wrong usage."""
    try:
        return checked(lambda: asyncio.run(work))
    except KeyboardInterrupt:
        say("stopped: what was done is kept; run again to go on", err=True)
        sys.exit(130)


def told(work: Coroutine[Any, Any, Result], logger: Told, *errors: type[Exception]) -> Result | None:
    """What comes of work with a store and models; None where one of them, or one of these
    errors, keeps it from being done, which is told."""
    from ..errors import StoreError

    kinds: tuple[type[Exception], ...] = (StoreError, ModelError, *errors)
    try:
        return run(work)
    except kinds as error:
        logger.error(str(error))
        return None


def with_shared_library(
    project: Project, models: Models, work: Callable[[SharedLibrary], Awaitable[Result]], logger: Told
) -> Result | None:
    """What comes of work that uses the project's index from time to time; None where it cannot
    be done, which is told."""
    from ..errors import RetrieveError
    from ..workflows.ask import SharedLibrary

    async def opened() -> Result:
        library = SharedLibrary(project, models)
        try:
            return await work(library)
        finally:
            await library.close()

    return told(opened(), logger, RetrieveError)


def with_library(
    project: Project, models: Models, work: Callable[[Library], Awaitable[Result]], logger: Told
) -> Result | None:
    """What comes of work on the project's index, which is open for it; None where it cannot be
    done, which is told."""

    async def lent(shared: SharedLibrary) -> Result:
        async with shared.use() as library:
            return await work(library)

    return with_shared_library(project, models, lent, logger)


def cost(models: Models | None, began: float) -> str:
    """What the models have been asked, for the closing line; "" for nothing."""
    usage = models.usage if models else None
    if usage is None or not (usage.requests or usage.cached):
        return ""
    return f": {usage}, {time.monotonic() - began:.1f} s"


def print_diff(name: str, before: str | None, after: str | None) -> None:
    """Print what changes in a file (None: there is none): as it is into a file or pipe; on a
    terminal in colours, and signs that are not seen as escapes."""
    on_terminal = sys.stdout.isatty()
    for line in diff_lines(name, before, after):
        if on_terminal:
            style = _DIFF_STYLES.get(line[:4]) or _DIFF_STYLES.get(line[:1], "")
            say(visible(line.removesuffix("\r")), style=style)
        else:
            put(f"{line}\n")


def diff_lines(name: str, before: str | None, after: str | None) -> Iterator[str]:
    """A unified diff, without line feeds."""
    old, new = _lines(before or ""), _lines(after or "")
    was, becomes = (name if text is not None else "/dev/null" for text in (before, after))
    for line in difflib.unified_diff(old, new, was, becomes, lineterm=""):
        yield line.removesuffix("\n")
        if line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Lines without their ends; the last one with one, where the text has none there."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n"]


def print_json(value: Any) -> None:
    put(as_json(value, indent=2) + "\n")


def leave(told: Told | list[Outcome]) -> None:
    """Exit: 1 where something could not be done, else 0."""
    outcomes = [] if isinstance(told, Told) else told
    failed = any(report["level"] == "error" for outcome in outcomes for report in outcome.reports)
    sys.exit(1 if failed or (isinstance(told, Told) and told.count("error")) else 0)
