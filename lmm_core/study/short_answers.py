"""Extract short answers for cards: one or two sentences of a passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile

from ..indexing.passages import Passage
from ..indexing.statistics import emphasised
from ..markdown.regions import split_fences
from ..models.annotators.prose import leans, split_sentences
from ..models.languages.stemming import Stemmer
from ..retrieve.items import without_fences
from ..retrieve.merging import merge
from ..retrieve.ranking.words import asked_words

MOST_WORDS = 60
_NO_PROSE = ("```", "~~~", "|", "#", "<", "!", ":", "[^", "    ")  # beginnings of code, tables, figures etc.
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)」』）*_`]*\Z")
_TERM_OF_LIST = re.compile(r"\n+:[ \t]+")
_ITEM = re.compile(r"^[ \t]*(?:[-*+>]|\d+[.)])[ \t]+", re.M)
_FORMULA = re.compile(r"\$\$.*?\$\$(?:\{[^}\n]*\})?", re.S)
_NOTE = re.compile(r"\[\^[^\]\n]+\](?::.*)?|<!--.*?-->", re.S)
# Links within the course and attributes of spans, useless on a card
_LINK = re.compile(r"(?<!!)\[([^\]\n@]+)\](?:\((?!https?:)[^)\n]*\)|\[[^\]\n]*\]|\{[^}\n]*\})")
_OPTIONS = re.compile(r"^(?P<fence>[`~]{3,}) *\{(?P<language>\w+)[^}\n]*\}|^#\|.*\n", re.M)


def short_answer(question: str, passages: Sequence[Passage], language: str, summary: str) -> str:
    """Return the sentence sharing most words (emphasised ones twice) with a question, and a neighbour.

    The summary is returned if it shares more, "" if there is no prose."""
    stemmer = _stemmer(language)
    asked = set(stemmer.stems(" ".join(asked_words(question, language))))

    def shared(sentence: str) -> int:
        terms = set(stemmer.stems(" ".join(emphasised(sentence))))
        return len(asked.intersection(stemmer.stems(sentence))) + len(asked & terms)

    texts = [split_sentences(text) for text in _prose(merge(passages))]
    whole = [[*takewhile(_ENDED.search, sentences)] for sentences in texts if not sentences[0][0].islower()]
    places = [(own, at) for own in whole for at in range(len(own))]
    if not places and not summary:  # only lead-ins of formulas and lists
        places = [(own, 0) for own in texts]
    paragraph, at = max(places, key=lambda place: shared(place[0][place[1]]), default=([summary], 0))
    if summary and shared(paragraph[at]) < max(shared(summary), 1):
        return _shorten(summary)
    needs_more = at > 0 and leans(paragraph[at])
    sentences = paragraph[at - needs_more : at + 2 - needs_more]
    return _shorten(" ".join(sentences), paragraph[at])


@cache
def _stemmer(language: str) -> Stemmer:
    return Stemmer(language)


def _shorten(text: str, instead: str = "") -> str:
    """Return a text, its shorter replacement if too long, or the first words."""
    if len(text.split()) <= MOST_WORDS:
        return text
    words = (instead or text).split()
    return " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")


def _prose(markdown: str) -> Iterator[str]:
    prose = "\n".join(text for is_code, text in split_fences(without_fences(markdown)) if not is_code)
    prose = _LINK.sub(r"\1", _TERM_OF_LIST.sub(": ", _NOTE.sub("", _FORMULA.sub("\n\n", prose))))
    for paragraph in re.split(r"\n\s*\n", prose):
        if not paragraph.lstrip("\n").startswith(_NO_PROSE):
            yield from (" ".join(item.split()) for item in _ITEM.split(paragraph) if item.strip())


def beginning(text: str) -> str:
    """Return the first paragraphs or sentences, at most `MOST_WORDS` words."""
    kept = _within(text.split("\n\n"), "\n\n") or _within(split_sentences(text.split("\n\n")[0]), " ")
    return kept or _shorten(text)


def _within(parts: Sequence[str], between: str) -> str:
    texts = [between.join(parts[:count]) for count in range(len(parts) + 1)]
    return max((text for text in texts if len(text.split()) <= MOST_WORDS), key=len)


def without_options(markdown: str) -> str:
    """Return text without chunk options: ```` ```{r, echo=FALSE} ```` becomes ```` ```r ````."""
    return _OPTIONS.sub(lambda match: f"{match['fence']}{match['language']}" if match["fence"] else "", markdown)
