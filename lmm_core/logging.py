"""Loggers: how adversity (broken YAML, a full disk, no network) is told, and what is printed.

Functions that meet adversity take a logger as their last argument and go on
where they can; the caller chooses what a report does: print, collect, raise.

Whatever a person reads is printed by `say`, and data by `put`: text comes from notes, file
names, models and the network, and must not steer the terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from .errors import ReportedError

if TYPE_CHECKING:
    pass

# What a text must not bring to a reader who takes it for what it looks like: control characters
# but tab and line feed, lone surrogates, other line ends, and signs that are not seen or change
# the order of others (https://trojansource.codes). Joiners, marks of direction and selectors of a
# sign's form stay: writing systems need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\n\t]+")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "cyan": "36"}

Level = Literal["info", "warning", "error"]


@dataclass(slots=True, frozen=True)
class Report:
    """One thing to tell. `path` and `line` (from 1) say where; 0 is no line."""

    level: Level
    message: str
    path: str = ""
    line: int = 0

    def __str__(self) -> str:
        where = one_line(self.path) + (f":{self.line}" if self.line and self.path else "")
        if self.line and not self.path:
            where = f"line {self.line}"
        return f"{where}: {self.message}" if where else self.message


class LoggerBase(ABC):
    """What functions that report adversity take."""

    @abstractmethod
    def report(self, report: Report) -> None:
        """Tell one thing."""

    def error(self, message: str, line: int = 0) -> None:
        """Something could not be done."""
        self.report(Report("error", message, line=line))

    def warning(self, message: str, line: int = 0) -> None:
        """Something was done that may not be what was meant."""
        self.report(Report("warning", message, line=line))

    def info(self, message: str, line: int = 0) -> None:
        """Something worth knowing."""
        self.report(Report("info", message, line=line))


class ConsoleLogger(LoggerBase):
    """Prints to standard error; the default."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def report(self, report: Report) -> None:
        kind = {"info": "", "warning": "warning: ", "error": ""}[report.level]
        text = str(replace(report, message=kind + report.message))
        say(f"{self.prefix}{text}", err=True)


@dataclass
class ListLogger(LoggerBase):
    """Collects reports in `reports`."""

    reports: list[Report] = field(default_factory=list)

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def count(self, level: Level = "error") -> int:
        """How many reports of a level there are."""
        return sum(report.level == level for report in self.reports)


class ExceptionLogger(LoggerBase):
    """Raises ReportedError for each error; the rest is silent."""

    def report(self, report: Report) -> None:
        if report.level == "error":
            raise ReportedError(str(report))


class ExceptionConsoleLogger(ExceptionLogger):
    """Prints, and raises ReportedError for each error."""

    def report(self, report: Report) -> None:
        ConsoleLogger().report(report)
        super().report(report)


class LocatedLogger(LoggerBase):
    """Says in which file each line is: `locate` gives path and line of a line of
    the text that is worked on."""

    def __init__(self, logger: LoggerBase, locate: Callable[[int], tuple[str, int]]) -> None:
        self.logger = logger
        self.locate = locate

    def report(self, report: Report) -> None:
        path, line = self.locate(report.line)
        self.logger.report(replace(report, path=report.path or path, line=line))


def in_file(logger: LoggerBase, path: object) -> LoggerBase:
    """A logger whose reports name a file."""
    return LocatedLogger(logger, lambda line: (str(path), line))


# Printing


def say(text: str, err: bool = False, nl: bool = True, style: str = "") -> None:
    """Print a text for a person: the one function that does.

    err: on standard error; nl: with a line end; style: names of `_STYLES`, which a terminal
    shows and a file does not get (nor a terminal where NO_COLOR is set)."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:  # it is closed
        return
    shown = printable(text)
    if style and stream.isatty() and not os.environ.get("NO_COLOR"):  # https://no-color.org
        shown = f"\x1b[{';'.join(_STYLES[word] for word in style.split())}m{shown}\x1b[0m"
    stream.write(shown + ("\n" if nl else ""))
    stream.flush()


def put(text: str | bytes) -> None:
    """Print data: byte for byte into a file or a pipe, as `say` does on a terminal."""
    if sys.stdout is None or sys.stdout.isatty():
        say(text if isinstance(text, str) else text.decode("utf-8", "replace"), nl=False)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") if isinstance(text, str) else text)
    sys.stdout.flush()


def printable(text: str) -> str:
    """A text without what would steer the terminal, deceive who reads it, or cannot be encoded."""
    return _UNSAFE.sub("", text)


def one_line(text: str, most: int = 0) -> str:
    """A printable text on one line, for a name in a sentence; most: characters, 0 for all."""
    shown = _BREAKS.sub(" ", printable(text))
    return shown if not most or len(shown) <= most else shown[: most - 1] + "…"


def visible(line: str) -> str:
    """A line with all signs that are not seen as escapes: `\\x1b`. For diffs, where they could
    hide what a change does."""
    return "".join(sign if sign.isprintable() or sign == "\t" else ascii(sign)[1:-1] for sign in line)


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON in which no sign is unsafe: those are escaped, which is equal JSON."""
    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(value, ensure_ascii=False, indent=indent))


def counted(number: int, noun: str) -> str:
    """A number of things: `1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
