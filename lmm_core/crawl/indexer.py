"""Indexing a folder: crawled, cut into snippets, embedded, stored; only what has changed.

A file whose size and time are those that are remembered is not read; one that was only
touched is not cut. The time of a file that had just been written is not remembered: it
may be written once more within the same tick of the file system's clock. A file is
remembered as begun before its snippets change, and with its size and time after that, so
that a run that was interrupted, at whatever moment, is taken up by the next one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from ..errors import CrawlError, FolderError
from ..files.marked import write_own
from ..files.walk import Skipped
from ..index.collection import ainitialize_collection
from ..index.encoding import CHUNKER, DENSE, SPARSE, ChunkTexts, Encoder, texts_to_encode
from ..index.refresh import (
    FILES,
    FileRecord,
    begin_files,
    create_records,
    read_records,
    remove_files,
    write_record,
)
from ..models.embedders.embedder import Sparse
from ..store.vector_store import Point, Where
from .catalogue import (
    SNIPPETS,
    UNFINISHED,
    CatalogueEntry,
    Database,
    OpenIndex,
    Tally,
    as_utf8,
    checked_index_name,
    other_models,
)
from .snippets import Snippet, slice_text, snippet_file
from .walk import CrawledFile, crawl, read_all

BATCH = 300  # snippets that are embedded and stored at once
INLINE = 1_000_000  # characters that are cut in this process before others are started for it
IN_WORK = 2_000_000  # characters that are being cut at the same time
JUST_WRITTEN = 2_000_000_000  # nanoseconds: no file system's clock ticks more slowly
# What snippets depend on besides the text: stands before the fingerprint of each file.
SETTINGS = hashlib.blake2b(json.dumps([CHUNKER, 1]).encode(), digest_size=4).hexdigest()
SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from importing modules of the working folder
INDEXES: dict[str, Any] = {"source": "keyword"}
_OF_SNIPPET = re.compile(r"[0-9a-f-]{32,36}\.md")

EncoderFor = Callable[[Mapping[str, Any]], Encoder]


@dataclass
class Indexed:
    """What came of a run. files: in the index now; read: of which the text was read;
    unchanged: which were not changed; removed: which are gone; written, dropped: snippets;
    snippets: in the index now; skipped: what is left out though no rule ignores it;
    large: files that should be split, each with the advice."""

    name: str
    description: str
    files: int = 0
    read: int = 0
    unchanged: int = 0
    removed: int = 0
    written: int = 0
    dropped: int = 0
    snippets: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    large: list[Skipped] = field(default_factory=list)


async def index_folder(
    database: Database,
    root: Path,
    name: str,
    description: str,
    encoder_for: EncoderFor,
    ignore: Sequence[str] = (),
    max_fibers: int = 25,
    workers: int = 1,
    expect: Callable[[int], None] = lambda count: None,
    progress: Callable[[int], None] = lambda count: None,
) -> Indexed:
    """Index the markdown files under a folder, or bring their index up to date.

    encoder_for: the encoder for an index by what it was made with (`{}`: a new one);
    ignore: patterns as in `.gitignore`; max_fibers: files that are read at the same time;
    workers: processes that cut texts, where there is much to cut (they import the program
    that is run, as `multiprocessing` does); expect, progress: are told how many snippets
    there are to write, and how many were. Raises CrawlError, StoreError and ModelError; what
    was done by then is kept."""
    checked_index_name(name)
    await asyncio.to_thread(_check_folder, database, root, name)
    opened = await asyncio.to_thread(database.open, name, True)
    run = _Run(database, root, opened, Indexed(name, as_utf8(description)), workers, expect, progress)
    try:
        await run.prepare(encoder_for)
        await run.index(ignore, max_fibers)
        await run.finish()
    except FolderError as error:
        raise CrawlError(str(error)) from error
    except OSError as error:
        where = error.filename or database.folder(name)
        raise CrawlError(f"{where}: {error.strerror or error}; run this again: what was done is kept") from error
    except BrokenProcessPool as error:
        raise CrawlError(
            "a process that cuts texts was ended from outside, perhaps for want of memory; run this again: "
            "what was done is kept"
        ) from error
    finally:
        run.stop()
        await asyncio.to_thread(opened.close)
    return run.done


def _check_folder(database: Database, root: Path, name: str) -> None:
    """Raises CrawlError where the folder is none, or the index is of another folder."""
    if not root.is_dir():
        raise CrawlError(f"{root} is no folder")
    if root.resolve().is_relative_to(database.root.resolve()):
        raise CrawlError(f"{root} is where the indexes are: name the folder of your documents")
    for other, entry in database.entries().items():
        if other == name:
            before = database.root / entry.root
            if before.is_dir() and before.resolve() != root.resolve():
                raise CrawlError(f"the index {name!r} is of the folder {before.resolve()}: choose another name")
        elif other.lower() == name.lower():  # one folder on many file systems
            raise CrawlError(f"there is an index {other!r}: choose a name that differs by more than case")
    try:
        database.make(name)
    except FolderError as error:
        raise CrawlError(str(error)) from error
    except OSError as error:
        raise CrawlError(f"{database.folder(name)} cannot be made: {error.strerror}") from error


# Snippets as points


def payload_of(snippet: Snippet) -> dict[str, Any]:
    """What is stored with a snippet's vectors: all of it."""
    return {
        "page_content": snippet.body,
        "header": snippet.header,
        "index": snippet.index,
        "source": snippet.doc_path,
        "title": snippet.title,
        "line_start": snippet.line_start,
        "line_end": snippet.line_end,
        "id": snippet.id,
    }


def snippet_of(payload: Mapping[str, Any]) -> Snippet:
    """The snippet that a payload is of."""
    return Snippet(
        payload["id"],
        payload["index"],
        payload["source"],
        payload["title"],
        payload["line_start"],
        payload["line_end"],
        payload["page_content"],
        payload["header"],
    )


def _point_id(snippet: Snippet) -> str:
    return str(UUID(snippet.id))


# A run


@dataclass
class _File:
    """A file that is worked on: what is to be remembered of it, and its snippets that are
    no longer there. `end`: as many new snippets of the run have to be stored before."""

    record: FileRecord
    gone: list[Snippet]
    end: int


@dataclass
class _Run:
    database: Database
    root: Path
    opened: OpenIndex
    done: Indexed
    workers: int
    expect: Callable[[int], None]
    progress: Callable[[int], None]

    def __post_init__(self) -> None:
        self.store, self.collection, self.name = self.opened.store, self.opened.collection, self.done.name
        self.folder = self.database.folder(self.name)
        self.records: dict[str, FileRecord] = {}
        self.left: dict[str, FileRecord] = {}  # of files that were not met in this run
        self.tally: Tally | None = None  # where something has changed
        self.unsure: set[str] | None = None  # files of which a run that was interrupted has stored snippets
        self.new: deque[Snippet] = deque()
        self.files: deque[_File] = deque()
        self.to_begin: list[FileRecord] = []  # of files in `files` that are not yet recorded as begun
        self.sent = 0  # snippets that have ever been in `new`
        self.cut = 0  # characters
        self.pool: ProcessPoolExecutor | None = None
        self.had_safe_path = False

    def stop(self) -> None:
        """End the other processes."""
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
            if not self.had_safe_path:
                del os.environ[SAFE_PATH]

    # What is there

    async def prepare(self, encoder_for: EncoderFor) -> None:
        """Find the encoder, make the collection where it is not there, and bring in order
        what an interrupted run has left."""
        known = await asyncio.to_thread(self.store.metadata, self.collection)
        remembered = await asyncio.to_thread(self.store.metadata, self.collection + FILES) is not None
        self.encoder = encoder_for(known or {})
        wanted = self.encoder.identity()
        if known is not None and any(known.get(key) != value for key, value in wanted.items()):
            raise CrawlError(other_models(self.name, known, wanted))
        if known is None or not remembered:  # in this order: the collection would hide that all is to be done
            self._begin(Tally())
            await asyncio.to_thread(create_records, self.store, self.collection)
        if known is None:
            await asyncio.to_thread(self._remove_all_files)
        await ainitialize_collection(self.store, self.collection, self.encoder)
        self.records = await asyncio.to_thread(read_records, self.store, self.collection)
        self.left = dict(self.records)
        if known is not None and not (remembered and self._is_whole()):
            await self._recover()

    def _is_whole(self) -> bool:
        """Whether the last run came to its end, and nobody has removed what it made."""
        terms = self.database.terms(self.name)
        if terms is None or (self.folder / UNFINISHED).exists():
            return False
        return not terms.count or next((self.folder / SNIPPETS).iterdir(), None) is not None

    def _begin(self, tally: Tally | None = None) -> Tally:
        """From here on the index changes."""
        if self.tally is None:
            write_own(self.folder / UNFINISHED, b"")
            self.tally = tally or Tally(self.database.terms(self.name))
        return self.tally

    async def _recover(self) -> None:
        """Count what is stored, and write all snippet files anew: they may be missing."""
        tally, self.unsure = self._begin(Tally()), set()
        points = self.store.scroll(self.collection)
        while batch := await asyncio.to_thread(_next, points):
            await self._count(batch, tally.add)
            await asyncio.to_thread(self._write_files, batch)
            self.unsure |= {snippet.doc_path for snippet in batch}

    # What has changed

    async def index(self, ignore: Sequence[str], max_fibers: int) -> None:
        """Store what is new, and remove what is gone."""
        async for record, snippets in self._sliced(ignore, max_fibers):
            await self._take(record, snippets)
            while len(self.new) >= BATCH:
                await self._store()
        while self.new or self.files:
            await self._store()
        await self._remove_left()

    async def _sliced(self, ignore: Sequence[str], max_fibers: int) -> AsyncIterator[tuple[FileRecord, list[Snippet]]]:
        """The files that have changed, each with its snippets. Some are cut in advance, by
        other processes, while others are stored."""
        waiting: deque[tuple[FileRecord, int, Awaitable[list[Snippet]]]] = deque()
        size = 0
        async for record, text in self._changed(ignore, max_fibers):
            waiting.append((record, len(text), self._slice(text, record.source)))
            size += len(text)
            while waiting and (self.pool is None or size > IN_WORK):
                record, length, snippets = waiting.popleft()
                size -= length
                yield record, await snippets
        for record, _, snippets in waiting:
            yield record, await snippets

    async def _changed(self, ignore: Sequence[str], max_fibers: int) -> AsyncIterator[tuple[FileRecord, str]]:
        async for found, text in read_all(self._to_read(ignore), max_fibers):
            if isinstance(text, Skipped):
                self.done.skipped.append(text)
                if text.torn:
                    self.left.pop(text.doc_path, None)
                continue
            self.done.read += 1
            if found.advice:
                self.done.large.append(Skipped(found.doc_path, found.advice))
            mark = SETTINGS + hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
            record = FileRecord(found.doc_path, found.doc_path, mark, 0, found.size, found.mtime_ns)
            before = self.left.pop(found.doc_path, None)
            if before is not None and before.fingerprint == mark:  # touched
                self.done.unchanged += 1
                touched = replace(before, size=found.size, mtime_ns=found.mtime_ns)
                await asyncio.to_thread(write_record, self.store, self.collection, touched)
            else:
                yield record, text

    def _to_read(self, ignore: Sequence[str]) -> Iterator[CrawledFile]:
        """The files that are not as they were, by their sizes and times."""
        for found in crawl(self.root, ignore, without=[self.database.root]):
            if isinstance(found, Skipped):
                self.done.skipped.append(found)
                self._keep_below(found.doc_path)
                continue
            before = self.records.get(found.doc_path)
            same = before is not None and (before.size, before.mtime_ns) == (found.size, found.mtime_ns)
            if same and before is not None and before.fingerprint.startswith(SETTINGS):
                self.done.unchanged += 1
                self.left.pop(found.doc_path, None)
            else:
                is_new = time.time_ns() - found.mtime_ns < JUST_WRITTEN
                yield replace(found, mtime_ns=-1) if is_new else found

    def _keep_below(self, folder: str) -> None:
        """What was indexed of a folder that cannot be looked into now is kept."""
        if folder.endswith("/"):
            for source in [source for source in self.left if folder == "./" or source.startswith(folder)]:
                del self.left[source]

    def _slice(self, text: str, doc_path: str) -> Awaitable[list[Snippet]]:
        """The snippets of a text, which are being made unless there is little to do."""
        loop = asyncio.get_running_loop()
        self.cut += len(text)
        if self.workers > 1 and self.pool is None and self.cut > INLINE:
            self.had_safe_path = SAFE_PATH in os.environ
            os.environ.setdefault(SAFE_PATH, "1")  # the folder may be somebody else's
            self.pool = _worker_pool(self.workers)
        if self.pool is not None:
            sliced = loop.run_in_executor(self.pool, slice_text, text, doc_path, self.name)
            sliced.add_done_callback(_seen)
            return sliced
        made: asyncio.Future[list[Snippet]] = loop.create_future()
        made.set_result(slice_text(text, doc_path, self.name))
        return made

    # Storing

    async def _take(self, record: FileRecord, snippets: Sequence[Snippet]) -> None:
        """Put what is new of a file in line, and note what is gone."""
        self._begin()
        wanted = {snippet.id: snippet for snippet in snippets}
        known: dict[str, Snippet] = {}
        if record.source in self.records or record.source in (self.unsure or ()):
            known = {one.id: one for one in await asyncio.to_thread(self._stored_of, record.source)}
        new = [snippet for ident, snippet in wanted.items() if ident not in known]
        self.new.extend(new)
        self.sent += len(new)
        self.expect(len(new))
        gone = [snippet for ident, snippet in known.items() if ident not in wanted]
        self.files.append(_File(replace(record, count=len(wanted)), gone, self.sent))
        self.to_begin.append(record)

    def _stored_of(self, source: str) -> list[Snippet]:
        where = Where({"source": source})
        return [snippet_of(point.payload) for point in self.store.scroll(self.collection, where)]

    async def _store(self) -> None:
        """Store a batch of new snippets, and close the files whose last ones it held."""
        await asyncio.to_thread(begin_files, self.store, self.collection, self.to_begin)
        self.to_begin.clear()
        batch = [self.new.popleft() for _ in range(min(BATCH, len(self.new)))]
        if batch:
            tally = self._begin()
            vectors = await self.encoder.encode(list(map(self._texts, batch)))
            points = [Point(_point_id(one), found, payload_of(one)) for one, found in zip(batch, vectors, strict=True)]
            await asyncio.to_thread(self.store.upsert, self.collection, points)
            await asyncio.to_thread(self._write_files, batch)
            for found in vectors:
                tally.add(found)
            self.done.written += len(batch)
            self.progress(len(batch))
        await self._close_files(self.sent - len(self.new))

    async def _close_files(self, stored: int) -> None:
        """Remove what is gone of the files that are stored as a whole, and remember them."""
        closed: list[_File] = []
        while self.files and self.files[0].end <= stored:
            closed.append(self.files.popleft())
        await self._drop([snippet for file in closed for snippet in file.gone])
        if closed:
            records = [file.record for file in closed]
            await asyncio.to_thread(write_record, self.store, self.collection, *records)
            self.records |= {record.source: record for record in records}

    async def _drop(self, gone: Sequence[Snippet]) -> None:
        """Remove snippets: their files first, so that none stays behind whose point is gone."""
        if not gone:
            return
        tally = self._begin()
        for start in range(0, len(gone), BATCH):
            await self._count(gone[start : start + BATCH], tally.remove)
        await asyncio.to_thread(self._remove_files, gone)
        await asyncio.to_thread(self.store.delete, self.collection, list(map(_point_id, gone)))
        self.done.dropped += len(gone)

    async def _remove_left(self) -> None:
        """Remove what is stored of files that are gone or cannot be read any more."""
        left = set(self.left) | {source for source in self.unsure or () if source not in self.records}
        records = [self.records.pop(source) for source in sorted(left) if source in self.records]
        if records:
            self._begin()
        await asyncio.to_thread(begin_files, self.store, self.collection, records)
        for source in sorted(left):
            await self._drop(await asyncio.to_thread(self._stored_of, source))
        await asyncio.to_thread(remove_files, self.store, self.collection, records)
        self.done.removed += len(records)

    async def _count(self, snippets: Sequence[Snippet], change: Callable[[Mapping[str, Any]], None]) -> None:
        """Count snippets that are stored; their vectors are made again, from the cache where
        a model makes them."""
        for found in await self.encoder.encode(list(map(self._texts, snippets))):
            change(found)

    def _texts(self, snippet: Snippet) -> ChunkTexts:
        assert self.encoder.encoding is not None
        return texts_to_encode(self.encoder.encoding, snippet.body, snippet.header)

    def _write_files(self, snippets: Sequence[Snippet]) -> None:
        for snippet in snippets:
            write_own(self._path(snippet), snippet_file(snippet).encode("utf-8"))

    def _remove_files(self, snippets: Sequence[Snippet]) -> None:
        for snippet in snippets:
            self._path(snippet).unlink(missing_ok=True)

    def _remove_all_files(self) -> None:
        """Remove the snippet files of a collection that is no longer there, and no others."""
        for path in (self.folder / SNIPPETS).iterdir():
            if _OF_SNIPPET.fullmatch(path.name):
                path.unlink()

    def _path(self, snippet: Snippet) -> Path:
        return self.folder / SNIPPETS / f"{snippet.id}.md"

    # The end

    async def finish(self) -> None:
        """Bring the catalogue up to date."""
        done, root = self.done, self.database.from_root(self.root)
        entry = (await asyncio.to_thread(self.database.entries)).get(self.name)
        done.files = len(self.records)
        same = entry is not None and (entry.description, entry.root) == (done.description, root)
        if self.tally is None and entry is not None and same:
            done.snippets = entry.snippets
            return
        terms = self._begin().terms()
        done.snippets = terms.count
        said, words = await self._said(done.description or self.name)
        await asyncio.to_thread(self.database.write_terms, self.name, terms)
        entry = CatalogueEntry(
            self.name, done.description, root, done.files, done.snippets, self.encoder.identity(),
            terms.centroid, said, words,
        )  # fmt: skip
        await asyncio.to_thread(self.database.write, entry)
        (self.folder / UNFINISHED).unlink(missing_ok=True)

    async def _said(self, description: str) -> tuple[list[float], dict[int, float]]:
        """A description's dense vector and its words' weights, for the catalogue."""
        snippet = Snippet("", self.name, "", "", 0, 0, description)
        [found] = await self.encoder.encode([self._texts(snippet)])
        dense, sparse = found.get(DENSE), found.get(SPARSE)
        words = dict(zip(sparse.indices, sparse.values, strict=True)) if isinstance(sparse, Sparse) else {}
        return [float(value) for value in dense] if isinstance(dense, list) else [], words  # type: ignore[arg-type]


def _next(points: Iterator[Any]) -> list[Snippet]:
    """The snippets of the next points."""
    return [snippet_of(point.payload) for point in islice(points, BATCH)]


# Other processes


def _worker_pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that cut texts. They are started anew, not forked: a store has threads.
    Where SAFE_PATH is set, they import no module from the working folder."""
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_work)


def _seen(sliced: asyncio.Future[list[Snippet]]) -> None:
    """When a process was ended, all that wait for one fail: asyncio is not to tell of each."""
    if not sliced.cancelled():
        sliced.exception()


def _begin_work() -> None:
    """An interrupt is for the program alone; a worker ends with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
