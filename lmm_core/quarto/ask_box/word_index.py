"""The index of the words in an ask box's rows, in shards of which a browser loads those that it needs.

Its texts are, for each section in its order, what is said about it (if anything is) and its passages; they are
numbered from 0. Numbers are written with five bits a character, the lowest first (`pack`), or, where a browser is to
find each at its place without reading those before it, as one character (`sign`). index.js reads this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
Runs = list[list[Any]]  # the postings of words in consecutive texts, in columns: see `CountedWords`


@dataclass
class WordIndex:
    """The words of some rows.

    sections: of each, packed: 4 x its passages + 2 if it has a summary + 1 if something is said about it. columns:
    three numbers of each text, as signs: the lengths of its fields (`ABOUT` or `PASSAGE`) as numbers of different
    words, and in the last column the type of a passage (0: none, else from 1 in `types`). count: of the texts. usual:
    the mean length of each field. shards: each with its first word, a line a word: the word, and after blanks its
    postings in each field, packed: how many texts have it; of each how many texts further it is, doubled, and 1 more
    where the word stands there twice or more, with 2 less than that after it. spelling: all words by their length,
    with blanks between."""

    sections: str
    columns: list[str]
    count: int
    types: Sequence[str]
    usual: list[float]
    shards: list[tuple[str, str]]
    spelling: list[str]


@dataclass
class CountedWords:
    """The words of the rows of some documents, as plain values, of which those of all documents are put together.

    sections, columns, count: as in `WordIndex`. lengths, having: of each field, the sum of its lengths and how many
    texts have it. runs: of each field, in columns, which are sooner read from a file than rows: the words; how many
    texts have each; what is said of the first, counted from 0; the last; what is said of those after it, packed."""

    sections: str
    columns: list[str]
    count: int
    lengths: list[int]
    having: list[int]
    runs: list[Runs]


def types_in(rows: Iterable[list[Any]]) -> list[str]:
    """Return the types that passages of rows have, in their order."""
    return sorted({kind for row in rows for _, kind, _ in map(parts_of, row[7]) if kind})


def count_words(rows: Sequence[list[Any]], stop: str, types: Sequence[str]) -> CountedWords:
    """Count the words in rows, of which the first begins a document. stop: words that are not looked for, in a text;
    types: those of all rows."""
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
    lengths, having = ([counts[name] for name in _NAMES] for counts in (counting.lengths, counting.texts))
    runs = [_runs(counting.postings[name]) for name in _NAMES]
    return CountedWords("".join(sections), columns, counting.count, lengths, having, runs)


def index_words(counted: Sequence[CountedWords], types: Sequence[str]) -> WordIndex:
    """Return the index of the words in rows that were counted by parts. types: those of all rows."""
    joined: list[dict[str, _Joined]] = [{} for _ in _NAMES]
    count = 0
    for one in counted:
        for known, runs in zip(joined, one.runs, strict=True):
            _join(known, runs, count)
        count += one.count
    words = sorted(set().union(*joined), key=_order)
    sizes = [
        (sum(one.lengths[at] for one in counted), sum(one.having[at] for one in counted)) for at in range(len(_NAMES))
    ]
    usual = [length / max(texts, 1) for length, texts in sizes]
    shards = list(_shards((word, _line(word, joined)) for word in words))
    sections = "".join(one.sections for one in counted)
    columns = ["".join(one.columns[at] for one in counted) for at in range(len(ABOUT))]
    return WordIndex(sections, columns, count, types, usual, shards, _by_length(words))


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


_Joined = list[Any]  # of a word: how many texts have it, the last, the pieces of what is said of all
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


def _runs(postings: Mapping[str, Sequence[Posting]]) -> Runs:
    columns = zip(*map(_run, postings.values()), strict=True)
    return [[*postings], *map(list, columns)] if postings else [[]] * 5


def _run(postings: Sequence[Posting]) -> tuple[int, int, int, str]:
    first, times = postings[0]
    signs, before = [pack(times - 2)] if times > 1 else [], first
    for text, more in postings[1:]:
        signs.append(pack(2 * (text - before) + (more > 1)))
        if more > 1:
            signs.append(pack(more - 2))
        before = text
    return len(postings), 2 * first + (times > 1), before, "".join(signs)


def _join(known: dict[str, _Joined], runs: Runs, count: int) -> None:
    """Put the runs of further texts behind those of so many texts."""
    for word, texts, first, last, packed in zip(*runs, strict=True):
        run = known.get(word)
        if run is None:
            known[word] = [texts, count + last, [pack(2 * count + first), packed]]
        else:
            run[0] += texts
            run[2] += (pack(2 * (count - run[1]) + first), packed)
            run[1] = count + last


def _line(word: str, joined: Sequence[Mapping[str, _Joined]]) -> str:
    runs = (known.get(word) for known in joined)
    return " ".join([word, *(pack(run[0]) + "".join(run[2]) if run else "" for run in runs)]).rstrip()


def _shards(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    shard: list[str] = []
    first, size = "", 0
    for word, line in lines:
        length = len(line.encode()) + 1
        if shard and size + length > SHARD:
            yield first, "\n".join(shard)
            shard, size = [], 0
        first = first if shard else word
        shard.append(line)
        size += length
    if shard:
        yield first, "\n".join(shard)


def _by_length(words: Iterable[str]) -> list[str]:
    """Return words in their order, joined, by their length in characters of JavaScript."""
    found: dict[int, list[str]] = defaultdict(list)
    for word in words:
        found[len(_order(word)) // 2].append(word)
    return [" ".join(found[length]) for length in range(max(found, default=0) + 1)]


def _order(word: str) -> bytes:
    """Return what sorts words as JavaScript does: by the halves of their signs in UTF-16."""
    return word.encode("utf-16-be", "surrogatepass")
