"""Define shared arguments and options, and validate them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import MarkdownError, ModelError, OutputError, QuartoError
from ..files.walk import SUFFIXES
from ..files.writing import STANDARD_OUTPUT, is_stream
from ..logging import LoggerBase

if TYPE_CHECKING:
    from ..settings.models import Models
    from ..settings.project import Project
    from ..settings.quarto_inputs import DocumentFinder

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # hosts unreachable from other machines
Result = TypeVar("Result")
Command = Callable[..., None]


click.IntRange.name = "whole number"  # in messages
paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES…")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")


def _finder(_context: click.Context, _option: click.Parameter, patterns: tuple[str, ...]) -> DocumentFinder:
    from ..files.gitignore import pattern_problem
    from ..settings.quarto_inputs import DocumentFinder

    if problem := next(filter(None, map(pattern_problem, patterns)), ""):
        raise click.BadParameter(problem)
    return DocumentFinder(patterns)


# Passed on to `find_documents`
exclude_option = click.option(
    "--exclude", "finder", multiple=True, metavar="PATTERN", callback=_finder,
    help="Leave out matching documents of folders: drafts/, *.draft.md (repeatable).",
)  # fmt: skip


def folders_argument(command: Command) -> Command:
    """Add the paths argument and --exclude."""
    return paths_argument(exclude_option(command))


@dataclass(frozen=True)
class Writing:
    """The arguments of a command that writes into documents."""

    paths: tuple[Path, ...]
    finder: DocumentFinder
    check: bool
    diff: bool
    as_json: bool


def writing_options(command: Command) -> Command:
    """Add the arguments of a command that gets them as `Writing`."""

    @wraps(command)
    def call(
        paths: tuple[Path, ...], finder: DocumentFinder, check: bool, diff: bool, as_json: bool, **others: Any
    ) -> None:
        command(writing=Writing(paths, finder, check, diff, as_json), **others)

    check = click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
    diff = click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
    return folders_argument(check(diff(json_option(call))))


@dataclass(frozen=True)
class Asking:
    """The options of a command that calls a model."""

    model: str
    jobs: int | None
    quiet: bool

    def models(self, paths: Sequence[Path] = ()) -> Models:
        """Return new models. Raise UsageError for a model that is unknown in the project of the first path."""
        from ..settings.models import Models
        from .reports import warn

        models = Models(self.model, self.jobs, warn)
        if self.model and paths:
            with usage_errors(ModelError):
                models.name(project_at(paths[0] / "-"), "minor")
        return models


def asking_options(command: Command) -> Command:
    """Add the options of a command that gets them as `Asking`."""

    @wraps(command)
    def call(model: str, jobs: int | None, quiet: bool, **others: Any) -> None:
        command(asking=Asking(model, jobs, quiet), **others)

    model = click.option("--model", default="", metavar="SPEC", help="The model to ask, as source/model.")
    jobs = click.option("--jobs", type=click.IntRange(1), metavar="N", help="Requests at the same time (16).")
    return model(jobs(quiet_option(call)))


def output_option(*names: str, help: str, folder: bool = False) -> Callable[[Command], Command]:
    """Return an option for an output file; `-` is standard output."""
    kind = click.Path(dir_okay=folder, path_type=Path)
    return click.option(*names, type=kind, metavar="FILE", callback=_standard_output, help=help)


def _standard_output(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    return Path(STANDARD_OUTPUT) if value == Path("-") else value


# Checks


@contextmanager
def usage_errors(*types: type[Exception]) -> Iterator[None]:
    """Turn errors in the block into UsageError."""
    try:
        yield
    except types as error:
        raise click.UsageError(str(error)) from None


def find_documents(
    paths: tuple[Path, ...],
    logger: LoggerBase | None,
    endings: Sequence[str] = SUFFIXES,
    finder: DocumentFinder | None = None,
) -> list[Path]:
    """Return the documents among paths, and in folders among them; see `DocumentFinder`.

    logger: gets reports of skipped files and missing documents; None for no reports
    Raise UsageError for a missing path, a file that is not a document, or unreadable settings."""
    from ..settings.quarto_inputs import DocumentFinder

    with usage_errors(FileNotFoundError, MarkdownError, QuartoError):
        documents = (finder or DocumentFinder()).find(paths, logger, endings)
    if paths and not documents and logger is not None:
        logger.warning(f"no documents ({', '.join(endings)}) in {', '.join(map(str, paths))}")
    return documents


def find_all_documents(paths: tuple[Path, ...], logger: LoggerBase, endings: Sequence[str] = SUFFIXES) -> list[Path]:
    """Return documents as `find_documents` does, including those that their project excludes. Raise UsageError."""
    from ..markdown.files import find_markdown

    with usage_errors(FileNotFoundError, MarkdownError, QuartoError):
        return find_markdown(list(paths), logger, endings)


def check_written(output: Path, inputs: Iterable[Path], endings: Collection[str], **rules: Any) -> None:
    """Raise UsageError, before any work, if `check_output` refuses an output."""
    from ..files.outputs import check_output

    with usage_errors(OutputError):
        check_output(output, inputs, endings, **rules)
    if "within" not in rules and not is_stream(output) and not output.parent.is_dir():
        raise click.UsageError(f"{output}: the folder {output.parent} does not exist; nothing was written")


def check_text(output: Path, text: str) -> None:
    """Raise UsageError if `check_replaced` refuses to replace a file's content."""
    from ..files.outputs import check_replaced

    with usage_errors(OutputError):
        check_replaced(output, text.encode("utf-8"))


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Explain how to install an optional package if its import fails in the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        from ..installation import install_command

        message = f"The package {error.name!r} is missing. To install it: {install_command(extra)}"
        raise click.ClickException(message) from None


# Projects


def project_at(path: Path | None) -> Project:
    """Return the project of a file or of the working folder. Raise ConfigError."""
    from ..settings.project import load_project

    return load_project(path)


def searched_project() -> Project:
    """Return the project whose index is searched: the current one, or a single subproject with an index.

    `lmm index book` writes to the index of `book` if that is a project. Raise ConfigError and UsageError."""
    project = project_at(Path.cwd() / "-")
    storage = project.storage
    if storage.memory or storage.url or (project.root / storage.folder).exists():
        return project
    below = [folder for folder in sorted(Path.cwd().iterdir()) if (folder / storage.folder).is_dir()]
    if len(below) > 1:
        names = ", ".join(folder.name for folder in below)
        raise click.UsageError(f"There is no index here, but there are several below. Change to one of: {names}")
    return project_at(below[0] / "-") if below else project
