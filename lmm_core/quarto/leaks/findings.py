"""Leaks, and counts of what was looked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Leak:
    """A part of `source`, at `line`, that is left out of the notes but stands in `file` of the output.
    text: the part's first words, or the words found if only a later piece of it stands there.
    member: the path inside `file` if that is an archive. is_figure: the file itself is a figure that
    only cells left out have made."""

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
    """The leaks found, with the numbers of `parts` that were looked for and of `files` looked into.
    passed_over: the number of parts too short to tell, or which the notes say as well."""

    leaks: list[Leak] = field(default_factory=list)
    parts: int = 0
    files: int = 0
    passed_over: int = 0
