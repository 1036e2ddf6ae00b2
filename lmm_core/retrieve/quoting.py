"""Answers without a model: the passages of the notes that answer a question, and which sentences of them are quoted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..index.passages import Passage
from ..index.statistics import emphasised
from ..markdown.regions import split_fences
from ..models.annotators.prose import leans, split_sentences
from ..models.languages.words import find_words, fold
from .context import CitedSource, Context
from .items import kind_of, may_be_shown, without_fences
from .ranking.lexical import Match
from .readable import readable_paragraphs, with_references
from .search import Retrieval

# Nothing here understands a question. If the best passage has less than half of what a question
# asks for, counted by how rare its words are, the notes are taken not to answer it.
LEAST_SHARE = 0.5
AS_GOOD = 0.8  # share of the best score; a second passage that has it is quoted, too
MOST_OF_KIND = 3  # sources of the type that was asked for
OF_KIND_FROM = 0.5  # share of the best score that they have
WHOLE = 600  # characters of a paragraph that is quoted whole
LONG = 400  # characters after which no further sentence is quoted
SHORT = 120  # characters of a quotation that comes with what follows it
LEAD_IN = 300  # characters of a paragraph that is quoted before one that needs it
TERM = 1.0  # what a term counts more in the sentence where it is emphasised
# Words by which a question asks for code or a table, in the languages of the word lists.
CODE = frozenset("code python program programm programme programma programa script snippet codice codigo".split())
TABLE = frozenset("table tables tabelle tabellen tableau tableaux tabella tabla tablas".split())
_NOTE_LABEL = re.compile(r"\A\[\^[^\]]+\]:[ \t]*")
_TABLE = re.compile(r"(?:^[ \t]*[|+].*(?:\n|\Z))+(?:\n*^[ \t]*(?:Table)?:[ \t].*)?", re.M)
# A block whose last line takes no number: code, a formula, a table, its caption.
_CLOSED = re.compile(r"(?:`{3,}|~{3,}|\$\$|\||^[ \t]*:.*|^ {4}.*)[ \t]*\Z", re.M)

_WIDE_GAP = re.compile(r"([。！？][”’」』）]?) ")  # Chinese and Japanese set no blank after a sentence

Sentences = list[str]


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
    ranked = [one for one in found.passages if one.id in sources and may_be_shown(one, found.kind)]
    matches = found.lexical.match(found.text, ranked, found.kind)
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


# Excerpts


def numbered(text: str, number: int) -> str:
    """Return a text followed by its source's number, below it after code, a formula or a table."""
    between = "\n\n" if _CLOSED.search(text) else " "
    return f"{text}{between}[{number}]"


class Quoter:
    """Quotes passages in answer to a question."""

    def __init__(self, found: Retrieval) -> None:
        self._index = found.lexical
        self._asked = [set(meant) for meant in self._index.meant(found.text)]
        words = set(map(fold, find_words(found.text)))
        self._blocks = [cut for names, cut in ((CODE, _code_in), (TABLE, _tables_in)) if names & words]
        self._titles = found.material.titles

    def whole(self, markdown: str) -> str:
        """Return a source as it stands, with its references made readable."""
        return with_references(without_fences(markdown), self._titles).strip()

    def excerpt(self, passage: Passage, source: CitedSource) -> str:
        """Return what a passage, and the source that it is part of, say in answer to the question.

        This is a paragraph, or some sentences of one; a definition as a whole; code and tables
        only if the question asks for them, or if there is nothing else."""
        if kind_of(passage):
            prose = " ".join(readable_paragraphs(passage.text, self._titles))
        else:
            prose = self._sentences(source.text, passage.language)
        blocks = [block for cut in self._blocks for block in cut(passage.text)]
        return "\n\n".join(filter(None, [prose, *blocks])) or self.whole(_NOTE_LABEL.sub("", passage.text.strip()))

    def _sentences(self, markdown: str, language: str) -> str:
        """Return the best sentences that stand by themselves, or "" if none does."""
        paragraphs = [split_sentences(text) if text else [] for text in readable_paragraphs(markdown, self._titles)]
        terms = [" ".join(find_words(term)) for term in emphasised(markdown)]
        places = [(at, number) for at, sentences in enumerate(paragraphs) for number in range(len(sentences))]
        scores = {(at, number): self._score(paragraphs[at][number], terms, language) for at, number in places}
        for at, number in sorted(places, key=lambda place: -scores[place]):  # the first of equal ones
            if quoted := _around(paragraphs, at, number):
                return quoted
        return ""

    def _score(self, sentence: str, terms: Sequence[str], language: str) -> float:
        """Return how many of the asked words a sentence has, those it defines twice."""
        stemmer = self._index.stemmers.of(language)
        stems = set(stemmer.stems(sentence))
        words = f" {' '.join(find_words(sentence))} "
        here = " ".join(term for term in terms if f" {term} " in words)
        defined = set(stemmer.stems(here))
        return sum(bool(meant & stems) + TERM * bool(meant & defined) for meant in self._asked)


def _around(paragraphs: Sequence[Sentences], at: int, number: int) -> str:
    """Return a sentence of a paragraph with what belongs to it, or "" if it does not stand by itself.

    A short paragraph comes whole. A sentence that needs the one before it comes with that one."""
    sentences = paragraphs[at]
    for start in dict.fromkeys([0, number] if _length(sentences) <= WHOLE else [number]):
        while start and leans(sentences[start]):
            start -= 1
        before = paragraphs[at - 1] if at and start == 0 else []
        if not leans(sentences[start]):
            before = []
        elif not 0 < _length(before) <= LEAD_IN or leans(before[0]):
            continue
        if quoted := _ended([*before, *_from(sentences, start)], paragraphs[at + 1 :]):
            return quoted
    return ""


def _length(sentences: Sentences) -> int:
    return len(" ".join(sentences))


def _from(sentences: Sentences, start: int) -> Sentences:
    """Return the sentences of a paragraph from one on, as far as they are quoted."""
    room = WHOLE if start == 0 and _length(sentences) <= WHOLE else LONG
    return _taken(sentences[start : start + 1], sentences[start + 1 :], room)


def _taken(quoted: Sentences, more: Sentences, room: int) -> Sentences:
    """Return sentences with as many of those after them as there is room for."""
    for sentence in more:
        if _length([*quoted, sentence]) > room:
            break
        quoted = [*quoted, sentence]
    return quoted


def _ended(quoted: Sentences, after: Sequence[Sentences]) -> str:
    """Return sentences with what they announce, or without the announcement of what is left out.

    Few words come with the paragraph after them. after: the paragraphs after the sentences."""
    for sentences in after:
        if not sentences or not (quoted[-1].endswith(":") or _length(quoted) < SHORT):
            break
        longer = _taken(quoted, sentences, WHOLE)
        if longer == quoted:
            break
        quoted = [*longer[:-1], f"{longer[-1]};"] if longer[-1][-1:].isalnum() else longer
    while quoted and quoted[-1].endswith(":"):
        quoted = quoted[:-1]
    return _WIDE_GAP.sub(r"\1", " ".join(quoted)).rstrip(";")


def _code_in(markdown: str) -> list[str]:
    return [piece.strip("\n") for is_code, piece in split_fences(markdown) if is_code]


def _tables_in(markdown: str) -> list[str]:
    prose = "".join("\n\n" if is_code else piece for is_code, piece in split_fences(markdown))
    return [found[0].strip("\n") for found in _TABLE.finditer(prose)]
