"""Loggers for problems, and the two functions that print.

Functions that may meet broken YAML, a full disk or a dead network take a logger as last argument and continue where
possible; the caller decides whether reports are printed, collected or raised.

`say` prints for people, `put` prints data. Texts from notes, file names, models and the network must not control the
terminal.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .errors import LmmError, ReportedError

# Deceptive characters (https://trojansource.codes): control characters except tab and line feed, lone surrogates,
# unusual line ends, invisible and reordering ones. Joiners, direction marks and variation selectors stay, because
# writing systems need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\n\t]+")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
LEVEL_STYLES = {"info": "", "warning": "yellow", "error": "red"}

Level = Literal["info", "warning", "error"]


@dataclass(slots=True, frozen=True)
class Report:
    """A message for the user. path, line: place (line from 1; 0 for none); code: of a fault from `lmm scan`."""

    level: Level
    message: str
    path: str = ""
    line: int = 0
    code: str = ""

    def __str__(self) -> str:
        where = one_line(self.path) + (f":{self.line}" if self.line and self.path else "")
        if self.line and not self.path:
            where = f"line {self.line}"
        text = f"{self.code} {self.message}" if self.code else self.message
        return f"{where}: {text}" if where else text


class LoggerBase(ABC):
    """The interface of the loggers that functions take."""

    @abstractmethod
    def report(self, report: Report) -> None:
        """Handle one report."""

    def error(self, message: str, line: int = 0) -> None:
        """Report that something could not be done."""
        self.report(Report("error", message, line=line))

    def warning(self, message: str, line: int = 0) -> None:
        """Report something done that the user may not have meant."""
        self.report(Report("warning", message, line=line))

    def info(self, message: str, line: int = 0) -> None:
        """Report something worth knowing."""
        self.report(Report("info", message, line=line))


class ConsoleLogger(LoggerBase):
    """A logger that prints to standard error; the default."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def report(self, report: Report) -> None:
        kind = "warning: " if report.level == "warning" and not report.code else ""
        text = str(replace(report, message=kind + report.message))
        say(f"{self.prefix}{text}", err=True)


@dataclass
class ListLogger(LoggerBase):
    """A logger that collects its reports in `reports`."""

    reports: list[Report] = field(default_factory=list)

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def count(self, level: Level = "error") -> int:
        """Return the number of reports of a level."""
        return sum(report.level == level for report in self.reports)


class KeepingLogger(ListLogger):
    """A logger that collects reports and forwards them."""

    def __init__(self, logger: LoggerBase) -> None:
        super().__init__()
        self.logger = logger

    def report(self, report: Report) -> None:
        super().report(report)
        self.logger.report(report)


class ExceptionLogger(LoggerBase):
    """A logger that raises ReportedError for each error and ignores the rest."""

    def report(self, report: Report) -> None:
        if report.level == "error":
            raise ReportedError(str(report))


class ExceptionConsoleLogger(ExceptionLogger):
    """A logger that prints every report, and raises ReportedError for each error."""

    def report(self, report: Report) -> None:
        ConsoleLogger().report(report)
        super().report(report)


class LocatedLogger(LoggerBase):
    """A logger that adds the file to each report. locate: returns path and line (from 1) for a line of the text."""

    def __init__(self, logger: LoggerBase, locate: Callable[[int], tuple[str, int]]) -> None:
        self.logger = logger
        self.locate = locate

    def report(self, report: Report) -> None:
        path, line = self.locate(report.line)
        self.logger.report(replace(report, path=report.path or path, line=line))


def in_file(logger: LoggerBase, path: object) -> LoggerBase:
    """Return a logger whose reports name a file."""
    return LocatedLogger(logger, lambda line: (str(path), line))


def report_failure(error: OSError | LmmError, logger: LoggerBase) -> None:
    """Report a system error with its file, or one of ours, one report a line."""
    if isinstance(error, OSError):
        logger.error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return
    for problem in str(error).split("\n"):
        logger.error(problem)


# Printing


def make_output_printable() -> None:
    """Replace characters that the output's encoding lacks by `?`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Python assumes ASCII for an undeclared terminal; today that is UTF-8
            ascii_alone = stream.encoding.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968")
            stream.reconfigure(encoding="utf-8" if ascii_alone else stream.encoding, errors="replace")


def say(text: str, err: bool = False, nl: bool = True, style: str = "") -> None:
    """Print a text for a person. nl: end the line; style: names of `_STYLES`, for a terminal without NO_COLOR."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # closed
        return
    line = printable(text)
    if style and line and stream.isatty() and not os.environ.get("NO_COLOR"):  # https://no-color.org
        line = f"\x1b[{';'.join(_STYLES[word] for word in style.split())}m{line}\x1b[0m"
    stream.write(line + ("\n" if nl else ""))
    stream.flush()


def put(text: str | bytes) -> None:
    """Print data: byte for byte to a file or pipe, made printable on a terminal."""
    if sys.stdout is None or sys.stdout.isatty():
        say(text if isinstance(text, str) else text.decode("utf-8", "replace"), nl=False)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    sys.stdout.flush()


def printable(text: str) -> str:
    """Remove characters that control a terminal, deceive readers or cannot be encoded."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub("", text)


def one_line(text: str, most: int = 0) -> str:
    """Return a printable text on one line. most: characters, 0 for no limit."""
    line = _BREAKS.sub(" ", printable(text))
    return line if not most or len(line) <= most else line[: most - 1] + "…"


def visible(line: str) -> str:
    """Return a line with invisible characters as escapes (`\\x1b`), so that diffs hide no change."""
    return "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in line)


def as_json(value: Any, indent: int | None = None) -> str:
    """Return JSON with unsafe characters escaped."""
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False, indent=indent))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


class Progress:
    """A receiver of progress, in sections, pages, chunks or files; this one ignores it."""

    def expect(self, count: int) -> None:
        """Add to the expected total."""

    def advance(self, count: int = 1) -> None:
        """Add to what is done."""
