"""Tokenize text into words, in any script.

Korean, and scripts without blanks, become overlapping pairs: `統計学` becomes `統計` and `計学`. A number with points
(`equation 2.8`) is a word, and so is each part. Isolated code signs (`!!!`, `==`), and prefixes with their word
(`-u`, `.git`), follow the text's words. A hyphenated word is also added without its hyphen: `e-mail`, `email`.
The ask box does the same (`words` in search.js).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Value = TypeVar("Value")
MOST = 500_000  # words in a cache; about 80 MB
# Thai, Lao, Burmese, Khmer, kana (whole and half width), Han, and Hangul.
PAIRED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u17d7"
    "\u17dc\u17dd\u3005\u3007\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003fffd"
)
# Combining signs: of all scripts, Hebrew, Arabic, of India, Tibetan.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963"
    "\u0971-\u0df3\u0f71-\u0f84\u0f8d-\u0fbc"
)
_POINT = re.compile(r"\.(?<=[0-9]\.)(?=[0-9])")  # in a number
_HELD = "\x02"  # replaces such a point during cutting
_WORD = rf"[\w{_MARKS}{PAIRED}{_HELD}]+"
_PAIRED = f"[{PAIRED}]"
_PARTS = rf"[{PAIRED}]+|[^{PAIRED}]+"
_compiled = cache(re.compile)  # slow to compile, and not needed for ASCII
# `don't` becomes `do`, `l'erreur` `erreur`; a quoted letter stays.
_CONTRACTION = re.compile(
    r"(?<=\w)(?<!\bca)n['’]t\b|(?<=\bcan)['’]t\b|(?<=[^\W_])['’](?:s|re|ve|ll|d|m)\b|(?<!\w)[cdjlmnst]['’](?=\w)"
)
# An apostrophe in a word, unlike quotation marks. (A single sign is searched for faster.)
_APOSTROPHE, _TYPESET_APOSTROPHE = (re.compile(rf"{sign}(?<=\w{sign})(?=\w)") for sign in ("'", "['’]"))
# Typesetters' signs and their ASCII equivalents: most texts hold no others.
_TYPESET = {"’": "'", "‘": "`", "“": '"', "”": '"', "–": "-", "—": "-", "…": "...", "\u00a0": " "}
_BETWEEN_WORDS = bytes(sign if chr(sign).isalnum() or chr(sign) == _HELD else 32 for sign in range(128)).ljust(256)
_RUN = r"\-+.!=<>/\\@#$%&~|?:^"  # code signs, for a character class
_SIGNS = re.compile(rf"(?<![\w*_{_RUN}])([{_RUN}]{{1,10}})(\w+|(?=[\s`'\"),;]|$))")
# `?` and `>` in quotes, and `?` within a sentence ("the ? operator"); elsewhere they end questions and begin quotes.
_QUOTED_SIGN = re.compile(r"(?<=[`'\"])[?>](?=[`'\"])|(?<=\s)\?(?=[ \t][a-zß-öø-ÿ])")
_OF_MARKDOWN = "-|:#."  # headings, lists, tables, fences
_COMPOUND = re.compile(r"(?<![\w-])([^\W\d_]+)-([^\W\d_]+)(?![\w-])")
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "ς": "σ"})


def find_words(text: str) -> list[str]:
    """Return the words of a text in lower case, then hyphenated ones as one, then code signs."""
    return _letters_in(text) + [first + second for first, second in find_compounds(text)] + _signs_in(text)


def find_compounds(text: str) -> list[tuple[str, str]]:
    """Return the two parts of each word with one hyphen, in lower case."""
    return _COMPOUND.findall(text.lower()) if "-" in text else []


def _signs_in(text: str) -> list[str]:
    signs = _SIGNS.findall(text.lower())
    runs = [run + word for run, word in signs if word or (run.strip(_OF_MARKDOWN) and run not in ("?", ">"))]
    return runs + _QUOTED_SIGN.findall(text) if "?" in text or ">" in text else runs


def _letters_in(text: str) -> list[str]:
    plain = text if text.isascii() else _without_typeset(text)
    if plain.isascii():
        prepared = _with_held_points(_without_contractions(plain.lower()))
        words = prepared.encode().translate(_BETWEEN_WORDS).decode().split()
    else:
        composed = unicodedata.normalize("NFKC", text).lower()  # `é` is one letter, `ﬁ` two
        prepared = _with_held_points(_without_contractions(composed))
        words = _compiled(_WORD).findall(prepared.replace("_", " "))
        if _compiled(_PAIRED).search(prepared):
            words = [part for word in words for part in _parts(word)]
    return [part for word in words for part in _with_parts(word)] if _HELD in prepared else words


def _with_held_points(text: str) -> str:
    return _POINT.sub(_HELD, text.replace(_HELD, " "))


def _with_parts(word: str) -> list[str]:
    return [word.replace(_HELD, "."), *word.split(_HELD)] if _HELD in word else [word]


def _without_typeset(text: str) -> str:
    for sign, plain in _TYPESET.items():
        text = text.replace(sign, plain)
    return text


def _without_contractions(text: str) -> str:
    """Remove matches of `_CONTRACTION`, searched only at apostrophes for speed."""
    parts, at = [], 0
    for mark in (_APOSTROPHE if text.isascii() else _TYPESET_APOSTROPHE).finditer(text):
        contraction = _CONTRACTION.match(text, max(at, mark.start() - 1)) or _CONTRACTION.match(text, mark.start())
        if contraction and contraction.start() >= at:
            parts.append(text[at : contraction.start()])
            at = contraction.end()
    return "".join([*parts, text[at:]])


def _parts(word: str) -> list[str]:
    if not _compiled(_PAIRED).search(word):
        return [word]
    return [part for run in _compiled(_PARTS).findall(word) for part in (_pairs(run) if is_paired(run[0]) else [run])]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def is_paired(sign: str) -> bool:
    """Return True if a sign's script is cut into pairs."""
    return _compiled(_PAIRED).match(sign) is not None


def count_words(text: str) -> int:
    """Count words between blanks, or pairs in scripts without blanks."""
    count = len(text.split())
    if text.isascii():
        return count
    runs = _compiled(f"{_PAIRED}+")
    if not runs.search(text):
        return count
    composed = unicodedata.normalize("NFKC", text)
    return sum(len(run) - 1 or 1 for run in runs.findall(composed)) + len(runs.sub(" ", text).split())


def fold(text: str) -> str:
    """Fold case and accents."""
    lower = text.lower()
    if lower.isascii():
        return lower
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", lower))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def typing_errors(word: str, other: str, most: int) -> int:
    """Return the optimal string alignment distance (letters added, dropped, replaced or swapped), up to `most` + 1."""
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            far = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == against:
                far = min(far, before[j - 2] + 1)
            row.append(far)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


class WordCache(dict[str, Value]):
    """Cache of a function by word; `map(cache.__getitem__, words)` is the fastest bulk lookup."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        self._find = find

    def __missing__(self, word: str) -> Value:
        if len(self) > MOST:
            self.clear()
        value = self[word] = self._find(word)
        return value
