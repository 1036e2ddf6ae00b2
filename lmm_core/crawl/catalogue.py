"""The catalogue of a database: its indexes, and which of them fit a query.

.md_index/catalogue.json          the name, description, root and models of each index
.md_index/NAME/vectors/           the collection (or NAME.vectors on a Qdrant server)
.md_index/NAME/snippets/ID.md     the snippets as files
.md_index/NAME/terms.json         in how many snippets each word stands
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from operator import mul
from pathlib import Path
from typing import Any

from ..errors import ConfigError, CrawlError, FolderError, StoreError
from ..files.marked import check_inside, hide_from_git, make_marked, own_place
from ..indexing.encoding import differing, is_earlier, is_later
from ..indexing.statistics import TermStatistics
from ..markdown.files import write_markdown
from ..models.languages.stemming import Stemmers
from ..models.languages.words import find_words
from ..models.names import DEFAULT
from ..settings.project import Project
from ..store.edge_store import INDEX
from ..store.folder_lock import FolderLock
from ..store.points import checked_name
from ..store.ranking import fuse_ranks, sort_hits

FORMAT = 1
ALL = "all"
CATALOGUE, TERMS, SNIPPETS, VECTORS = "catalogue.json", "terms.json", "snippets", "vectors"
INDEXES = "md-indexes"  # the kind of the folder; those in it are of the store's kind
LONGEST_NAME = 100
SHORTLIST = 5
DESCRIPTION = 0.1  # weight of a description's words: as if one snippet in ten had them


def checked_index_name(name: str) -> str:
    """Return the name of an index if it can be one, since it becomes a folder's name. Raise CrawlError otherwise."""
    with suppress(StoreError):
        if len(name) <= LONGEST_NAME and not name.endswith(".") and name.lower() not in (ALL, CATALOGUE):
            return checked_name(name)
    raise CrawlError(
        f"{name!r} cannot be the name of an index: use letters, digits, - _ and ., with no . at the start or the end, "
        f"at most {LONGEST_NAME} characters, and not {ALL!r}"
    )


def why_unlike(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return a message if an index was made by another version or with other models than are wanted, else ""."""
    if is_later(known):
        return f"the index {name!r} was made by a later version of LM markdown: update this one"
    names = {"encoding": "encoding", "embedding": "embedding model", "sparse": "word model"}
    others = [
        f"{names[key]} {known.get(key) or 'none'}, now {wanted.get(key) or 'none'}"
        for key in differing(known, wanted)
        if key in names
    ]
    if others:
        return (
            f"the index {name!r} was made otherwise ({'; '.join(others)}): configure what it was made with "
            "([embeddings] in config.toml), or index its folder under another name"
        )
    if is_earlier(known):
        return (
            f"the index {name!r} was made by an earlier version of LM markdown: run `lmm md-index` on its folder, "
            "which makes it anew"
        )
    return ""


# Indexes and the choice among them


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """An index in the catalogue.

    root: the folder that was crawled, relative to the database's root; files, snippets: their numbers; identity: the
    encoding and the models it was made with (`Encoder.identity`); centroid: the mean of its dense vectors; said: the
    dense vector of the description (both are empty without an embedding model)."""

    name: str
    description: str
    root: str
    files: int
    snippets: int
    identity: dict[str, Any] = field(default_factory=dict)
    centroid: list[float] = field(default_factory=list)
    said: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Terms:
    """In how many of an index's texts each stem stands; languages: the codes of theirs."""

    texts: int = 0
    stems: Mapping[str, int] = field(default_factory=dict)
    languages: Sequence[str] = ()


def shortlist(
    entries: Sequence[CatalogueEntry], terms: Mapping[str, Terms], query: str, dense: Sequence[float], language: str
) -> list[CatalogueEntry]:
    """Return the indexes that fit a query best, the best first.

    terms: by index; dense: the query's vector, empty without an embedding model; language: of texts that name none.

    By meaning: the cosine of the query and the mean vector of an index, or its description's vector if that is
    nearer. By words: the share of an index's texts that have each word, weighted by how rare it is in all indexes; a
    word in the description counts like a tenth of the texts. The two orders are fused by reciprocal ranks."""
    stemmers = Stemmers(language)
    languages = sorted({language for one in terms.values() for language in one.languages})
    words = [set(stemmers.meant(word, languages)) for word in find_words(query)]
    orders = [{entry.name: max(_cosine(dense, entry.centroid), _cosine(dense, entry.said)) for entry in entries}]
    orders.append(_share_of_words(words, entries, terms, stemmers))
    ranks = fuse_ranks(sort_hits((name, score) for name, score in order.items() if score > 0) for order in orders)
    return sorted(entries, key=lambda entry: (-ranks.get(entry.name, 0.0), entry.name))[:SHORTLIST]


def _share_of_words(
    words: Iterable[set[str]], entries: Sequence[CatalogueEntry], terms: Mapping[str, Terms], stemmers: Stemmers
) -> dict[str, float]:
    scores = {entry.name: 0.0 for entry in entries}
    for stems in words:
        counts = {entry.name: max(map(terms[entry.name].stems.get, stems, [0] * len(stems))) for entry in entries}
        total, found = sum(one.texts for one in terms.values()), sum(counts.values())
        rarity = math.log(1 + (total - found + 0.5) / (found + 0.5))
        for entry in entries:
            is_described = not stems.isdisjoint(stemmers.of("").stems(entry.description))
            share = counts[entry.name] / max(terms[entry.name].texts, 1)
            scores[entry.name] += rarity * (share + DESCRIPTION * is_described)
    return scores


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other) or not (any(one) and any(other)):
        return 0.0
    product: float = sum(map(mul, one, other))
    return product / (math.hypot(*one) * math.hypot(*other))


# On disk


def database_at(project: Project, root: Path) -> Database:
    """Return the database in a folder, as a project configures it; on its server, if it names one.

    Raise ConfigError if the folder lies in the project and is reached through a link."""
    try:
        own_place(project.root, Path.cwd() / root)
    except FolderError as error:
        raise ConfigError(str(error)) from error
    return Database(root, project)


@dataclass(frozen=True, slots=True)
class Database:
    """A folder of indexes and their catalogue. project: the project that configures them."""

    root: Path
    project: Project

    def folder(self, name: str) -> Path:
        """Return the folder of an index."""
        return self.root / checked_index_name(name)

    def project_of(self, name: str) -> Project:
        """Return the project whose index is the one of this name, made as it was made."""
        folder, project = Path.cwd() / self.folder(name), self.project
        collection = f"{name}.{VECTORS}" if project.storage.url else VECTORS
        return replace(
            project,
            storage=replace(project.storage, folder=str(folder), memory=False),
            database=replace(project.database, collection_name=collection, companion_collection=f"{collection}.none"),
            embeddings=replace(project.embeddings, encoding="default"),
            models=project.models | {"embedding": DEFAULT},
        )

    def make(self, name: str) -> None:
        """Make the folder of an index, or make sure that it is ours. Raise FolderError or OSError."""
        folder = self.folder(name)
        make_marked(self.root, INDEXES)
        hide_from_git(self.root)
        check_inside(self.root, folder / SNIPPETS)
        make_marked(folder, INDEX)
        (folder / SNIPPETS).mkdir(exist_ok=True)

    def entries(self) -> dict[str, CatalogueEntry]:
        """Return the indexes by name. Raise CrawlError."""
        return {name: entry for name, entry in self._read().items() if self.folder(name).is_dir()}

    def _read(self) -> dict[str, CatalogueEntry]:
        path = self.root / CATALOGUE
        try:
            values = json.loads(path.read_bytes())
            if values["format"] != FORMAT:
                raise ValueError(f"format {values['format']}")
            return {name: _entry(name, entry) for name, entry in values["indexes"].items()}
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
            indexes = {name: asdict(one) for name, one in sorted(entries.items())}
            # (in ASCII, since the name of a root may be no UTF-8)
            self._save(self.root / CATALOGUE, json.dumps({"format": FORMAT, "indexes": indexes}) + "\n")
        except FolderError as error:
            raise CrawlError(str(error)) from error
        except OSError as error:
            raise CrawlError(f"{self.root / CATALOGUE} cannot be written: {error.strerror or error}") from error
        finally:
            lock.release()

    def terms(self, name: str) -> Terms | None:
        """Return the terms of an index, or None if they cannot be read."""
        try:
            values = json.loads((self.folder(name) / TERMS).read_bytes())
            stems = {stem: int(count) for stem, count in values["stems"].items()}
            return Terms(int(values["texts"]), stems, list(map(str, values["languages"])))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def state(self, name: str) -> str:
        """Return the state of an index (see `state_of`) that its terms and snippets are of, or "" for none."""
        try:
            return str(json.loads((self.folder(name) / TERMS).read_bytes())["state"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return ""

    def forget_terms(self, name: str) -> None:
        """Remove the terms of an index before what they are of changes."""
        (self.folder(name) / TERMS).unlink(missing_ok=True)

    def write_terms(self, name: str, statistics: TermStatistics, state: str) -> None:
        """Write the terms of an index in a state. Raise FolderError or OSError."""
        values = {"texts": statistics.texts, "stems": statistics.stems, "languages": sorted(statistics.languages)}
        self._save(self.folder(name) / TERMS, json.dumps({**values, "state": state}))

    def _save(self, path: Path, text: str) -> None:
        check_inside(self.root, path)  # a link would be followed
        write_markdown(path, text)

    def from_root(self, folder: Path) -> str:
        """Return a folder as the catalogue names it: relative to the database's root if possible."""
        try:
            return Path(os.path.relpath(folder.resolve(), self.root.resolve())).as_posix()
        except ValueError:  # another drive
            return folder.resolve().as_posix()


def _entry(name: str, values: Mapping[str, Any]) -> CatalogueEntry:
    checked_index_name(name)
    centroid, said = ([float(value) for value in values[key]] for key in ("centroid", "said"))
    files, snippets = int(values["files"]), int(values["snippets"])
    description, root = str(values["description"]), str(values["root"])
    return CatalogueEntry(name, description, root, files, snippets, dict(values["identity"]), centroid, said)
