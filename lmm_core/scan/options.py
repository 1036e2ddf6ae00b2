"""Options of the passes, by the names of LM markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..markdown.rag_only import KnitRules

SizeUnit = Literal["characters", "tokens"]


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """Which annotations are made, and from how many words of text on.

    titles: the titles path of each section; questions, summaries: by the
    annotator; textid, headingid: numbers for text blocks and headings
    (`docid.3`, `docid.h2`), textUUID, headingUUID: UUIDs made of them (and so
    the numbers too); remove_messages: chat and edit keys are removed first."""

    titles: bool = False
    questions: bool = True
    summaries: bool = True
    questions_threshold: int = 15
    summary_threshold: int = 50
    textid: bool = False
    headingid: bool = False
    textUUID: bool = False
    headingUUID: bool = False
    remove_messages: bool = False

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("questions_threshold", "summary_threshold"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is a number of words: 0 or more, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class SplitOpts:
    """How texts are cut into chunks, and into the documents that are returned.

    size: what a chunk should have, max_size: what it may have, overlap: what it repeats
    of the one before (a part of its size), all three in `unit`; short: a text of fewer
    characters is pooled with its neighbour; documents: characters that a document may
    have, 0: a section is a document, -1: no documents; rules: which divs are RAG-only."""

    size: int = 1000
    max_size: int = 2000
    overlap: int = 0
    unit: SizeUnit = "characters"
    short: int = 120
    documents: int = 0
    rules: KnitRules = field(default_factory=KnitRules)

    def __post_init__(self) -> None:
        _check_types(self)
        for name, least in (("size", 1), ("max_size", self.size), ("overlap", 0), ("short", 0), ("documents", -1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} should be at least {least}, not {getattr(self, name)}")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")


def _check_types(options: ScanOpts | SplitOpts) -> None:
    """Values of other types are made ones of the right type, or are errors, by
    pydantic; which is not imported where all are right."""
    kinds = _kinds(type(options))  # type: ignore[arg-type]  # a class has a hash, whatever its instances have
    wrong = {name: kind for name, kind in kinds.items() if not _is_of(getattr(options, name), kind)}
    if wrong:
        from pydantic import create_model

        fields: dict[str, Any] = {name: (kind, ...) for name, kind in wrong.items()}
        made = create_model(type(options).__name__, **fields)(**{name: getattr(options, name) for name in wrong})
        for name in wrong:
            object.__setattr__(options, name, getattr(made, name))


@cache
def _kinds(options: type) -> dict[str, Any]:
    return get_type_hints(options)


def _is_of(value: Any, kind: Any) -> bool:
    return value in get_args(kind) if get_origin(kind) is Literal else type(value) is kind
