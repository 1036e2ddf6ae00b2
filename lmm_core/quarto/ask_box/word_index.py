"""The index of the words in an ask box's rows, in shards of which a browser loads those that it needs.

Its texts are, for each section in its order, what is said about it (if anything is) and its passages, numbered from
0. Numbers are written with five bits a character, the lowest first (`pack`), or, where a browser is to
find each at its place without reading those before it, as one character (`sign`). index.js reads this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ...models.languages.words import find_words, fold
from ...retrieve.ranking.lexical import FIELDS
from .plain_text import in_unicode

SHARD = 50_000  # bytes of a shard; a longer word list has one of its own
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
ABOUT = ("title", "questions", "summary")  # the fields of what is said about a section
PASSAGE = ("terms", "text")  # those of a passage
_NAMES = tuple(FIELDS)
_ZERO = "#"  # the sign of 0: JSON escapes those before it
_MOST = 55_000  # the largest number that is a sign: halves of characters follow
_QUICK = 4096  # numbers that are not packed anew each time

Title = tuple[int, str]  # of a section, after its depth
Posting = tuple[int, int]  # a text, and how often it has the word


@dataclass
class WordIndex:
    """The words of some rows.

    sections: of each, packed: 4 x its passages + 2 if it has a summary + 1 if something is said about it. columns:
    three numbers of each text, as signs: the lengths of its fields (`ABOUT` or `PASSAGE`) as numbers of different
    words, and in the last column the type of a passage (0: none, else from 1 in `types`). count: of the texts.
    usual: the mean length of each field. shards: each with its first word, a line a word: the word, and after a blank
    its postings, packed: for each field that has it, 5 x how many texts have it there + the number of the field; of
    each of these texts how many texts further it is, doubled, and 1 more where the word stands there twice or more,
    with 2 less than that after it. spelling: all words by their length, with blanks between."""

    sections: str
    columns: list[str]
    count: int
    types: Sequence[str]
    usual: list[float]
    shards: list[tuple[str, str]]
    spelling: list[str]


def index_words(rows: Sequence[list[Any]], stop: str) -> WordIndex:
    """Return the index of the words in rows. stop: words that are not looked for, in a text."""
    types = sorted({kind for row in rows for _, kind, _ in map(parts_of, row[7]) if kind})
    counting = _Counting(frozenset(map(fold, find_words(stop))))
    sections, texts = [], list[list[int]]()
    for row, titles in zip(rows, titles_of(rows), strict=True):
        about = bool(row[2] or row[5] or row[6])
        sections.append(pack(4 * len(row[7]) + 2 * bool(row[5]) + about))
        if about:
            texts.append(counting.add(ABOUT, (" ".join(titles), " ".join(row[6]), row[5])))
        for text, kind, terms in map(parts_of, row[7]):
            texts.append([*counting.add(PASSAGE, (terms, text)), types.index(kind) + 1 if kind else 0])
    columns = ["".join(sign(text[at]) for text in texts) for at in range(len(ABOUT))]
    usual = [counting.lengths[name] / max(counting.texts[name], 1) for name in _NAMES]
    postings = _packed(counting.postings)
    words = _in_order(postings)
    shards = [*_shards((word, f"{word} {postings[word]}") for word in words)]
    return WordIndex("".join(sections), columns, counting.count, types, usual, shards, _by_length(words))


def describe_index(words: WordIndex) -> dict[str, Any]:
    """Return what the box is told of an index before it loads any of its shards."""
    return {
        "sections": words.sections,
        "columns": words.columns,
        "count": words.count,
        "types": words.types,
        "usual": words.usual,
        "shards": [first for first, _ in words.shards],
    }


def parts_of(passage: Any) -> tuple[str, str, str]:
    """Return a passage's text, its type and the words that it emphasises, from its place in a row."""
    row = [passage] if isinstance(passage, str) else passage
    text, kind, _, terms = [*row, "", "", ""][:4]
    return text, kind, terms


def titles_of(rows: Iterable[list[Any]]) -> Iterator[list[str]]:
    """Yield the titles on the way to each section of rows, its own the last; none twice in sequence."""
    for path in paths_of((row[1], row[2]) for row in rows):
        yield [title for title, _ in groupby(filter(None, path))]


def paths_of(titles: Iterable[Title]) -> Iterator[list[str]]:
    """Yield the titles on the way to each section by their depth, "" where there is none."""
    path: list[str] = []
    for depth, title in titles:
        path = [*path[:depth], *[""] * (depth - len(path)), title]
        yield path


def pack(number: int) -> str:
    """Return a number, 0 or more, as characters of five bits, the lowest first; a sixth says that it goes on."""
    if number < len(_PACKED):
        return _PACKED[number]
    return DIGITS[number] if number < 32 else DIGITS[32 + number % 32] + pack(number // 32)


def sign(number: int) -> str:
    """Return a number, 0 or more, as one character; those above 55,000 count as that."""
    return chr(ord(_ZERO) + min(number, _MOST))


_PACKED: list[str] = []
_PACKED += [pack(number) for number in range(_QUICK)]


@dataclass
class _Counting:
    """The words of texts, counted. stop: words that are left out."""

    stop: frozenset[str]
    count: int = 0
    postings: dict[str, dict[str, list[Posting]]] = field(default_factory=lambda: defaultdict(dict))  # by field
    lengths: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)

    def add(self, names: Sequence[str], texts: Sequence[str]) -> list[int]:
        """Count the words in the fields of one more text, and return how many different ones each has."""
        lengths = []
        for name, text in zip(names, texts, strict=True):
            words = _count(in_unicode(text))
            lengths.append(len(words))
            self.lengths[name] += len(words)
            self.texts[name] += 1
            postings = self.postings[name]
            for word, times in words.items():
                if word not in self.stop:
                    postings.setdefault(word, []).append((self.count, times))
        self.count += 1
        return lengths


def _count(text: str) -> Counter[str]:
    words = find_words(text)
    return Counter(words if text.isascii() else map(fold, words))  # words in ASCII are folded


def _packed(postings: Mapping[str, Mapping[str, Sequence[Posting]]]) -> dict[str, str]:
    """Return the postings of words, given by field, as `WordIndex` has them."""
    packed: dict[str, str] = {}
    for number, name in enumerate(_NAMES):
        for word, texts in postings[name].items():
            packed[word] = packed.get(word, "") + pack(len(_NAMES) * len(texts) + number) + _texts(texts)
    return packed


def _texts(postings: Sequence[Posting]) -> str:
    signs, before = list[str](), 0
    for text, times in postings:
        signs.append(pack(2 * (text - before) + (times > 1)))
        if times > 1:
            signs.append(pack(times - 2))
        before = text
    return "".join(signs)


def _shards(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    shard: list[str] = []
    first, size = "", 0
    for word, line in lines:
        length = 1 + (len(line) if line.isascii() else len(line.encode()))
        if shard and size + length > SHARD:
            yield first, "\n".join(shard)
            shard, size = [], 0
        first = first if shard else word
        shard.append(line)
        size += length
    if shard:
        yield first, "\n".join(shard)


def _by_length(words: Sequence[str]) -> list[str]:
    """Return words in their order, joined, by their length in characters of JavaScript."""
    found: dict[int, list[str]] = defaultdict(list)
    length = _javascript_length if _has_pairs(words) else len
    for word in words:
        found[length(word)].append(word)
    return [" ".join(found[length]) for length in range(max(found, default=0) + 1)]


def _in_order(words: Collection[str]) -> list[str]:
    """Return words in the order of JavaScript, which is that of Python where no character takes a pair of halves."""
    return sorted(words, key=_order if _has_pairs(words) else None)


def _has_pairs(words: Iterable[str]) -> bool:
    """Return True if some character in words takes a pair of halves in UTF-16."""
    text = "".join(words)
    return _javascript_length(text) != len(text)


def _javascript_length(text: str) -> int:
    return len(_order(text)) // 2


def _order(word: str) -> bytes:
    """Return what sorts words as JavaScript does: by the halves of their signs in UTF-16."""
    return word.encode("utf-16-be", "surrogatepass")
