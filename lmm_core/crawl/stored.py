"""The snippets of an index on disk: points, files and counted words, which change together."""

from __future__ import annotations

import asyncio
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..files.marked import write_own
from ..files.writing import sync_folder
from ..index.encoding import SPARSE, ChunkTexts, Encoder, has_dense
from ..index.records import FILES
from ..store.vector_store import Point, Vector, Where
from .catalogue import SNIPPETS, UNFINISHED, Database, OpenIndex
from .cutter import CutSnippet
from .points import payload_of, point_id, snippet_of, texts_of
from .snippets import Snippet, file_name, write_snippet
from .terms import Tally

BATCH = 300  # snippets that are embedded and stored, or read, at once
_SNIPPET_FILE = re.compile(r"(?:[0-9a-f]-?){32}\.md")


@dataclass
class StoredSnippets:
    """The stored snippets of an index.

    opened: its collection; encoder: makes their vectors; tally: the counts of their words, None
    until something changes."""

    database: Database
    name: str
    opened: OpenIndex
    encoder: Encoder
    tally: Tally | None = None

    @property
    def folder(self) -> Path:
        """The folder of the index."""
        return self.database.folder(self.name)

    @property
    def files(self) -> Path:
        """The folder of the snippets' files."""
        return self.folder / SNIPPETS

    # Before and after a run

    def is_whole(self) -> bool:
        """Return True if the last run came to its end and nobody has removed its results."""
        terms = self.database.terms(self.name)
        if terms is None or (self.folder / UNFINISHED).exists():
            return False
        return not terms.count or next(self.files.iterdir(), None) is not None

    def begin(self, tally: Tally | None = None) -> Tally:
        """Mark the index as unfinished, unless that is done already, and return the tally.

        tally: the one to begin with, if it is not that of the last run."""
        if self.tally is None:
            write_own(self.folder / UNFINISHED, b"")
            sync_folder(self.folder)
            self.tally = tally or Tally(self.database.terms(self.name))
        return self.tally

    def end(self) -> None:
        """Mark the index as finished, once its snippets and the records of files survive a power cut.

        What is in the files of snippets is not waited for: that would take longer than all else."""
        for name in (self.opened.collection, self.opened.collection + FILES):
            self.opened.store.sync(name)
        sync_folder(self.files)
        (self.folder / UNFINISHED).unlink(missing_ok=True)

    async def recover(self) -> Counter[str]:
        """Count the stored snippets, write all their files again, and return how many each source has.

        This is for a run after one that was interrupted: files may be missing, and others may be of
        snippets that were not stored any more."""
        tally, sources, numbers = self.begin(Tally()), Counter[str](), array("Q")
        points = self.opened.store.scroll(self.opened.collection)
        while batch := await asyncio.to_thread(_next, points):
            await self._count(batch, tally.add)
            await asyncio.to_thread(self._write_files, batch)
            sources.update(snippet.doc_path for snippet in batch)
            numbers.extend(_number(snippet.id) for snippet in batch)  # in their order, as the points come by id
        await asyncio.to_thread(self.remove_other_files, numbers)
        return sources

    def remove_other_files(self, numbers: Sequence[int] = ()) -> None:
        """Remove the files of all snippets but those whose ids have some numbers, and nothing that is no such file.

        numbers: sorted."""
        for path in self.files.iterdir():
            is_file = _SNIPPET_FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
            if is_file and not _is_among(numbers, _number(path.stem)):
                path.unlink()

    # Snippets

    def of_file(self, source: str) -> list[Snippet]:
        """Return the stored snippets of a file."""
        points = self.opened.store.scroll(self.opened.collection, Where({"source": source}))
        return [snippet_of(point.payload) for point in points]

    async def add(self, cut: Sequence[CutSnippet]) -> None:
        """Store snippets: their points first, then the files that are not yet written."""
        tally, vectors = self.begin(), await self._vectors(cut)
        points = [
            Point(point_id(one.id), found, payload_of(one.source, one.text))
            for one, found in zip(cut, vectors, strict=True)
        ]
        await asyncio.to_thread(self.opened.store.upsert, self.opened.collection, points)
        if without := [one.snippet for one in cut if not one.has_file]:
            await asyncio.to_thread(self._write_files, without)
        for one, found in zip(cut, vectors, strict=True):
            tally.add(found, one.language)

    async def _vectors(self, cut: Sequence[CutSnippet]) -> Sequence[dict[str, Vector]]:
        """Return the vectors of snippets. Their texts are looked at only if some are not made yet."""
        words = [one.words for one in cut]
        if has_dense(self.encoder.model) or None in words:
            return await self.encode([one.snippet for one in cut], words)
        return [{SPARSE: one} for one in words if one is not None]

    async def remove(self, snippets: Sequence[Snippet]) -> None:
        """Remove snippets: their files first, so that none stays behind whose point is gone."""
        if not snippets:
            return
        tally = self.begin()
        for start in range(0, len(snippets), BATCH):
            await self._count(snippets[start : start + BATCH], tally.remove)
        await asyncio.to_thread(self._remove_files, snippets)
        await asyncio.to_thread(
            self.opened.store.delete, self.opened.collection, [point_id(one.id) for one in snippets]
        )

    async def encode(self, snippets: Sequence[Snippet], words: Sequence[Vector | None] = ()) -> list[dict[str, Vector]]:
        """Return the vectors of snippets; words: those of their words that are made."""
        return await self.encoder.encode(list(map(self._texts, snippets)), words)

    async def _count(self, snippets: Sequence[Snippet], change: Callable[[Mapping[str, Any], str], None]) -> None:
        """Count snippets that are stored.

        Their vectors are made again, out of the cache if a model makes them."""
        for one, found in zip(snippets, await self.encode(snippets), strict=True):
            change(found, one.language)

    def _texts(self, snippet: Snippet) -> ChunkTexts:
        assert self.encoder.encoding is not None
        return texts_of(snippet, self.encoder.encoding)

    def _write_files(self, snippets: Sequence[Snippet]) -> None:
        folder = self.files
        for snippet in snippets:
            write_snippet(folder, snippet)

    def _remove_files(self, snippets: Sequence[Snippet]) -> None:
        for snippet in snippets:
            (self.files / file_name(snippet.id)).unlink(missing_ok=True)


def _number(ident: str) -> int:
    """Return the first half of an id as a number: a million take 8 MB, and as texts more than 100."""
    return int(ident.replace("-", "")[:16], 16)


def _is_among(numbers: Sequence[int], number: int) -> bool:
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number


def _next(points: Iterator[Any]) -> list[Snippet]:
    """Return the snippets of the next points."""
    return [snippet_of(point.payload) for point in islice(points, BATCH)]
