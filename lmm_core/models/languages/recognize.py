"""Recognize a text's language by script or stop words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain

from .stemming import WITH_STOP_WORDS, stop_words
from .words import WordCache, find_words, fold

MOST_CHARACTERS = 20_000  # examined
_MANY = 12  # words needed to count stop words
_SHARE = 0.2  # minimum of stop words
_AHEAD = 1.5  # times the second language
# Code, formulas, addresses and markup. (One alternative for line starts: each `^` is tried at every character.)
_ASIDE = re.compile(
    r"^(?:(`{3,}|~{3,}).*?^\1|---\n.*?^---$|:::.*?$|    .*?$)|\$\$.*?\$\$|`[^`\n]*`|\$[^$\n]+\$|<[^<>\n]*>"
    r"|\]\([^()\n]*\)|https?://\S+|\{[^{}\n]*\}|[@\\][\w.:-]+",
    re.M | re.S,
)
# Scripts of nearly one language: Hangul, kana, Han, Thai, Lao, Burmese, Khmer, Greek, …
_SCRIPTS = {
    "ko": "\uac00-\ud7a3", "ja": "\u3041-\u30fa", "zh": "\u3400-\u9fff", "th": "\u0e01-\u0e4e", "lo": "\u0e81-\u0edf",
    "my": "\u1000-\u109f", "km": "\u1780-\u17d3", "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u05d0-\u05ea",
    "ta": "\u0b80-\u0bff", "hy": "\u0530-\u058f", "ka": "\u10a0-\u10ff",
}  # fmt: skip
_ANY_SCRIPT = f"[{''.join(_SCRIPTS.values())}]"  # compiled on first use
_LETTER = re.compile(r"[^\W\d_]")
_KANA = 0.05  # minimum in a Japanese text's letters
_PLAIN = 0.3  # minimum in a text's letters, beside code and foreign words


def recognize_language(text: str) -> str:
    """Return a language code, "" if unclear or without stop words."""
    prose = _ASIDE.sub(" ", text[:MOST_CHARACTERS])
    return _by_script(prose) or _by_words([word for word in find_words(prose) if "." not in word])


def main_language(languages: Iterable[str]) -> str:
    """Return the most frequent of documents' languages ("" for unclear ones), by default English."""
    counts = Counter(filter(None, languages))
    return max(counts, key=lambda code: counts[code], default="en")


def _by_script(text: str) -> str:
    if text.isascii() or not re.search(_ANY_SCRIPT, text):
        return ""
    letters = max(1, len(_LETTER.findall(text)))
    shares = {code: len(re.findall(f"[{signs}]", text)) / letters for code, signs in _SCRIPTS.items()}
    if shares["ja"] >= _KANA:
        shares["ja"] += shares.pop("zh")
    most = max(shares, key=lambda code: shares[code])
    return most if shares[most] >= _PLAIN else ""


def _by_words(words: list[str]) -> str:
    count = len(words) - sum(map(str.isdigit, words))
    if count < _MANY:
        return ""
    counts = Counter(chain.from_iterable(map(_languages_with_word().__getitem__, words)))
    (most, code), (second, _) = sorted(((counts[code], code) for code in WITH_STOP_WORDS), reverse=True)[:2]
    return code if most > _SHARE * count and most > _AHEAD * second else ""


@cache
def _languages_with_word() -> WordCache[tuple[str, ...]]:
    return WordCache(lambda word: () if word.isdigit() else _languages().get(fold(word), ()))


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    frequent = {code: frozenset(map(fold, stop_words(code))) for code in WITH_STOP_WORDS}
    words = frozenset().union(*frequent.values())
    return {word: tuple(code for code in WITH_STOP_WORDS if word in frequent[code]) for word in words}
