"""Run work, and print reports, results, progress, diffs and excerpts."""

from __future__ import annotations

import difflib
import re
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from ..errors import MarkdownError
from ..logging import LEVEL_STYLES, ListLogger, Progress, Report, as_json, one_line, put, say, visible
from ..markdown.regions import split_fences

if TYPE_CHECKING:
    from ..markdown.files import MarkdownFile
    from ..retrieve.library import Library
    from ..settings.models import Models
    from ..settings.project import Project

BAR_AFTER = 1.0  # seconds until a progress bar appears


class ReportPrinter(ListLogger):
    """Prints reports on standard error, and counts them. quiet: print only errors"""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__()
        self.quiet = quiet

    def report(self, report: Report) -> None:
        """Print a report after its location."""
        super().report(report)
        if self.quiet and report.level != "error":
            return
        kind = f"{report.code} " if report.code else "warning: " if report.level == "warning" else ""
        path = one_line(report.path)
        where = f"{path}:{report.line}: " if report.line else f"{path}: " if path else ""
        style = LEVEL_STYLES[report.level]
        say(where, err=True, nl=False, style="bold")
        say(kind, err=True, nl=False, style=style)
        say(report.message, err=True, style="" if kind else style)


def warn(message: str) -> None:
    ReportPrinter().warning(message)


def report_failure(error: OSError | MarkdownError, path: Path, logger: ReportPrinter) -> None:
    """Report that a file could not be processed. Raise BrokenPipeError, since nothing can be printed after it."""
    if isinstance(error, BrokenPipeError):
        raise error
    if isinstance(error, OSError):
        logger.report(Report("error", error.strerror or str(error), str(path)))
    else:
        logger.error(str(error))


def load(path: Path, logger: ReportPrinter) -> MarkdownFile | None:
    """Return a file, or None after a reported failure."""
    from ..markdown.files import read_markdown

    try:
        return read_markdown(path)
    except (OSError, MarkdownError) as error:
        report_failure(error, path, logger)
        return None


def exit_with_status(logger: ReportPrinter) -> NoReturn:
    """Exit with 1 if an error was reported."""
    sys.exit(1 if logger.count("error") else 0)


def print_json(value: Any) -> None:
    put(as_json(value, indent=2) + "\n")


def cost(models: Models | None, began: float) -> str:
    """Return requests to models, and the time since `began` (monotonic), for a command's last line, or ""."""
    usage = models.usage if models else None
    if usage is None or not (usage.requests or usage.cached):
        return ""
    return f": {usage}, {time.monotonic() - began:.1f} s"


class ProgressBar(Progress):
    """A progress bar on a terminal's standard error, shown if work takes longer than a second."""

    def __init__(self, label: str = "sections", *, quiet: bool = False) -> None:
        self.label = label
        self.shown = not quiet and sys.stderr.isatty()
        self.count = self.done = 0
        self.began = time.monotonic()
        self.bar: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.render_finish()

    def expect(self, count: int) -> None:
        """See `Progress`."""
        self.count += count
        if self.bar is not None:
            self.bar.length = self.count

    def advance(self, count: int = 1) -> None:
        """See `Progress`."""
        self.done += count
        if self.bar is not None:
            self.bar.update(count)
        elif self.shown and time.monotonic() - self.began > BAR_AFTER and self.done < self.count:
            self.bar = click.progressbar(length=self.count, label=self.label, file=sys.stderr, show_pos=True)
            self.bar.update(self.done)


class TerminalScreen:
    """Shows one answer at a time on the terminal while a model writes it."""

    def __init__(self, quiet: bool) -> None:
        self.free = not quiet and sys.stderr.isatty()

    def begin(self, question: str) -> Callable[[str], None] | None:
        """Reserve the screen. Return a function that prints a part of the answer, or None if it is in use."""
        if not self.free:
            return None
        self.free = False
        say(" ".join(question.split())[:100], err=True, style="dim")
        return lambda part: say(part, err=True, nl=False)

    def end(self) -> None:
        """Release the screen."""
        say("", err=True)
        self.free = True


# Unified diffs

_STYLES = {"+++ ": "bold green", "--- ": "bold red", "+": "green", "-": "red", "@": "cyan"}


def print_diff(name: str, before: str | None, after: str | None) -> None:
    """Print a text's change (None: a missing file) as a unified diff, on a terminal in colour and with invisible
    characters escaped."""
    on_terminal = sys.stdout.isatty()
    for line in diff_lines(name, before, after):
        if on_terminal:
            style = _STYLES.get(line[:4]) or _STYLES.get(line[:1], "")
            say(visible(line.removesuffix("\r")), style=style)
        else:
            put(f"{line}\n")


def diff_lines(name: str, before: str | None, after: str | None) -> Iterator[str]:
    """Yield the lines of a unified diff, without line feeds."""
    old, new = _lines(before or ""), _lines(after or "")
    was, becomes = (name if text is not None else "/dev/null" for text in (before, after))
    for line in difflib.unified_diff(old, new, was, becomes, lineterm=""):
        yield line.removesuffix("\n")
        if line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Return lines without ends, but mark a last one without line feed, so that it shows as a difference."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n"]


# Excerpts

_WIDTH = 84  # characters
_INDENT = "    "
_MARK = re.compile(r"(\\[^\w\s]|\\_|\*\*)")


def beginning(text: str, most: int) -> str:
    """Return at most this many characters of a text, on one line."""
    text = " ".join(text.split())
    return text[:most] + ("…" if len(text) > most else "")


def wrap(text: str) -> list[str]:
    """Return a paragraph's lines; text without blanks, such as an address, is not broken."""
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def print_excerpt(markdown: str) -> None:
    """Print an excerpt: wrapped prose, verbatim code, words of the question in bold."""
    for is_code, piece in split_fences(markdown):
        if is_code:
            say("".join(f"{_INDENT * 2}{line}\n" for line in piece.strip("\n").split("\n")[1:-1]), nl=False)
            continue
        for paragraph in filter(str.strip, piece.split("\n")):
            for line in wrap(paragraph):
                _print_line(line)


def _print_line(line: str) -> None:
    say(_INDENT, nl=False)
    is_bold = False
    for piece in _MARK.split(line):
        if piece == "**":
            is_bold = not is_bold
        else:
            say(piece[1:] if _MARK.match(piece) else piece, nl=False, style="bold" if is_bold else "")
    say("")


# Asynchronous work

Result = TypeVar("Result")


def with_library(project: Project, models: Models, work: Callable[[Library], Awaitable[Result]]) -> Result:
    """Return the result of work with a project's index. Raise StoreError, ModelError and RetrieveError."""
    import asyncio

    from ..models.chat import then_close
    from ..retrieve.library import Library

    library = Library(project, models)

    async def opened() -> Result:
        async with library.use():
            return await work(library)

    return asyncio.run(then_close(opened(), library))
