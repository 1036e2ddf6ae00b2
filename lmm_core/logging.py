"""Loggers: how adversity (broken YAML, a full disk, no network) is told.

Functions that meet adversity take a logger as their last argument and go on
where they can; the caller chooses what a report does: print, collect, raise.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

# all control characters but tab and line feed, and lone surrogates; joiners belong to the text
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

Level = Literal["info", "warning", "error"]


class ReportedError(Exception):
    """What a raising logger raises; the text is the report's."""


@dataclass(slots=True, frozen=True)
class Report:
    """One thing to tell. `path` and `line` (from 1) say where; 0 is no line."""

    level: Level
    message: str
    path: str = ""
    line: int = 0

    def __str__(self) -> str:
        where = self.path + (f":{self.line}" if self.line and self.path else "")
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
        print(printable(f"{self.prefix}{text}"), file=sys.stderr)


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


def printable(text: str) -> str:
    """A text without what would steer the terminal, or cannot be encoded."""
    return _CONTROLS.sub("", text)


def counted(number: int, noun: str) -> str:
    """A number of things: `1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
