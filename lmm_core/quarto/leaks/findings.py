"""Results of a leak search."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ...logging import counted

_NAMED = 5  # places listed in a sentence
_ADVICE = (
    "To leave one out: ::: exercise … :::, or for all divs of a class: "
    'div_types = ["solution"] under [knit] in config.toml'
)


@dataclass(frozen=True, slots=True)
class Leak:
    """A hidden part of `source`, from `line`, published in `file`.

    text: first words, or the words found
    member: path inside an archive
    is_figure: `file` is a figure of hidden cells"""

    file: Path
    source: Path
    line: int
    text: str
    member: str = ""
    is_figure: bool = False

    @property
    def place(self) -> str:
        """File, with member in brackets."""
        return f"{self.file} ({self.member})" if self.member else str(self.file)


@dataclass(slots=True)
class Findings:
    """Leaks, and the numbers of `parts` and `files` searched.

    passed_over: parts too short or also published
    unsearched: unsupported files by type (`PDF`)
    solutions: places of published parts that look like some"""

    leaks: list[Leak] = field(default_factory=list)
    parts: int = 0
    files: int = 0
    passed_over: int = 0
    unsearched: Counter[str] = field(default_factory=Counter)
    solutions: list[str] = field(default_factory=list)

    @property
    def result(self) -> str:
        """Short description."""
        if self.leaks:
            result = f"{len(self.leaks)} found"
        elif self.parts or self.passed_over:
            are = "is" if self.passed_over == 1 else "are"
            over = f" ({self.passed_over} more {are} too short to tell, or in the notes as well)"
            result = f"none found{over if self.passed_over else ''}"
        else:
            result = "nothing is marked as left out"
        kinds = [counted(count, f"{kind} file".strip()) for kind, count in sorted(self.unsearched.items())]
        return f"{result}; not searched: {', '.join(kinds)}" if kinds else result

    @property
    def doubt(self) -> str:
        """Warning about parts that look like solutions, or ""."""
        if not self.solutions:
            return ""
        look = "part looks like a solution and is" if len(self.solutions) == 1 else "parts look like solutions and are"
        more = ", …" if len(self.solutions) > _NAMED else ""
        places = ", ".join(self.solutions[:_NAMED])
        return f"{len(self.solutions)} {look} published: {places}{more}. {_ADVICE}"
