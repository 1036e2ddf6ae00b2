"""The words of a text, in any script, and whether two texts share words that say what they are about."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

# Letters that are written without spaces between words: Thai to Burmese, Khmer, kana, Han.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0590-\u05cf\u0610-\u061a\u064b-\u065f\u0900-\u0fff"  # which belong to the letter before
_WORD = re.compile(rf"[\w{_MARKS}]+")
_LETTER = re.compile(r"[^\W\d_]")
_RUN = re.compile(rf"[{UNSPACED}]+")
_SCRIPTS = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-\u024f\u1e00-\u1eff", "Greek": "\u0370-\u03ff\u1f00-\u1fff", "Cyrillic": "\u0400-\u052f",
    "Armenian": "\u0530-\u058f", "Hebrew": "\u0590-\u05ff", "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Indic": "\u0900-\u0dff", "Thai": "\u0e00-\u0e7f", "Georgian": "\u10a0-\u10ff", "Ethiopic": "\u1200-\u137f",
    "Han": "\u3041-\u30ff\u3400-\u9fff", "Hangul": "\u1100-\u11ff\uac00-\ud7af",
}  # fmt: skip
_LETTERS = {script: re.compile(f"[{letters}]+") for script, letters in _SCRIPTS.items()}
_NO_LETTERS = re.compile(r"[\W\d_]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
# Beside the words, code, formulas and quoted terms, which may be in any language.
_QUOTED = re.compile(r"`[^`\n]{1,200}`|\$[^$\n]{1,200}\$|[„“”«»\"‘][^„“”«»\"‘’\n]{1,200}[“”«»\"’]")
MOST_CHARACTERS = 200_000  # of a text that is compared; the beginning says what it is about
_SHORT = 3  # letters of a word that has to be found whole, but for an ending
_LONG = 5  # letters that may stand inside a word, as in German compounds


def fold(text: str) -> str:
    """Return a text in lower case and without accents, so that `Häuser` begins as `Haus` does."""
    parts = unicodedata.normalize("NFKD", text[:MOST_CHARACTERS].casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", parts))


def words_in(text: str) -> list[str]:
    """Return the words of a text as they stand, numbers among them."""
    return _WORD.findall(text)


def lettered(text: str) -> list[str]:
    """Return the words of a text that have letters; of one without spaces, its characters."""
    found = [word for word in words_in(text) if _LETTER.search(word)]
    return [part for word in found for part in (word if _RUN.search(word) else [word])]


def own_words(text: str) -> str:
    """Return a text without code, formulas and quoted terms."""
    return _QUOTED.sub(" ", text)


def quoted_words(text: str) -> str:
    """Return the code, formulas and quoted terms of a text."""
    return " ".join(_QUOTED.findall(text))


def scripts_in(text: str) -> Counter[str]:
    """Return the number of letters in each script."""
    letters = _NO_LETTERS.sub("", text[:MOST_CHARACTERS])
    found = Counter[str]()
    for script, one in _LETTERS.items():
        left = one.sub("", letters)  # no letter is of two scripts, and most texts are of the first
        if len(left) < len(letters):
            found[script] = len(letters) - len(left)
        letters = left
    return found


def main_script(text: str) -> str:
    """Return the script of most of a text's letters, or "" if none has most."""
    found = scripts_in(text)
    script, count = next(iter(found.most_common(1)), ("", 0))
    return script if count * 10 > found.total() * 6 else ""


class Subject:
    """The subject of a section: the words of its texts, to compare others with."""

    def __init__(self, texts: Iterable[str]) -> None:
        whole = fold("\n".join(texts))
        self.words = set(words_in(whole))
        self._whole = whole
        self._starts = " " + " ".join(sorted({part for word in self.words for part in (word, *word.split("_"))}))

    def shared(self, text: str, left_out: Iterable[str] = ()) -> int:
        """Return how many words of a text, beside those `left_out`, are words of the subject.

        Endings do not count; of texts without spaces, pairs of characters are compared."""
        without = set(left_out)
        words = {word for word in words_in(fold(text)) if word not in without and (len(word) > 1 or word.isdigit())}
        return sum(self._has(word) for word in words) + self._single_letters(text)

    def _has(self, word: str) -> bool:
        if word in self.words:
            return True
        if _RUN.search(word):
            return any(pair in self._whole for run in _RUN.findall(word) for pair in _pairs(run))
        if main_script(word) == "Hangul":  # particles are written after the word
            return word[:2] in self._whole
        if len(word) <= _SHORT:
            return any(f" {word}{ending} " in f"{self._starts} " for ending in ("s", "e", "n"))
        if main_script(word) in ("Arabic", "Hebrew"):  # articles and prepositions are written before the word
            return any(word[at : at + _SHORT] in self._whole for at in range(len(word) - _SHORT + 1))
        if any(word[:end] in self.words for end in range(_SHORT + 1, len(word))):  # `Kantian` where the text has `Kant`
            return True
        start = word[: max(_SHORT + 1, -(-len(word) * 6 // 10))]
        return f" {start}" in self._starts or (len(start) >= _LONG and start in self._whole)

    def _single_letters(self, text: str) -> int:
        """Return how many names of one letter (R, x, β) in a text are also in the subject."""
        return sum(len(word) == 1 and word.isalpha() and word in self.words for word in set(words_in(fold(text))))


# Pairs that only ask, in Chinese. (Those of hiragana alone say nothing in Japanese.)
_ASKING = frozenset(
    "什么 为什 如何 怎么 怎样 哪些 哪个 是什 么是 么时 的是 何时 请问 是否 可以 我们 一个 的区 之间".split()
)  # fmt: skip


def _pairs(run: str) -> list[str]:
    """Return the pairs of characters that can say what a text is about; for Thai and the like, four at a time."""
    if "\u0e00" <= run[0] <= "\u17ff":
        return [run[at : at + 4] for at in range(len(run) - 3)]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [pair for pair in pairs if pair not in _ASKING and not all("\u3041" <= sign <= "\u309f" for sign in pair)]
