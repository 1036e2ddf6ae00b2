"""The summary of a section: the sentences with which it says what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..languages.stopwords import STOPWORDS
from .sentences import LOST, Sentence, beginning_of, words_of
from .wording import Wording

SUMMARY_CHARACTERS = 400
SHORTEST, LONGEST = 7, 45  # words of a sentence
AMONG_FIRST = 4  # sentences: what comes later is about details
NAMED_WITHIN = 7  # words: what a sentence is about stands near its beginning
_UNFIT = re.compile(
    rf"[{LOST}\\@^{{}}|~]|https?:|www\.|\]\(|[?!:;…]\W*$|\*\*|\(\)|``|\b[\w/]+\.(?:com|org|net|io)\b"
    r"|::|\w_\w|[a-z][A-Z]|\b[b-z]\b|, (?:though|too|either|however)\.$|\bsimilar\b(?! to)|“[^”]*$|\bTODO\b|\d\.\d"
    r"|(?<!or )\b(?:more|less) (?!.*\bthan\b)"
    r"|\bwe (?:used|saw|learned|created|added|defined|wrote|made|had|did|were|want)\b"
    r"|\b(?:above|below)\b(?! (?:the|an?|it|them|zero|average)\b)"
    r"|^The (?:\w+ ){1,3}(?:gets|displays|prints|specifies|shows|produces|can use)\b"
)
_MATHS = re.compile(r"\$([\w .,+=()<>-]{1,30})\$")
_GENERIC = frozenset(
    """introduction overview summary about conclusion background motivation basics notes remarks discussion details
    einleitung einführung überblick zusammenfassung übersicht grundlagen introducción resumen conclusión introduzione
    riassunto sommario conclusioni résumé aperçu chapter part section kapitel teil chapitre capítulo capitolo""".split()
)
_NO_SUBJECT = _GENERIC.union(*STOPWORDS.values())


def summarize(
    sentences: Sequence[Sentence], definitions: Sequence[Sentence], titles: Sequence[str], wording: Wording
) -> str:
    """Return the first sentence that stands by itself and is about the title, and the next one if
    it says more of the same; else the first definition; "" if there is none."""
    about = _subject(titles)
    for at, first in enumerate(sentences[:AMONG_FIRST]):
        if _is_fit(first, wording) and wording.may_sum_up(first.words) and _begins_with(first, about, wording):
            return _fit([first, *_going_on(sentences[at + 1 :], about, wording)])
    return _fit([one for one in definitions if _is_fit(one, wording) and wording.may_sum_up(one.words)][:1])


def _subject(titles: Sequence[str]) -> set[str]:
    """Return the beginnings of the words that say what a section is about.

    They are those of its title, or of the nearest title around it that says something."""
    for title in reversed(titles):
        words = {beginning_of(word) for word in words_of(title) if word not in _NO_SUBJECT and len(word) > 2}
        if words:
            return words
    return set()


def _begins_with(sentence: Sentence, about: set[str], wording: Wording) -> bool:
    """Return True if a sentence names its subject near its beginning, and by name."""
    for word in sentence.words[:NAMED_WITHIN]:
        if beginning_of(word) in about:
            return True
        if word in wording.lists.pronouns:
            return False
    return False


def _going_on(sentences: Sequence[Sentence], about: set[str], wording: Wording) -> list[Sentence]:
    """Return the next sentence of a paragraph, if it is about the same."""
    if not sentences or sentences[0].opens or not _is_fit(sentences[0], wording):
        return []
    words = sentences[0].words
    same = words[0] in wording.lists.pronouns or about & {beginning_of(word) for word in words[:NAMED_WITHIN]}
    return [sentences[0]] if same else []


def _is_fit(sentence: Sentence, wording: Wording) -> bool:
    text, words = _shown(sentence), sentence.words
    whole = SHORTEST <= len(words) <= LONGEST and text.endswith(".") and text[0].isalpha()
    whole = whole and text.count("(") == text.count(")")
    return whole and not _UNFIT.search(text) and "$" not in text and not wording.points_out(words)


def _fit(sentences: Sequence[Sentence]) -> str:
    """Return as many of the sentences as there is room for."""
    taken: list[str] = []
    for one in sentences:
        if len(" ".join([*taken, _shown(one)])) > SUMMARY_CHARACTERS:
            break
        taken.append(_shown(one))
    return " ".join(taken)


def _shown(sentence: Sentence) -> str:
    return _MATHS.sub(r"\1", sentence.text)
