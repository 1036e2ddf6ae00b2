"""The catalogue of a database: its indexes, and which of them fit a query.

.md_index/catalogue.json          the name, description, root and models of each index
.md_index/NAME/vectors/           the collection (or NAME.vectors on a Qdrant server)
.md_index/NAME/snippets/ID.md     the snippets as files
.md_index/NAME/terms.json         the counts of the snippets' words, and the sum of their vectors
"""

from __future__ import annotations

import json
import math
import os
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from operator import mul
from pathlib import Path
from typing import Any

from ..errors import CrawlError, FolderError, StoreError
from ..files.marked import check_inside, hide_from_git, is_ours, make_marked
from ..index.encoding import DENSE, SPARSE, differing, is_earlier, is_later
from ..markdown.files import write_markdown
from ..models.embedders.embedder import Sparse
from ..store.edge_store import INDEX
from ..store.folder_lock import FolderLock
from ..store.opening import open_store
from ..store.places import LocalStorage, RemoteSource
from ..store.points import checked_name
from ..store.ranking import fuse_ranks, sort_hits
from ..store.vector_store import Vector, VectorStore
from .terms import Terms, inverse_document_frequency

FORMAT = 1
ALL = "all"
CATALOGUE, TERMS, SNIPPETS, VECTORS = "catalogue.json", "terms.json", "snippets", "vectors"
INDEXES = "md-indexes"  # the kind of the folder; those in it are of the store's kind
UNFINISHED = "unfinished"  # a file in an index's folder while that is changed
LONGEST_NAME = 100
SHORTLIST = 5
SAID = 0.1  # weight of a description: as if it were the text of one snippet in ten


def checked_index_name(name: str) -> str:
    """Return the name of an index if it can be one, since it becomes a folder's name.

    Raise CrawlError otherwise."""
    with suppress(StoreError):
        if len(name) <= LONGEST_NAME and not name.endswith(".") and name.lower() not in (ALL, CATALOGUE):
            return checked_name(name)
    raise CrawlError(
        f"{name!r} cannot be the name of an index: use letters, digits, - _ and ., with no . at the start or the end, "
        f"at most {LONGEST_NAME} characters, and not {ALL!r}"
    )


def as_utf8(text: str) -> str:
    """Return a text that can be written and embedded: half a surrogate pair becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def other_models(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return a message that an index was made with other models than are configured now, or by another version."""
    if is_later(known):
        return f"the index {name!r} was made by a later version of LM markdown: update this one"
    differ = differing(known, wanted)
    if is_earlier(known) and not differ:
        return (
            f"the index {name!r} was made by an earlier version of LM markdown: run `lmm md-index` on its folder, "
            "which makes it anew"
        )
    keys = {"encoding": "encoding", "embedding": "embedding model", "sparse": "word model"}
    other = [
        f"{said} {known.get(key) or 'none'}, now {wanted.get(key) or 'none'}"
        for key, said in keys.items()
        if key in differ
    ]
    return (
        f"the index {name!r} was made otherwise ({'; '.join(other)}): configure what it was made with ([embeddings] "
        "in config.toml), or index its folder under another name"
    )


# What is known of an index


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An index in the catalogue.

    root: the folder that was crawled, relative to the database's root; files, snippets: their
    numbers; identity: the encoding and the models it was made with (`Encoder.identity`);
    centroid: the mean of its dense vectors; said: the dense vector of the description (both
    are empty without an embedding model); words: the description's BM25 weights by word number."""

    name: str
    description: str
    root: str
    files: int
    snippets: int
    identity: dict[str, Any] = field(default_factory=dict)
    centroid: list[float] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    words: dict[int, float] = field(default_factory=dict)


# Which indexes a query is about


def shortlist(
    entries: Sequence[CatalogueEntry], terms: Mapping[str, Terms], vectors: Mapping[str, Vector], most: int = SHORTLIST
) -> list[CatalogueEntry]:
    """Return the indexes that fit a query best, the best first, at most `most`.

    vectors: the query's, by name; terms: by index.

    Dense: the cosine of the query and the mean vector of an index, or its description's vector
    if that is nearer. Sparse: the mean BM25 score of the snippets of an index (each word
    weighted by its inverse_document_frequency in all indexes), with the description counted like a tenth of the
    snippets. If there are both, the two orders are fused by reciprocal ranks."""
    if len(entries) <= most:
        return list(entries)
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    orders: list[dict[str, float]] = []
    if isinstance(dense, list):
        orders.append({entry.name: _best_cosine(dense, entry) for entry in entries})
    if isinstance(sparse, Sparse):
        weights = {word: inverse_document_frequency(terms.values(), word) for word in sparse.indices}
        orders.append({entry.name: _mean_bm25(weights, entry, terms.get(entry.name, Terms())) for entry in entries})
    ranked = fuse_ranks(sort_hits((name, score) for name, score in order.items() if score > 0) for order in orders)
    return sorted(entries, key=lambda entry: (-ranked.get(entry.name, 0.0), entry.name))[:most]


def _best_cosine(query: Sequence[Any], entry: CatalogueEntry) -> float:
    return max(_cosine(query, entry.centroid), _cosine(query, entry.said))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other) or not (any(one) and any(other)):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


def _mean_bm25(weights: Mapping[int, float], entry: CatalogueEntry, terms: Terms) -> float:
    shares = (weight * (terms.mean(word) + SAID * entry.words.get(word, 0.0)) for word, weight in weights.items())
    return sum(shares)


# On disk


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An open index: its collection in a store.

    lock: held on the index's folder by whoever changes a collection on a server."""

    store: VectorStore
    collection: str
    lock: FolderLock | None = None

    def close(self) -> None:
        """Close the store and release the lock."""
        self.store.close()
        if self.lock is not None:
            self.lock.release()


@dataclass(frozen=True, slots=True)
class Database:
    """A folder of indexes and their catalogue.

    server: where the collections are, if they are not in the folder."""

    root: Path
    server: RemoteSource | None = None

    def folder(self, name: str) -> Path:
        """Return the folder of an index."""
        return self.root / checked_index_name(name)

    def open(self, name: str, to_change: bool = False) -> OpenIndex:
        """Open an index, whose folder has to exist. Only one process has it at a time.

        Raise StoreError."""
        folder = self.folder(name)
        self._check(name)
        if self.server is None:
            return OpenIndex(open_store(LocalStorage(folder)), VECTORS)
        lock = FolderLock(folder) if to_change else None
        if lock is not None:
            lock.take()
        return OpenIndex(open_store(self.server), f"{name}.{VECTORS}", lock)

    def make(self, name: str) -> None:
        """Make the folder of an index, or make sure that it is ours. Raise FolderError or OSError."""
        folder = self.folder(name)
        make_marked(self.root, INDEXES)
        hide_from_git(self.root)
        check_inside(self.root, folder / SNIPPETS)
        make_marked(folder, INDEX)
        (folder / SNIPPETS).mkdir(exist_ok=True)

    def _check(self, name: str) -> None:
        """Raise StoreError if the folder of an index is not ours, or leads elsewhere."""
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
        """Return the indexes by name. Raise CrawlError."""
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
            raise CrawlError(f"{path} cannot be read ({error}): remove it and run `lmm md-index` again") from error

    def write(self, entry: CatalogueEntry) -> None:
        """Put an index into the catalogue, in place of the one of that name.

        Raise CrawlError, or StoreError if another process is writing to the catalogue."""
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
        """Return the terms of an index, or None if they cannot be read."""
        try:
            found = json.loads((self.folder(name) / TERMS).read_bytes())
            numbers, frequencies = array("L", found["numbers"]), array("L", found["frequencies"])
            weights, dense = array("d", found["weights"]), array("d", found["dense"])
            languages = {str(code): int(count) for code, count in found.get("languages", {}).items()}
            terms = Terms(int(found["count"]), numbers, frequencies, weights, dense, languages)
            return terms if len(numbers) == len(frequencies) == len(weights) else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            return None

    def write_terms(self, name: str, terms: Terms) -> None:
        """Write the terms of an index. Raise FolderError or OSError."""
        values = {
            key: list(value) if key not in ("count", "languages") else value for key, value in _fields(terms).items()
        }
        self._save(self.folder(name) / TERMS, json.dumps(values))

    def _save(self, path: Path, text: str) -> None:
        check_inside(self.root, path)  # a link would be followed
        write_markdown(path, text)

    def from_root(self, folder: Path) -> str:
        """Return a folder as the catalogue names it: relative to the database's root if possible."""
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
