"""Options of the passes, by the names of LM markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..markdown.rag_only import KnitRules

Splitter = Literal["default", "none"]
SizeUnit = Literal["characters", "tokens"]
NO_DOCUMENTS = -1


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """Options for the annotations that are made, and from how many words of text on.

    `titles` is the path of titles of each section; `questions` and `summaries` are made by the
    annotator, and with `follow_prompts` made again once its prompt is another one. `textid` and
    `headingid` number text blocks and headings (`docid.3`, `docid.h2`); `textUUID` and `headingUUID`
    add UUIDs made from these numbers. `remove_messages` removes chat and edit keys first. Raise
    ValueError for other values.
    """

    titles: bool = False
    questions: bool = True
    summaries: bool = True
    questions_threshold: int = 15
    summary_threshold: int = 50
    follow_prompts: bool = True
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
    """Options for cutting texts into chunks, and gathering them to the documents that a search returns.

    `size` is the wanted size of a chunk, `max_size` its greatest size, and `overlap` (a part of its
    size) how much of the chunk before it repeats, all in `unit`. A text of fewer than `short`
    characters is merged with its neighbour. `documents` is the greatest size of a document in
    characters; 0 makes each section a document, -1 makes no documents. `rules` say which divs are
    RAG-only. With the `splitter` "none", no text block is cut, whatever the sizes. Raise ValueError for other values.
    """

    size: int = 1000
    max_size: int = 2000
    overlap: int = 0
    unit: SizeUnit = "characters"
    short: int = 120
    documents: int = 0
    rules: KnitRules = field(default_factory=KnitRules)
    splitter: Splitter = "default"

    def __post_init__(self) -> None:
        _check_types(self)
        for name, least in (
            ("size", 1),
            ("max_size", self.size),
            ("overlap", 0),
            ("short", 0),
            ("documents", NO_DOCUMENTS),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} should be at least {least}, not {getattr(self, name)}")
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) should be less than size ({self.size})")


def _check_types(options: ScanOpts | SplitOpts) -> None:
    """Convert values of other types by pydantic, or raise its error. It is imported only if a type is wrong."""
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
