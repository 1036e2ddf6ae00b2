"""The language that a text is in, recognized by its script, else by its stop words, else by a library.

The library (py3langid) knows 140 languages, and takes half a second to load its model. Most texts are
in a language that is plain without it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import chain
from typing import Any

from .known import KnownWords
from .stemming import LANGUAGES, WITH_STOP_WORDS, stop_words
from .words import find_words, fold

MOST_CHARACTERS = 20_000  # of a text that are looked at
ENOUGH = 8  # words of a text whose language can be recognized
_MANY = 12  # that are enough to count stop words
_SHARE = 0.2  # of its words are stop words of its language
_AHEAD = 1.5  # times as many as of the language with the second most
_SURE = 0.9  # the probability, by the library, of a language that is taken
# Code, formulas, addresses and markup, which are in no language. (What starts a line is one alternative, since each
# that begins with `^` is tried at every character.)
_ASIDE = re.compile(
    r"^(?:(`{3,}|~{3,}).*?^\1|---\n.*?^---$|:::.*?$|    .*?$)|\$\$.*?\$\$|`[^`\n]*`|\$[^$\n]+\$|<[^<>\n]*>"
    r"|\]\([^()\n]*\)|https?://\S+|\{[^{}\n]*\}|[@\\][\w.:-]+",
    re.M | re.S,
)
# Scripts that are of one language, nearly always: Hangul, kana, Han, Thai, Lao, Burmese, Khmer, Greek, …
_SCRIPTS = {
    "ko": "\uac00-\ud7a3", "ja": "\u3041-\u30fa", "zh": "\u3400-\u9fff", "th": "\u0e01-\u0e4e", "lo": "\u0e81-\u0edf",
    "my": "\u1000-\u109f", "km": "\u1780-\u17d3", "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u05d0-\u05ea",
    "ta": "\u0b80-\u0bff", "hy": "\u0530-\u058f", "ka": "\u10a0-\u10ff",
}  # fmt: skip
_ANY_SCRIPT = f"[{''.join(_SCRIPTS.values())}]"  # compiled when first needed, as the ones above
_LETTER = re.compile(r"[^\W\d_]")
_KANA = 0.05  # of the letters of a Japanese text, at least
_PLAIN = 0.3  # of the letters of a text, beside code and foreign words


class NotPlainError(LookupError):
    """The language of a text is not plain without the library, whose model takes 90 MB in each process."""


def recognize_language(text: str) -> str:
    """Return the code of a text's language, or "" if that is not clear."""
    try:
        return recognize_plainly(text)
    except NotPlainError:
        return _by_library(_prose(text))


def recognize_plainly(text: str) -> str:
    """Return the same as `recognize_language`. Raise NotPlainError where that asks the library."""
    plain = _prose(text)
    words = [word for word in find_words(plain) if "." not in word]  # numbers are of no language, their parts follow
    found = _by_script(plain) or _by_words(words)
    if not found and len(words) >= ENOUGH:
        raise NotPlainError
    return found


def forget_library() -> None:
    """Free the library's model, which is loaded again when it is asked: for who has asked all that there was to ask."""
    _identifier.cache_clear()


def _prose(text: str) -> str:
    return _ASIDE.sub(" ", text[:MOST_CHARACTERS])


def _by_script(text: str) -> str:
    if text.isascii() or not re.search(_ANY_SCRIPT, text):
        return ""
    if not (letters := len(_LETTER.findall(text))):
        return ""
    shares = {code: len(re.findall(f"[{signs}]", text)) / letters for code, signs in _SCRIPTS.items()}
    if shares["ja"] >= _KANA:
        shares["ja"] += shares.pop("zh")
    most = max(shares, key=lambda code: shares[code])
    return most if shares[most] >= _PLAIN else ""


def _by_words(words: list[str]) -> str:
    """Return the language that has plainly the most of a text's words among its stop words, or ""."""
    count = len(words) - sum(map(str.isdigit, words))
    if count < _MANY:
        return ""
    found = Counter(chain.from_iterable(map(_having().__getitem__, words)))
    (most, code), (second, _) = sorted(((found[code], code) for code in WITH_STOP_WORDS), reverse=True)[:2]
    return code if most > _SHARE * count and most > _AHEAD * second else ""


@cache
def _having() -> KnownWords[tuple[str, ...]]:
    """Return for words the languages that have them among their stop words."""
    return KnownWords(lambda word: () if word.isdigit() else _languages().get(fold(word), ()))


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    frequent = {code: frozenset(map(fold, stop_words(code))) for code in WITH_STOP_WORDS}
    words = frozenset().union(*frequent.values())
    return {word: tuple(code for code in WITH_STOP_WORDS if word in frequent[code]) for word in words}


def _by_library(text: str) -> str:
    code, probability = _identifier().classify(text)
    return {"nb": "no", "nn": "no", "wuu": "zh", "yue": "zh", "zxx": ""}.get(code, code) if probability >= _SURE else ""


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


# The names of languages, for people; of another, its code is shown.
_NAMES = {
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "th": "Thai", "lo": "Lao", "my": "Burmese", "km": "Khmer",
    "pl": "Polish", "cs": "Czech", "sk": "Slovak", "sl": "Slovenian", "hr": "Croatian", "sr": "Serbian",
    "uk": "Ukrainian", "bg": "Bulgarian", "ca": "Catalan", "eu": "Basque", "gl": "Galician", "et": "Estonian",
    "lv": "Latvian", "lt": "Lithuanian", "is": "Icelandic", "ga": "Irish", "la": "Latin", "he": "Hebrew",
    "fa": "Persian", "hi": "Hindi", "id": "Indonesian", "ms": "Malay", "vi": "Vietnamese",
    "hy": "Armenian", "ka": "Georgian",
}  # fmt: skip


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if it has none here."""
    return _NAMES.get(code) or (LANGUAGES[code].capitalize() if code in LANGUAGES else code)
