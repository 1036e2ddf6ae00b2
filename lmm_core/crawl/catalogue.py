"""The catalogue: which indexes there are, and which of them a query is about.

.md_index/catalogue.json          of each index: name, description, root, what it was made with
.md_index/NAME/vectors/           the collection (or NAME.vectors on a Qdrant server)
.md_index/NAME/snippets/ID.md     the snippets as files
.md_index/NAME/terms.json         how many snippets hold each word, and the mean vectors
"""

from __future__ import annotations

import json
import math
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from operator import add, mul, sub
from pathlib import Path
from typing import Any

from ..errors import CrawlError, FolderError, StoreError
from ..files.marked import check_inside, is_ours, make_marked
from ..index.encoding import DENSE, SPARSE
from ..markdown.files import save_markdown
from ..models.embedders.embedder import Sparse
from ..store.edge_store import INDEX
from ..store.folder_lock import FolderLock
from ..store.opening import open_store
from ..store.places import LocalStorage, RemoteSource
from ..store.points import checked_name
from ..store.ranking import fused, in_order
from ..store.vector_store import Vector, VectorStore

FORMAT = 1
ALL = "all"
CATALOGUE, TERMS, SNIPPETS, VECTORS = "catalogue.json", "terms.json", "snippets", "vectors"
INDEXES = "md-indexes"  # the kind of the folder; those in it are of the store's kind
UNFINISHED = "unfinished"  # lies in an index's folder while it is changed
LONGEST_NAME = 100
SHORTLIST = 5
SAID = 0.1  # a description counts as if one snippet in ten were its text


def checked_index_name(name: str) -> str:
    """The name of an index, where it can be one: it becomes a folder's name. Raises
    CrawlError."""
    with suppress(StoreError):
        if len(name) <= LONGEST_NAME and not name.endswith(".") and name.lower() not in (ALL, CATALOGUE):
            return checked_name(name)
    raise CrawlError(
        f"{name!r} cannot be the name of an index: letters, digits, - _ and . are wanted, no . in front or at the end, "
        f"at most {LONGEST_NAME} characters, and not {ALL!r}"
    )


def as_utf8(text: str) -> str:
    """A text that can be written and embedded: half a surrogate pair becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def other_models(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Says that an index was made with other models than are wanted now, and what to do."""
    keys = {"encoding": "encoding", "embedding": "embedding model", "sparse": "word model"}
    other = [
        f"{said} {known.get(key) or 'none'}, now {wanted.get(key) or 'none'}"
        for key, said in keys.items()
        if known.get(key) != wanted.get(key)
    ]
    return (
        f"the index {name!r} was made otherwise ({'; '.join(other)}): configure what it was made with ([embeddings] "
        "of config.toml), or index its folder under another name"
    )


# What is known of an index


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An index in the catalogue. root: the folder that was crawled, from the database's
    root; files, snippets: how many; identity: the encoding and the models it was made with
    (`Encoder.identity`); centroid: the mean of its dense vectors, `said` the dense vector
    of the description (both empty without an embedding model); words: the description's
    BM25 weights by the words' numbers."""

    name: str
    description: str
    root: str
    files: int
    snippets: int
    identity: dict[str, Any] = field(default_factory=dict)
    centroid: list[float] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    words: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the snippets of an index are about. count: how many they are; numbers: of the
    words (as BM25 numbers them), sorted; for each of them frequencies: how many snippets
    hold it, weights: the sum of its BM25 weights; dense: the sum of the dense vectors."""

    count: int = 0
    numbers: Sequence[int] = ()
    frequencies: Sequence[int] = ()
    weights: Sequence[float] = ()
    dense: Sequence[float] = ()

    def frequency(self, word: int) -> int:
        """How many snippets hold a word."""
        at = self._place(word)
        return 0 if at is None else self.frequencies[at]

    def mean(self, word: int) -> float:
        """The mean weight of a word over all snippets."""
        at = self._place(word)
        return 0.0 if at is None else self.weights[at] / self.count

    def _place(self, word: int) -> int | None:
        at = bisect_left(self.numbers, word)
        return at if at < len(self.numbers) and self.numbers[at] == word else None

    @property
    def centroid(self) -> list[float]:
        """The mean of the dense vectors."""
        return [value / self.count for value in self.dense] if self.count else []


class Tally:
    """Terms that are kept up while snippets come and go."""

    def __init__(self, terms: Terms | None = None) -> None:
        terms = terms or Terms()
        self.count = terms.count
        self._words = {
            word: (frequency, weight)
            for word, frequency, weight in zip(terms.numbers, terms.frequencies, terms.weights, strict=True)
        }
        self._dense = list(terms.dense)

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """A snippet with these vectors has come."""
        self._change(vectors, 1)

    def remove(self, vectors: Mapping[str, Vector]) -> None:
        """One has gone."""
        self._change(vectors, -1)

    def _change(self, vectors: Mapping[str, Vector], sign: int) -> None:
        self.count += sign
        sparse, dense, words = vectors.get(SPARSE), vectors.get(DENSE), self._words
        if isinstance(sparse, Sparse):
            for word, weight in zip(sparse.indices, sparse.values, strict=True):
                frequency, total = words.get(word, (0, 0.0))
                if frequency + sign > 0:
                    words[word] = (frequency + sign, total + sign * weight)
                else:
                    words.pop(word, None)
        if isinstance(dense, list):
            before: list[float] = self._dense or [0.0] * len(dense)
            self._dense = list(map(add if sign > 0 else sub, before, dense))

    def terms(self) -> Terms:
        """What it has come to."""
        numbers = sorted(self._words)
        return Terms(
            self.count,
            array("L", numbers),
            array("L", (self._words[word][0] for word in numbers)),
            array("d", (self._words[word][1] for word in numbers)),
            array("d", self._dense if self.count else ()),
        )


def rarity(searched: Iterable[Terms], word: int) -> float:
    """The inverse document frequency of a word over the snippets of some indexes, as
    Qdrant computes it for one: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    count = found = 0
    for terms in searched:
        count += terms.count
        found += terms.frequency(word)
    return math.log(1 + (count - found + 0.5) / (found + 0.5))


# Which indexes a query is about


def shortlist(
    entries: Sequence[CatalogueEntry], terms: Mapping[str, Terms], vectors: Mapping[str, Vector], most: int = SHORTLIST
) -> list[CatalogueEntry]:
    """The indexes that fit a query best, the best first. vectors: the query's.

    Dense: the cosine of the query with the mean vector of an index, or with its
    description's where that is nearer. Sparse: the BM25 score that a snippet of the index
    has on average (the mean of its sparse vectors, weighted by how rare each word is in
    all indexes), the description counting as a tenth of the snippets. Where there are
    both, the two orders are fused by reciprocal ranks."""
    if len(entries) <= most:
        return list(entries)
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    orders: list[dict[str, float]] = []
    if isinstance(dense, list):
        orders.append({entry.name: _nearness(dense, entry) for entry in entries})
    if isinstance(sparse, Sparse):
        weights = {word: rarity(terms.values(), word) for word in sparse.indices}
        orders.append({entry.name: _aboutness(weights, entry, terms.get(entry.name, Terms())) for entry in entries})
    ranked = fused(in_order((name, score) for name, score in order.items() if score > 0) for order in orders)
    return sorted(entries, key=lambda entry: (-ranked.get(entry.name, 0.0), entry.name))[:most]


def _nearness(query: Sequence[Any], entry: CatalogueEntry) -> float:
    return max(_cosine(query, entry.centroid), _cosine(query, entry.said))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other) or not (any(one) and any(other)):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


def _aboutness(weights: Mapping[int, float], entry: CatalogueEntry, terms: Terms) -> float:
    shares = (weight * (terms.mean(word) + SAID * entry.words.get(word, 0.0)) for word, weight in weights.items())
    return sum(shares)


# On disk


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index that is open: its collection in a store. lock: who changes one on a server
    has its folder here."""

    store: VectorStore
    collection: str
    lock: FolderLock | None = None

    def close(self) -> None:
        """Let it go."""
        self.store.close()
        if self.lock is not None:
            self.lock.release()


@dataclass(frozen=True, slots=True)
class Database:
    """A folder of indexes and their catalogue. server: where the collections are, if not
    in the folder."""

    root: Path
    server: RemoteSource | None = None

    def folder(self, name: str) -> Path:
        """Where an index is."""
        return self.root / checked_index_name(name)

    def open(self, name: str, to_change: bool = False) -> OpenIndex:
        """Open an index, whose folder has to be there; one process has it at a time.
        Raises StoreError."""
        folder = self.folder(name)
        self._check(name)
        if self.server is None:
            return OpenIndex(open_store(LocalStorage(folder)), VECTORS)
        lock = FolderLock(folder) if to_change else None
        if lock is not None:
            lock.take()
        return OpenIndex(open_store(self.server), f"{name}.{VECTORS}", lock)

    def make(self, name: str) -> None:
        """Make the folder of an index, or make sure that it is ours. Raises FolderError and OSError."""
        folder = self.folder(name)
        make_marked(self.root, INDEXES)
        check_inside(self.root, folder / SNIPPETS)
        make_marked(folder, INDEX)
        (folder / SNIPPETS).mkdir(exist_ok=True)

    def _check(self, name: str) -> None:
        """Raises StoreError where the folder of an index is not ours, or leads elsewhere."""
        folder = self.folder(name)
        try:
            is_ours(self.root, INDEXES)
            check_inside(self.root, folder / VECTORS)
            is_ours(folder, INDEX)
        except FolderError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{folder} cannot be looked into: {error.strerror or error}") from error

    def entries(self) -> dict[str, CatalogueEntry]:
        """The indexes there are, by name. Raises CrawlError."""
        return {name: entry for name, entry in self._read().items() if self.folder(name).is_dir()}

    def _read(self) -> dict[str, CatalogueEntry]:
        path = self.root / CATALOGUE
        try:
            found = json.loads(path.read_bytes())
            if found["format"] != FORMAT:
                raise ValueError(f"format {found['format']}")
            return {name: _entry(name, values) for name, values in found["indexes"].items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, CrawlError) as error:
            raise CrawlError(f"{path} cannot be read ({error}): remove it and run lmm md-index again") from error

    def write(self, entry: CatalogueEntry) -> None:
        """Put an index into the catalogue, in place of the one of that name. Raises
        StoreError where another process has the catalogue, and CrawlError."""
        lock = FolderLock(self.root)
        lock.take()
        try:
            entries = self._read() | {entry.name: entry}
            values = {name: {**asdict(one), "name": name} for name, one in sorted(entries.items())}
            text = json.dumps({"format": FORMAT, "indexes": values})  # ASCII: a root's name may be no UTF-8
            self._save(self.root / CATALOGUE, text + "\n")
        except FolderError as error:
            raise CrawlError(str(error)) from error
        except OSError as error:
            raise CrawlError(f"{self.root / CATALOGUE} cannot be written: {error.strerror or error}") from error
        finally:
            lock.release()

    def terms(self, name: str) -> Terms | None:
        """The terms of an index; None where they are not known."""
        try:
            found = json.loads((self.folder(name) / TERMS).read_bytes())
            numbers, frequencies = array("L", found["numbers"]), array("L", found["frequencies"])
            weights, dense = array("d", found["weights"]), array("d", found["dense"])
            terms = Terms(int(found["count"]), numbers, frequencies, weights, dense)
            return terms if len(numbers) == len(frequencies) == len(weights) else None
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    def write_terms(self, name: str, terms: Terms) -> None:
        """Keep the terms of an index. Raises FolderError and OSError."""
        values = {key: list(value) if key != "count" else value for key, value in _fields(terms).items()}
        self._save(self.folder(name) / TERMS, json.dumps(values))

    def _save(self, path: Path, text: str) -> None:
        check_inside(self.root, path)  # a link would be followed
        save_markdown(path, text)

    def from_root(self, folder: Path) -> str:
        """A folder as the catalogue names it: from the database's root where it can be."""
        try:
            return Path(os.path.relpath(folder.resolve(), self.root.resolve())).as_posix()
        except ValueError:  # another drive
            return folder.resolve().as_posix()


def _fields(terms: Terms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in Terms.__slots__}


def _entry(name: str, values: Mapping[str, Any]) -> CatalogueEntry:
    checked_index_name(name)
    words = {int(word): float(weight) for word, weight in values["words"].items()}
    centroid, said = ([float(value) for value in values[key]] for key in ("centroid", "said"))
    files, snippets = int(values["files"]), int(values["snippets"])
    description, root = str(values["description"]), str(values["root"])
    return CatalogueEntry(name, description, root, files, snippets, dict(values["identity"]), centroid, said, words)
