"""Build a model's context from passages, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..indexing.passages import SUMMARY, Key, Material, Passage, Placed, Section, merge
from ..models.prompts import enclose
from ..models.tokens import count_tokens
from .ranking.spans import Span, whole_span

if TYPE_CHECKING:
    from .search import Retrieval

Count = Callable[[str], int]
BUDGET = 1000  # tokens
SMALL = 0.35  # share of the budget up to which a section is taken whole; see benchmarks/README.md
LEFT_OUT = "[…]"  # marks a gap between spans of a source
LEAST_ROOM = 8  # tokens; less is not worth filling
MOST_TRIED = 200  # spans


@dataclass(frozen=True, slots=True)
class CitedSource(Placed):
    """The text of passages that follow each other in one section and have the same types.

    number: by which the answer cites it; titles: of enclosing sections, the outermost first
    depth: level of the heading; ids: of the passages; page: of the first in the original document, or 0"""

    number: int
    titles: tuple[str, ...]
    docid: str
    source: str
    anchor: str
    path: str
    line_start: int
    line_end: int
    types: tuple[str, ...]
    depth: int
    text: str
    ids: tuple[str, ...] = ()
    page: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A model's view of the notes. sources: numbered from 1; tokens: of the text."""

    text: str
    sources: tuple[CitedSource, ...] = ()
    tokens: int = 0


def build_context(
    retrieval: Retrieval, budget: int = BUDGET, count: Count = count_tokens, whole: bool = True
) -> Context:
    """Return the best spans as a context of at most `budget` tokens, in document order, without repeated text.

    whole: instead of a span, take the largest section around it that fits and is small (`SMALL`), without typed
    passages such as exercises, unless they are requested"""
    draft = Draft(retrieval.material, budget, count)
    whole = whole and retrieval.type != SUMMARY  # the summarized section has no passages of the type
    examined: set[Key] = set()
    for span in retrieval.spans[:MOST_TRIED]:
        if draft.remaining < LEAST_ROOM:
            break
        if span in draft or draft.count(span.text) > draft.remaining:
            continue
        is_new = whole and span.passage.key not in examined
        choices = _sections_around(retrieval, span.passage, draft) if is_new else iter(())
        examined.add(span.passage.key)
        if not any(map(draft.add, choices)):
            draft.add([span])
    return draft.context()


def _sections_around(retrieval: Retrieval, passage: Passage, draft: Draft) -> Iterator[list[Span]]:
    """Yield the passages of each small section around a passage, the largest first."""
    sections: list[list[Span]] = []
    section: Section | None = retrieval.material.sections[passage.key]
    while section is not None:
        inside = (other for under in section.walk() for other in under.passages)  # lazily: sections may be large
        taken = (other for other in inside if other.id == passage.id or fits_type(other, retrieval.type))
        spans = draft.if_room(map(whole_span, taken), int(SMALL * draft.budget))
        if spans is None:
            break
        sections.append(spans)
        section = section.parent
    return reversed(sections)


def fits_type(passage: Passage, type: str) -> bool:
    """Return True if a passage has a type or, if that is "", no type at all."""
    return type in passage.types if type else not passage.types


# Choosing


@dataclass
class Draft:
    """A context in the making: spans chosen step by step, within a budget. tokens: of these spans."""

    material: Material
    budget: int
    count: Count = count_tokens
    _chosen: dict[str, list[Span]] = field(default_factory=dict, init=False)  # by passage; disjoint
    tokens: int = field(default=0, init=False)
    _texts: set[str] = field(default_factory=set, init=False)  # without white space

    def __contains__(self, span: Span) -> bool:
        chosen = self._chosen.get(span.passage.id, ())
        return any(other.start <= span.start and span.end <= other.end for other in chosen)

    @property
    def remaining(self) -> int:
        return self.budget - self.tokens

    def if_room(self, spans: Iterable[Span], room: int) -> list[Span] | None:
        """Return the spans if their texts alone have at most `room` tokens, else None."""
        fitting = []
        for span in spans:
            room -= self.count(span.text)
            if room < 0:
                return None
            fitting.append(span)
        return fitting

    def add(self, spans: Sequence[Span]) -> bool:
        """Add all spans or none, and return True if they fit. Texts already in the draft are skipped."""
        keys = ["".join(span.text.split()) for span in spans]
        first = {key: span.id for span, key in zip(spans[::-1], keys[::-1], strict=True)}
        new = [
            span
            for span, key in zip(spans, keys, strict=True)
            if span not in self and first[key] == span.id and key not in self._texts
        ]
        chosen = self._spans_with(new)
        tokens = self.count(self._text(chosen)) if new else self.tokens
        if tokens > self.budget:
            return False
        self._chosen, self.tokens = chosen, tokens
        self._texts |= first.keys()
        return True

    def _spans_with(self, new: Iterable[Span]) -> dict[str, list[Span]]:
        """Return the chosen and the new spans by passage; spans that touch or overlap are joined."""
        chosen = dict(self._chosen)
        for span in new:
            apart: list[Span] = []
            for other in chosen.get(span.passage.id, ()):
                if other.end < span.start or span.end < other.start:
                    apart.append(other)
                else:
                    span = span.joined(other)
            chosen[span.passage.id] = sorted([*apart, span], key=lambda other: other.start)
        return chosen

    def context(self) -> Context:
        sources = (_source(number, run) for number, run in enumerate(self._runs(self._chosen), 1))
        return Context(self._text(self._chosen), tuple(sources), self.tokens)

    def _text(self, chosen: Mapping[str, Sequence[Span]]) -> str:
        return "\n\n".join(_source_text(_source(number, run)) for number, run in enumerate(self._runs(chosen), 1))

    def _runs(self, chosen: Mapping[str, Sequence[Span]]) -> list[list[Span]]:
        runs: list[list[Span]] = []
        for spans in sorted(chosen.values(), key=self._place):
            if runs and _follows(runs[-1][-1].passage, spans[0].passage, self.material):
                runs[-1] += spans
            else:
                runs.append([*spans])
        return runs

    def _place(self, spans: Sequence[Span]) -> tuple[int, int, str]:
        passage = spans[0].passage
        return self.material.ranks[passage.docid], passage.sequence, passage.id


def _follows(passage: Passage, following: Passage, material: Material) -> bool:
    """Return True if a passage comes next in its section, and has the same types."""
    if passage.key != following.key or passage.types != following.types:
        return False
    between = range(passage.sequence + 1, following.sequence)
    return not between or not any(p.sequence in between for p in material.sections[passage.key].passages)


def _source(number: int, run: Sequence[Span]) -> CitedSource:
    ids = tuple(dict.fromkeys(span.passage.id for span in run))
    end = max(span.line_end for span in run)
    return cited_source(number, run[0].passage, _join_spans(run), run[0].line_start, end, ids)


def cited_source(number: int, first: Passage, text: str, start: int, end: int, ids: tuple[str, ...]) -> CitedSource:
    """Return a source that begins with a passage."""
    return CitedSource(
        number, first.titles, first.docid, first.source, first.anchor, first.path, start, end, first.types, first.depth,
        text, ids, first.page,
    )  # fmt: skip


def _join_spans(run: Sequence[Span]) -> str:
    groups = [[run[0]]]
    for before, span in pairwise(run):
        if before.end < len(before.passage.text) or span.start > 0:
            groups.append([])
        groups[-1].append(span)
    return f"\n\n{LEFT_OUT}\n\n".join(map(_merge_spans, groups))


def _merge_spans(spans: Sequence[Span]) -> str:
    if len(spans) == 1:
        return spans[0].text
    texts = [
        replace(span.passage, text=span.text, line_start=span.line_start, line_end=span.line_end) for span in spans
    ]
    return merge(texts)


def _source_text(source: CitedSource) -> str:
    """Return a source's text in its numbered tag, under titles and types; without its place, to save tokens."""
    types = f" ({', '.join(map(_line, source.types))})" if source.types else ""
    titles = " > ".join(map(_line, source.titles)) or _line(source.source)
    return enclose("source", f"{titles}{types}\n\n{source.text}", source.number)


def _line(text: str) -> str:
    return " ".join(text.split())
