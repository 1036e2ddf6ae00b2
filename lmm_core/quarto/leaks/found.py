"""What was found: leaks, and what was looked for where."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Leak:
    """A part of `source`, at `line`, that is left out and stands in the output's `file`
    all the same, in an archive in its `member`; `text` are its first words, or those that were
    found where only a later place of it stands there. is_figure: the file itself is what only cells
    that are left out have made."""

    file: Path
    source: Path
    line: int
    text: str
    member: str = ""
    is_figure: bool = False

    @property
    def place(self) -> str:
        """The file, and the member of it."""
        return f"{self.file} ({self.member})" if self.member else str(self.file)


@dataclass(slots=True)
class Findings:
    """What was looked for where: `parts` that were looked for in `files`; `passed_over`
    are parts too short to tell, or which the notes say as well."""

    leaks: list[Leak] = field(default_factory=list)
    parts: int = 0
    files: int = 0
    passed_over: int = 0
