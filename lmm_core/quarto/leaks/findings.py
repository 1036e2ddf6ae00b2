"""Results of a search for leaks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ...logging import counted

_NAMED = 5  # places in a sentence


@dataclass(frozen=True, slots=True)
class Leak:
    """A part of `source`, at `line`, that is left out of the notes but is in `file` of the output.

    text: the part's first words, or the words found if only a later piece is there
    member: the path inside `file` if that is an archive
    is_figure: the file itself is a figure that only hidden cells have made"""

    file: Path
    source: Path
    line: int
    text: str
    member: str = ""
    is_figure: bool = False

    @property
    def place(self) -> str:
        """Return the file, with its member in brackets."""
        return f"{self.file} ({self.member})" if self.member else str(self.file)


@dataclass(slots=True)
class Findings:
    """Leaks, and the numbers of `parts` and `files` searched.

    passed_over: the number of parts that are too short, or in the notes as well
    unsearched: the numbers of files that could not be searched, by kind (`PDF`)
    solutions: if nothing is marked as left out, the places of parts that look like solutions"""

    leaks: list[Leak] = field(default_factory=list)
    parts: int = 0
    files: int = 0
    passed_over: int = 0
    unsearched: Counter[str] = field(default_factory=Counter)
    solutions: list[str] = field(default_factory=list)

    @property
    def result(self) -> str:
        """The result in a few words."""
        if self.leaks:
            result = f"{len(self.leaks)} found"
        elif self.parts or self.passed_over:
            are = "is" if self.passed_over == 1 else "are"
            over = f" ({self.passed_over} more {are} too short to tell, or in the notes as well)"
            result = f"none found{over if self.passed_over else ''}"
        else:
            result = f"nothing is marked as left out{self._solutions()}"
        kinds = [counted(count, f"{kind} file".strip()) for kind, count in sorted(self.unsearched.items())]
        return f"{result}; not searched: {', '.join(kinds)}" if kinds else result

    def _solutions(self) -> str:
        if not self.solutions:
            return ""
        look = f"{counted(len(self.solutions), 'part')} {'looks' if len(self.solutions) == 1 else 'look'}"
        more = ", …" if len(self.solutions) > _NAMED else ""
        what = "a solution" if len(self.solutions) == 1 else "solutions"
        return f"; {look} like {what}: {', '.join(self.solutions[:_NAMED])}{more}"
