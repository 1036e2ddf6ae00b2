"""The annotator protocol: what a section shows, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True, frozen=True)
class Section:
    """What an annotator sees: the titles path (document first), the section's own
    text as markdown, the summaries of its subsections in their order, and the
    language (`en`, `de-AT`, …; "" where none is said)."""

    titles: tuple[str, ...]
    text: str
    summaries: tuple[str, ...] = ()
    language: str = ""


@dataclass(slots=True, frozen=True)
class Annotation:
    """What an annotator says; nothing where it has nothing to say."""

    questions: list[str] = field(default_factory=list)
    summary: str = ""


class Annotator(Protocol):
    """Anything that annotates sections. `name` is `source/model`."""

    name: str

    def annotate(self, section: Section) -> Annotation:
        """Questions that the section answers, and its summary."""
        ...
