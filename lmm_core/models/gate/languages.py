"""The language of a text, by its script and its frequent words.

Short texts have few of these, so the guess is only used to refuse what is plainly in another
language.
"""

from __future__ import annotations

from functools import cache, lru_cache

from ..languages.recognize import foresee_recognizing, recognize_language
from ..languages.stemming import language_code
from ..languages.stopwords import STOPWORDS
from .words import fold, main_script, own_words, words_in

# The words of questions, which the lists of stop words lack in part.
_ASKING = {
    "en": "what which who whom whose when where why how does do did is are can could should would will",
    "de": "was welche welcher welches welchem welchen wer wen wem wessen wann wo woran wodurch wofür womit wozu worin "
    "worauf woraus warum weshalb wieso wie inwiefern",
    "fr": "que quoi quel quelle quels quelles qui où quand comment pourquoi combien est-ce qu laquelle lequel",
    "es": "qué cuál cuáles quién quiénes cómo cuándo dónde cuánto cuánta cuántos cuántas por para",
    "it": "che cosa cos quale quali chi come quando dove perché quanto quanta quanti quante",
}
_SCRIPTS = {
    "el": "Greek", "ru": "Cyrillic", "uk": "Cyrillic", "be": "Cyrillic", "bg": "Cyrillic", "sr": "Cyrillic",
    "mk": "Cyrillic", "kk": "Cyrillic", "mn": "Cyrillic", "hy": "Armenian", "he": "Hebrew", "yi": "Hebrew",
    "ar": "Arabic", "fa": "Arabic", "ur": "Arabic", "hi": "Indic", "mr": "Indic", "ne": "Indic", "bn": "Indic",
    "ta": "Indic", "te": "Indic", "th": "Thai", "ka": "Georgian", "am": "Ethiopic", "zh": "Han", "ja": "Han",
    "ko": "Hangul",
}  # fmt: skip
SOURCES = 8  # whose languages are kept: each is asked for with every question and summary about a source
_FEW = 2  # words of another language, and none of its own, by which a question is in the other


@cache
def frequent_words(language: str) -> frozenset[str]:
    """Return the frequent words of a language, folded; none if it is not one of those known here."""
    asking = _ASKING.get(language, "").split()
    return frozenset(map(fold, (*STOPWORDS.get(language, ()), *asking)))


@lru_cache(SOURCES)
def languages_of(source: str, code: str) -> frozenset[str]:
    """Return the languages in which something about a source may be: the one that the document
    says it is in, and the one that the source is in, as far as that is clear."""
    said = language_code(code)
    return frozenset({said} if _is_alone(said) else {said, recognize_language(own_words(source))} - {""})


def foresee_languages(source: str, code: str) -> None:
    """Begin to load what `languages_of` will need; to be called before a wait."""
    if not _is_alone(language_code(code)):
        foresee_recognizing(own_words(source))


def _is_alone(said: str) -> bool:
    """Return True for a language that nothing is recognized beside, as little is known here of its words."""
    return bool(said) and said not in STOPWORDS


def is_other_language(text: str, source: str, code: str) -> bool:
    """Return True if a text is plainly in a language that is not that of its source.

    code: the language that the document says it is in, "" if it does not."""
    plain = own_words(text)
    script, expected = main_script(plain), {main_script(source), _script_of(code)} - {""}
    if script and expected and script not in expected:
        return True
    own = languages_of(source, code)
    known = frozenset[str]().union(*map(frequent_words, own))
    if not own & STOPWORDS.keys():
        known = frozenset(words_in(fold(source)))
    words = set(words_in(fold(plain)))
    return any(_is_rather(words, frequent_words(other), known) for other in STOPWORDS if other not in own)


def _is_rather(words: set[str], other: frozenset[str], known: frozenset[str]) -> bool:
    """Return True if words are plainly of another language. Those that are in both say nothing."""
    here, there = len(words & (known - other)), len(words & (other - known))
    return (there >= _FEW and not here) or (there > 3 and there > 2 * here)


def _script_of(code: str) -> str:
    language = language_code(code)
    return _SCRIPTS.get(language, "Latin" if language else "")


def all_frequent_words(source: str, code: str) -> frozenset[str]:
    """Return the words that say nothing about a subject, in the language of a source."""
    own = languages_of(source, code) & STOPWORDS.keys()
    return frozenset[str]().union(*map(frequent_words, own or STOPWORDS))
