"""Match words of questions to words of texts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile

from ...indexing.statistics import TermStatistics
from ...models.languages.asking import without_asking
from ...models.languages.frequent import frequent_words, language_of_words
from ...models.languages.stemming import LANGUAGES, Stemmers
from ...models.languages.words import find_compounds, find_words, fold, is_paired, typing_errors
from .weights import FUZZY, PREFIX

NEAREST_CACHED = 1000  # unknown words whose nearest stems are cached
MOST_WORDS = 40  # words of a question; further ones are ignored
_SHORTEST_PREFIX = 4  # letters
_TYPOS = 0.2  # allowed per letter
# Words that ask for something or refer to the text itself, and so name no subject
_REQUESTS = frozenset(
    fold(word)
    for word in """define defined definition describe difference differ explain explained explanation meaning
    means tell versus vs whats example formula table bedeutet bedeuten bedeutung besagt definiere definiert erklare
    erklaren erklarung heisst unterschied unterschiede versteht beispiel formel tabelle definir expliquer signifie
    exemple formule definicion diferencia explicar significa ejemplo definizione differenza differenze spiegare
    esempio такое такой чем отличается отличаются отличие разница различие определение означает значит объясните
    объясни пример формула почему зачем каков какова каковы какой какая какие какое как
    according mention mentioned describe described discuss discusses discussed text article passage author lecture
    notes chapter section document study specific specifically regarding concerning relate related relation role
    play played key detail detailed present presented provide provided outline outlined list listed particular
    involve involved
    laut gemäß erwähnt erwähnten beschrieben beschriebenen besprochen genannt genannten text texte texten artikel
    abschnitt kapitel vorlesung skript studie studien rolle rollen spielt spielen bezüglich hinsichtlich bestimmte
    bestimmten selon mentionné mentionnée décrit décrite texte chapitre cours étude rôle concernant particulier
    según mencionado mencionada descrito descrita texto artículo capítulo sección curso estudio papel respecto
    secondo menzionato menzionata descritto descritta testo testi articolo capitolo sezione corso studio studi ruolo
    riguardo согласно упомянуты упомянут описан описаны описано текст тексте статья статье глава главе лекция лекции
    роль
    """.split()
)
_COURTESY = frozenset(
    fold(word)
    for word in """hi hello hey thanks thank thx please pls plz sorry ok okay
    hallo danke bitte servus moin bonjour salut merci svp hola gracias ciao grazie buongiorno
    привет здравствуйте спасибо пожалуйста""".split()
)
_WORD = re.compile(r"\w[\w'’-]*")
# "mean" in a question about a meaning is not the statistical term
_MEANING = re.compile(r"^(\s*what (?:do|does|did)\b.*)\bmean(?=\W*$)", re.I | re.S)


def asked_words(question: str, language: str) -> list[str]:
    """Return the distinct words of a question that name its subject, or all if none do.

    language: of the material; replaced by another with at least two more frequent words in the question"""
    text = _MEANING.sub(r"\1", question)
    words = list(dict.fromkeys(find_words(without_asking(text)) or find_words(text)))[:MOST_WORDS]
    left_out = frequent_words(language_of_words(words, language))
    naming = [word for word in words if fold(word) not in left_out] or words
    return [word for word in naming if not _asks(fold(word))] or naming


def _asks(word: str) -> bool:
    """Return True for a word of a request or of courtesy, also in a plural with -s."""
    return not {word, word.removesuffix("s")}.isdisjoint(_REQUESTS | _COURTESY)


def other_words(question: str, language: str) -> list[str]:
    """Return the words that `asked_words` omits, which titles may contain ("When not to use it")."""
    asked = asked_words(question, language)
    return [word for word in dict.fromkeys(find_words(without_asking(question))[:MOST_WORDS]) if word not in asked]


def keyword_form(question: str, language: str = "") -> str:
    """Return a question's subject words, or the question if there are none."""
    left_out = frequent_words(language)
    words = [word for word in _WORD.findall(without_asking(question)) if fold(word) not in left_out]
    return " ".join(dict.fromkeys(words)) or question


def names_subject(question: str, language: str) -> bool:
    """Return True if a question has a word that is neither frequent nor mere courtesy."""
    words = [fold(word) for word in find_words(without_asking(question)) if word[-1].isalnum()][:MOST_WORDS]
    return not (frequent_words(language_of_words(words, language)) | _COURTESY).issuperset(words)


def words_data() -> dict[str, list[str]]:
    """Return the words that the ask box ignores: frequent ones by language, and under "" requests and courtesy."""
    return {"": sorted(_REQUESTS | _COURTESY)} | {code: sorted(frequent_words(code)) for code in LANGUAGES}


class Vocabulary:
    """Matches words of questions to stems of texts. counts: texts with each stem."""

    def __init__(self, statistics: TermStatistics, stemmers: Stemmers) -> None:
        self.counts = statistics.stems
        self._statistics, self._stemmers = statistics, stemmers
        for language in statistics.words:  # stem question words in each language
            stemmers.of(language)
        self._near_of = lru_cache(NEAREST_CACHED)(self._nearest_stems)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.counts)

    @cached_property
    def _forms(self) -> dict[tuple[str, int], list[tuple[str, str]]]:
        """Folded words with stems, by first letter and length."""
        forms: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
        for language, words in self._statistics.words.items():
            stem_of = self._stemmers.of(language).stem
            for word in words:
                if stem := stem_of(word):
                    folded = fold(word)
                    forms[folded[:1], len(folded)].append((folded, stem))
        return forms

    def _starting(self, start: str) -> Iterator[str]:
        return takewhile(lambda stem: stem.startswith(start), self._sorted[bisect_left(self._sorted, start) :])

    def _form(self, stem: str) -> str:
        words = (word for many in self._forms.values() for word, of_word in many if of_word == stem)
        return min(words, key=lambda word: (len(word), word), default=stem)

    def weighted_stems(self, word: str) -> dict[str, float]:
        """Return a word's stems in each language, and longer ones that begin with it, with weights.

        An unknown word has the stems nearest in spelling, with at most one typing error per five letters."""
        weights: dict[str, float] = {}
        for stem in self._stemmers.query_stems(word):
            if len(stem) >= _SHORTEST_PREFIX or (len(stem) == 1 and is_paired(stem)):
                weights = dict.fromkeys(self._starting(stem), PREFIX) | weights
            if stem in self.counts:
                weights[stem] = 1.0
        return weights or dict.fromkeys(self._near_of(fold(word)), FUZZY)

    def without_unknown(self, question: str, words: Sequence[str]) -> list[str]:
        """Return the words without artefacts of cutting the question into words.

        These are unknown pairs of characters that overlap a known pair (in scripts without blanks), unknown numbers
        with points, unknown signs of code, and either the whole or the parts of a hyphenated word."""
        for parts in find_compounds(question):
            dropped = parts if self._is_known("".join(parts)) else ("".join(parts),)
            words = [word for word in words if word not in dropped]
        are_known = list(map(self._is_known, words))

        def is_unknown(at: int) -> bool:
            is_plain = words[at][0].isalnum() and "." not in words[at]
            return self._is_seam(words, are_known, at) if is_plain else not are_known[at]

        return [word for at, word in enumerate(words) if not is_unknown(at)]

    def _is_known(self, word: str) -> bool:
        return not self.counts.keys().isdisjoint(self._stemmers.query_stems(word))

    @staticmethod
    def _is_seam(words: Sequence[str], is_known: Sequence[bool], at: int) -> bool:
        """Return True for an unknown pair of characters that overlaps a known pair."""
        if is_known[at] or len(words[at]) != 2 or not is_paired(words[at][0]):
            return False
        before = at > 0 and is_known[at - 1] and words[at - 1][-1] == words[at][0]
        return before or (at + 1 < len(words) and is_known[at + 1] and words[at + 1][0] == words[at][1])

    def known_words(self, word: str) -> list[str]:
        """Return a known word as it is, and for an unknown one the words that it may stand for."""
        if self._is_known(word):
            return [word]
        return [self._form(stem) for stem in self.weighted_stems(word)] or [word]

    def _nearest_stems(self, word: str) -> list[str]:
        """Return the stems of the words nearest in spelling, with the same first letter; none for a number."""
        most = round(_TYPOS * len(word)) if len(word) > _SHORTEST_PREFIX and word[0] not in "0123456789" else 0
        errors_of: dict[str, int] = {}
        for size in range(len(word) - most, len(word) + most + 1):
            for other, stem in self._forms.get((word[:1], size), ()) if most else ():
                if (errors := typing_errors(word, other, most)) <= most:
                    errors_of[stem] = min(errors, errors_of.get(stem, errors))
        least = min(errors_of.values(), default=0)
        return [stem for stem, errors in errors_of.items() if errors == least]
