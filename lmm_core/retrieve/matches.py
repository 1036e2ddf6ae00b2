"""Show best matches without a model: the best sections, with sentences that have most of the question's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

from ..indexing.passages import Key, Passage
from ..indexing.statistics import emphasised
from ..models.annotators.prose import leans, split_sentences
from ..models.languages.words import find_words
from .context import CitedSource, cited_source
from .items import may_be_shown
from .plain_text import escape, in_unicode, labels_in, plain_text
from .search import Retrieval

SECTIONS = 3
SHORT = 120  # characters of a sentence that needs the next one
LONG = 600  # characters of an excerpt that may include a list
CODE_LINES = 12  # after a sentence
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)」』）]*\Z")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_WIDE_GAP = re.compile(r"(?<=[。！？]) |(?<=[。！？][”’」』）]) ")  # Chinese and Japanese set no blank after a sentence
_WORD = re.compile(r"\w(?:[\w'’-]*\w)?")


@dataclass(frozen=True)
class _Part:
    """A line of prose with its sentences, or the lines of code or a table."""

    sentences: tuple[str, ...]
    is_code: bool = False


def best_matches(retrieval: Retrieval) -> tuple[CitedSource, ...]:
    """Return excerpts of the best sections, numbered from 1; none if they match too little.

    Texts are markdown with the question's words in bold. Typed parts, such as exercises, must be requested."""
    sections: dict[Key, list[Passage]] = {}
    for passage in retrieval.passages:
        if may_be_shown(passage, retrieval.type):
            sections.setdefault(passage.key, []).append(passage)
    best = list(sections.values())
    if not best or not (retrieval.type or retrieval.lexical.covers(retrieval.text, best[0])):
        return ()
    excerpts = _Excerpts(retrieval)
    sources = filter(None, (excerpts.first(passages) for passages in best))
    return tuple(replace(source, number=number) for number, source in enumerate(islice(sources, SECTIONS), 1))


class _Excerpts:
    def __init__(self, retrieval: Retrieval) -> None:
        self.retrieval, self.index = retrieval, retrieval.lexical
        self.asked = self.index.weighted_stems(retrieval.text)
        self.stems = set().union(*self.asked)
        self.references, self.links = labels_in(retrieval.material)

    def first(self, passages: Sequence[Passage]) -> CitedSource | None:
        """Return an excerpt of the first passage with text, None without any (such as images alone)."""
        for passage in passages:
            parts = self._parts(passage) if self.retrieval.type else self._excerpt(passage)
            if text := "\n\n".join(self._render_part(part, passage.language) for part in parts):
                return cited_source(0, passage, text, passage.line_start, passage.line_end, (passage.id,))
        return None

    def _parts(self, passage: Passage) -> list[_Part]:
        lines = in_unicode(plain_text(passage.text, self.references, self.links)).split("\n")
        parts = []
        for sign, group in groupby(filter(str.strip, lines), key=_sign_of):
            own = list(group)
            parts += (
                [_Part(tuple(own), is_code=True)] if sign else [_Part(tuple(split_sentences(line))) for line in own]
            )
        return parts

    def _excerpt(self, passage: Passage) -> list[_Part]:
        """Return the best sentence, the one it needs, and the code after it."""
        parts = self._parts(passage)
        if not parts:
            return []
        places = [(at, number) for at, part in enumerate(parts) for number in range(len(part.sentences))]
        prose = [(at, number) for at, number in places if not parts[at].is_code]
        terms = [" ".join(find_words(term)) for term in emphasised(passage.text)]
        scores = {(at, n): self._score(parts[at].sentences[n], terms, passage.language) for at, n in places}
        if not any(scores[place] for place in prose):
            prose = []
        at, number = max(prose or places, key=lambda place: scores[place])  # first on ties
        if parts[at].is_code:
            return [_code_around(parts[at], number)]
        excerpt = _Part(tuple(_with_neighbour(parts[at].sentences, number)))
        is_last = parts[at].sentences[-1] in excerpt.sentences
        return [excerpt, *(_parts_after(excerpt, parts[at + 1 :]) if is_last else ())]

    def _score(self, sentence: str, terms: Sequence[str], language: str) -> float:
        """Return the share of a question in a sentence, by rarity; emphasised terms count twice."""
        stems = self.index.stemmers.of(language).stems
        words = f" {' '.join(find_words(sentence))} "
        own, defined = set(stems(sentence)), set(stems(" ".join(term for term in terms if f" {term} " in words)))
        counts = ((not own.isdisjoint(word_stems)) + (not defined.isdisjoint(word_stems)) for word_stems in self.asked)
        return sum(count * self.index.rarity(word_stems) for count, word_stems in zip(counts, self.asked, strict=True))

    def _render_part(self, part: _Part, language: str) -> str:
        if part.is_code:
            lines = [line.removeprefix("    ") for line in part.sentences]
            return "\n".join(["```", *lines, "```"])
        stems = self.index.stemmers.of(language).stems
        text, at, pieces = _WIDE_GAP.sub("", " ".join(part.sentences)), 0, []
        for word in _WORD.finditer(text):
            if not self.stems.isdisjoint(stems(word[0])):
                pieces += [escape(text[at : word.start()]), "**", escape(word[0]), "**"]
                at = word.end()
        return "".join([*pieces, escape(text[at:])])


def _sign_of(line: str) -> str:
    """Return the first sign of a line of code or table, "" for prose."""
    return next((sign for sign in ("    ", "|") if line.startswith(sign)), "")


def _with_neighbour(sentences: Sequence[str], number: int) -> Sequence[str]:
    """Return a sentence with the previous one if needed for context, or the next one if it is short."""
    if number and leans(sentences[number]):
        return sentences[number - 1 : number + 1]
    return sentences[number : number + 1 + (len(sentences[number]) < SHORT)]


def _parts_after(part: _Part, following: Sequence[_Part]) -> list[_Part]:
    """Return the code after sentences, and the list that an unfinished one introduces."""
    size, last, after = sum(map(len, part.sentences)), part.sentences[-1], list[_Part]()
    for next_part in following:
        size += sum(map(len, next_part.sentences))
        if next_part.is_code:
            return [*after, _code_around(next_part, 0)]
        if _ENDED.search(last) or (not after and _ITEM.match(last)) or size > LONG:
            break
        after.append(next_part)
        last = next_part.sentences[-1]
    return after


def _code_around(part: _Part, number: int) -> _Part:
    start = max(0, min(number - CODE_LINES // 2, len(part.sentences) - CODE_LINES))
    return _Part(part.sentences[start : start + CODE_LINES], is_code=True)
