"""Annotations without a language model, taken from the text itself.

This stand-in needs no key and no network, and makes nothing up. A question is a heading that asks
it, or asks for a term that the text defines ("A residual is …"). A summary consists of sentences
with which a section says what it is about. Where the text has none beyond doubt, nothing is
written. What is written is marked with the stand-in's name.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..languages.recognize import recognize_language
from ..languages.stemming import language_code
from ..sources import STAND_IN_NAME
from .annotator import Annotation, AnnotatorSection
from .definitions import find_definitions
from .lead import summarize
from .prose import extract_prose
from .sentences import find_sentences, words_of
from .wording import Wording, wording_of

MOST_QUESTIONS = 12
LEAST_WORDS = 4  # of a title that is a question; 3 with a verb such as "is" after the first
NO_ANSWERS = frozenset({"exercise", "solution"})  # types of sections that do not answer what they ask


class ExtractiveAnnotator:
    """The annotator that needs no model. A section takes it milliseconds."""

    name = STAND_IN_NAME
    stopped = None

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`."""
        return extract(section)

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return 0

    async def close(self) -> None:
        """See `Annotator`."""


def extract(section: AnnotatorSection) -> Annotation:
    """Return at most 12 questions and a summary of at most 400 characters, each empty if there is none.

    Only questions in headings are found in languages other than English, French, German, Italian
    and Spanish."""
    own = section.text if section.lead is None else section.lead
    titles = [_plain(title) for title in section.titles]
    sentences = find_sentences(own)
    prose = " ".join(one.text for one in sentences) or own  # a list of definitions has no sentences
    language = language_code(section.language) or recognize_language(prose)
    wording = wording_of(language)
    answers = not NO_ANSWERS & set(section.kinds)
    asked = [titles[-1]] if titles and answers and _asks(titles[-1], language) else []
    if wording is None:
        return Annotation(asked)
    if not answers:
        return Annotation()
    defined = find_definitions(own, sentences, titles, section.kinds, wording)
    others = [one for one in defined.questions if not (asked and _is_same(one, asked[0], wording))]
    return Annotation([*asked, *others][:MOST_QUESTIONS], summarize(sentences, defined.sentences, titles, wording))


def _is_same(question: str, title: str, wording: Wording) -> bool:
    """Return True if a question differs from a title in an article alone."""
    return set(words_of(question)) ^ set(words_of(title)) <= wording.lists.indefinite | {"the"}


def _plain(title: str) -> str:
    return " ".join(extract_prose(title).split())


def _asks(title: str, language: str) -> bool:
    """Return True if a title is a whole question that needs no text before it."""
    if not title.endswith(("?", "？", "؟")):
        return False
    words, wording = words_of(title), wording_of(language)
    if wording is None:
        return len(words) >= LEAST_WORDS or len(title) > 6
    first = title.split()[0].lower().replace("’", "'")
    begins = first in wording.lists.asks or first.split("'")[0] in wording.lists.asks
    whole = len(words) >= LEAST_WORDS or (
        len(words) == LEAST_WORDS - 1 and ("-" in first or words[1] in wording.grammar.verbs)
    )
    return begins and whole and not wording.stands_for(words)
