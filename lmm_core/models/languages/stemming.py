"""Stem words and list stop words, by language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path

from ...errors import ModelError
from .words import WordCache, find_words, fold

LISTS = Path(__file__).parents[1] / "stopword_lists"
# Languages with a Snowball stemmer, by code
LANGUAGES = {
    "en": "english", "de": "german", "fr": "french", "it": "italian", "es": "spanish", "ar": "arabic", "da": "danish",
    "el": "greek", "fi": "finnish", "hu": "hungarian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
# Names of further languages, for messages and prompts
_NAMES = {
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "th": "Thai", "lo": "Lao", "my": "Burmese", "km": "Khmer",
    "pl": "Polish", "cs": "Czech", "sk": "Slovak", "sl": "Slovenian", "hr": "Croatian", "sr": "Serbian",
    "uk": "Ukrainian", "bg": "Bulgarian", "ca": "Catalan", "eu": "Basque", "gl": "Galician", "et": "Estonian",
    "lv": "Latvian", "lt": "Lithuanian", "is": "Icelandic", "ga": "Irish", "la": "Latin", "he": "Hebrew",
    "fa": "Persian", "hi": "Hindi", "id": "Indonesian", "ms": "Malay", "vi": "Vietnamese",
    "hy": "Armenian", "ka": "Georgian",
}  # fmt: skip
_SAME = {"nb": "no", "nn": "no"}
# Patterns and replacements that unify spellings: British as American, and Greek letters of formulas as their names.
# JavaScript uses them too.
_ENGLISH = [
    ("(?<=[a-z]{2})our(?=(?:s|ed|ing|er|ers|able|ful|less|ite|ites|hood|hoods)?$)", "or"),  # colour
    ("(?<=[a-z]{2}[bt])re(?=s?$)", "er"),  # centre
    ("(?<=[a-z]{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations)$)", "iz"),  # normalise
    ("(?<=[a-z]l)ys(?=(?:e|es|ed|er|ers|ing)$)", "yz"),  # analyse
    ("(?<=[a-z]{2}[ao])logue(?=s?$)", "log"),  # catalogue
]
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi "
        "chi psi omega".split(),
        strict=True,
    )
)
SPELLINGS = {"": [(f"^{letter}$", name) for letter, name in _GREEK.items()], "en": _ENGLISH}
# Accents, often left out in typing, are removed before stemming; other stemmers need them
_TYPED_WITHOUT_ACCENTS = frozenset({"en", "de", "fr", "it", "es"})


def language_code(lang: str) -> str:
    """Return the code for a locale (`de` for `de-AT`) or a language's English name (`german`)."""
    code = re.split(r"[-_.]", lang.strip().lower())[0]
    short = next((short for short, name in LANGUAGES.items() if name == code), code)
    return _SAME.get(short, short)


def language_name(code: str) -> str:
    """Return a language's English name, or its code."""
    return _NAMES.get(code) or (LANGUAGES[code].capitalize() if code in LANGUAGES else code)


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return a language's stop words, or an empty set if it has no list.

    Raise ModelError if a list is unreadable: searching without it would give other results."""
    code = language_code(language)
    if code not in WITH_STOP_WORDS:
        return frozenset()
    file = LISTS / f"{LANGUAGES[code]}.txt"
    try:
        return frozenset(file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}. Install LM markdown again.", stop=True) from None


@cache
def further_stop_words(language: str) -> frozenset[str]:
    """Return further frequent words of a language, or an empty set if it has no list."""
    file = LISTS / "more" / f"{language}.txt"
    return frozenset(file.read_text(encoding="utf-8").split()) if file.is_file() else frozenset()


WITH_STOP_WORDS = tuple(code for code in LANGUAGES if code not in ("ar", "el", "ro", "ta", "tr"))

CACHED_TEXTS = 8192  # a server searches the same texts again: about 5 MB


class Stemmer:
    """The stemmer of a language. Without a Snowball stemmer, words are only folded (see `fold`)."""

    def __init__(self, language: str) -> None:
        self.language = language_code(language)
        self._stem: Callable[[str], str] = str
        if self.language in LANGUAGES:
            from py_rust_stemmers import SnowballStemmer

            self._stem = SnowballStemmer(LANGUAGES[self.language]).stem_word
        self._left_out = frozenset(map(fold, stop_words(self.language)))
        self.stem = WordCache(self.find_stem).__getitem__  # cached; "" for a stop word
        self.stems = lru_cache(CACHED_TEXTS)(self._find_stems)  # of a text in order, without stop words

    def find_stem(self, word: str) -> str:
        """Return a word's stem, uncached; "" for a stop word."""
        folded = fold(word)
        if folded in self._left_out:
            return ""
        if folded in _GREEK:
            return _GREEK[folded]
        if self.language not in _TYPED_WITHOUT_ACCENTS:
            return fold(self._stem(word))
        for pattern, other in _ENGLISH if self.language == "en" else ():
            folded = re.sub(pattern, other, folded)
        return self._stem(folded)

    def _find_stems(self, text: str) -> tuple[str, ...]:
        return tuple(stem for stem in map(self.stem, find_words(text)) if stem)


class Stemmers:
    """The stemmers of several languages, created on first use."""

    def __init__(self, language: str = "") -> None:
        self.language = language_code(language)
        self._stemmers: dict[str, Stemmer] = {}

    def of(self, language: str) -> Stemmer:
        """Return the stemmer for a code; "" is the default language."""
        code = language or self.language
        if code not in self._stemmers:
            self._stemmers[code] = Stemmer(code)
        return self._stemmers[code]

    def stems_of(self, word: str) -> set[str]:
        """Return a word's stems in the languages used so far, except those in which it is a stop word."""
        return {stem for stemmer in self._stemmers.values() if (stem := stemmer.stem(word))}

    def query_stems(self, word: str, languages: Iterable[str] = ()) -> list[str]:
        """Return the stems of a query's word, or the folded word if it is a stop word in all languages.

        languages: codes; by default all used so far"""
        codes = tuple(languages) or tuple(self._stemmers) or (self.language,)
        return list(dict.fromkeys(filter(None, (self.of(code).stem(word) for code in codes)))) or [fold(word)]
