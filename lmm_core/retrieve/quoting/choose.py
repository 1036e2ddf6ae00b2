"""Choose the passages that answer a question, or say that the notes do not answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...index.passages import Passage
from ..context import CitedSource, Context
from ..items import may_be_shown
from ..ranking.lexical import Match
from ..search import Retrieval
from .excerpt import Quoter, numbered

# Nothing here understands a question. If the best passage has less than half of what a question
# asks for, counted by how rare its words are, the notes are taken not to answer it.
LEAST_SHARE = 0.5
AS_GOOD = 0.8  # share of the best score; a second passage that has it is quoted, too
MOST_OF_KIND = 3  # sources of the type that was asked for
OF_KIND_FROM = 0.5  # share of the best score that they have


@dataclass(frozen=True)
class Quotation:
    """Quotations with the numbers of their sources, the best first; both are empty if the notes do not answer."""

    text: str = ""
    cited: tuple[int, ...] = ()


def quote_notes(found: Retrieval, context: Context) -> Quotation:
    """Return the passage of a context that fits a question best, and the second if it is about as good.

    Sources of a type that was asked for are quoted whole. Others of a type are not quoted, since
    an exercise may hold its solution; definitions are."""
    sources = {ident: source for source in context.sources for ident in source.ids}
    passages = [one for one in found.passages if one.id in sources and may_be_shown(one, found.kind)]
    matches = found.lexical.match(found.text, passages, found.kind)
    ranked = sorted(passages, key=lambda one: -matches[one.id].score)  # equal ones as they were found
    if not ranked or (not found.kind and matches[ranked[0].id].share < LEAST_SHARE):
        return Quotation()
    quoter = Quoter(found)
    if found.kind:
        whole = _of_kind(ranked, matches, sources)
        return _joined([(quoter.whole(source.text), source.number) for source in whole])
    return _joined([(quoter.excerpt(one, sources[one.id]), sources[one.id].number) for one in _best(ranked, matches)])


def _best(ranked: Sequence[Passage], matches: Mapping[str, Match]) -> list[Passage]:
    """Return the best passage, and the best one of another section if that is about as good."""
    best = matches[ranked[0].id].score
    other = next((one for one in ranked if one.key != ranked[0].key), None)
    return [ranked[0], *([other] if other and matches[other.id].score >= AS_GOOD * best else [])]


def _of_kind(
    ranked: Sequence[Passage], matches: Mapping[str, Match], sources: Mapping[str, CitedSource]
) -> list[CitedSource]:
    """Return the sources of the best passages, in their order in the notes."""
    least = OF_KIND_FROM * matches[ranked[0].id].score
    good = {sources[one.id].number: sources[one.id] for one in ranked if matches[one.id].score >= least}
    return sorted(list(good.values())[:MOST_OF_KIND], key=lambda source: source.number)


def _joined(parts: Sequence[tuple[str, int]]) -> Quotation:
    text = "\n\n".join(numbered(text, number) for text, number in parts)
    return Quotation(text, tuple(dict.fromkeys(number for _, number in parts)))
