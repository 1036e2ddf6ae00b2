"""Indexing a folder: only files that have changed are cut, embedded and stored.

A file whose size and time are those on record is not read, and one that was merely touched
is not cut. The time of a file that has just been written is not recorded, since it may be
written again within the same tick of the file system's clock. A file with a record is recorded as
begun before its snippets change, and each one with its size and time afterwards, so that the next run
can continue one that was interrupted at whatever moment.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import CrawlError, FolderError
from ..files.walk import Skipped
from ..index.collection import ainitialize_collection
from ..index.cutting.workers import Workers, in_order
from ..index.encoding import DENSE, SPARSE, VERSION, Encoder, differing, is_earlier, is_later
from ..index.records import (
    FILES,
    FileRecord,
    begin_files,
    create_records,
    read_records,
    remove_files,
    write_record,
)
from ..models.embedders.embedder import Sparse
from .catalogue import CatalogueEntry, Database, OpenIndex, as_utf8, checked_index_name, other_models
from .cutter import Cut, CutSnippet, CutText, TextCutter
from .points import INDEXES
from .snippets import Snippet
from .stored import BATCH, StoredSnippets
from .terms import Tally
from .walk import CrawledFile, crawl, read_all

IN_WORK = 2_000_000  # characters that are being cut at the same time
AT_ONCE = 100_000  # … that are handed to another process at once
JUST_WRITTEN = 2_000_000_000  # nanoseconds: no file system's clock ticks more slowly
SLICING = 3  # increased when the same text gives other snippets

EncoderFor = Callable[[Mapping[str, Any]], Encoder]


@dataclass
class Indexed:
    """The result of a run.

    files: in the index now; read: whose text was read; unchanged: not changed; removed: gone;
    written, dropped: snippets; snippets: in the index now; skipped: files left out although no
    rule ignores them; large: files that should be split, each with the advice; rebuilt: whether
    the index was of an earlier version and has been made anew."""

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
    rebuilt: bool = False


async def index_folder(
    database: Database,
    root: Path,
    name: str,
    description: str,
    encoder_for: EncoderFor,
    ignore: Sequence[str] = (),
    max_fibers: int = 25,
    workers: int = 1,
    language: str = "",
    expect: Callable[[int], None] = lambda count: None,
    progress: Callable[[int], None] = lambda count: None,
) -> Indexed:
    """Index the markdown files under a folder, or bring their index up to date.

    encoder_for: returns the encoder for an index made with something (`{}`: a new one); ignore:
    patterns as in `.gitignore`; max_fibers: the number of files read at the same time; workers:
    the number of processes that cut texts if there is much to cut (they import the program
    that is run, as `multiprocessing` does); language: of texts that do not name theirs, "" if it is
    to be recognized; expect, progress: told how many snippets are to be
    written, and how many were. Raise CrawlError, StoreError or ModelError; what was done by then
    is kept."""
    checked_index_name(name)
    await asyncio.to_thread(_check_folder, database, root, name)
    opened = await asyncio.to_thread(database.open, name, True)
    cutter = TextCutter(name, Workers(workers), language)
    run = _Run(database, root, opened, Indexed(name, as_utf8(description)), cutter, expect, progress)
    try:
        await run.prepare(encoder_for)
        await run.index(ignore, max_fibers)
        await run.finish()
    except FolderError as error:
        raise CrawlError(str(error)) from error
    except OSError as error:
        where = error.filename or database.folder(name)
        raise CrawlError(f"{where}: {error.strerror or error}; run this again: what was done is kept") from error
    except BrokenExecutor as error:
        raise CrawlError(
            "a process that cuts texts was ended from outside, perhaps for lack of memory; run this again: "
            "what was done is kept"
        ) from error
    finally:
        cutter.workers.stop()
        await asyncio.to_thread(opened.close)
    return run.done


def _check_folder(database: Database, root: Path, name: str) -> None:
    """Make the index's folder. Raise CrawlError if `root` cannot be indexed under this name."""
    if not root.is_dir():
        raise CrawlError(f"{root} is not a folder")
    if root.resolve().is_relative_to(database.root.resolve()):
        raise CrawlError(f"{root} is where the indexes are: name the folder that holds your documents")
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


# A run


@dataclass
class _File:
    """A file whose snippets are being stored.

    record: what is recorded of it in the end; gone: its snippets that no longer exist; end: how
    many new snippets of the run have to be stored before that."""

    record: FileRecord
    gone: list[Snippet]
    end: int


@dataclass
class _Group:
    """Files whose texts are cut together; size: in characters."""

    records: list[FileRecord] = field(default_factory=list)
    texts: list[CutText] = field(default_factory=list)
    size: int = 0

    def add(self, record: FileRecord, text: CutText) -> None:
        self.records.append(record)
        self.texts.append(text)
        self.size += len(text.text)


_Changed = tuple[FileRecord, CutText]


async def _grouped(texts: AsyncIterator[_Changed]) -> AsyncIterator[_Group]:
    """Yield files in groups, since handing over each alone would take as long as cutting."""
    group = _Group()
    async for record, text in texts:
        group.add(record, text)
        if group.size > AT_ONCE:
            yield group
            group = _Group()
    if group.records:
        yield group


@dataclass
class _Run:
    """A run of the indexer over a folder."""

    database: Database
    root: Path
    opened: OpenIndex
    done: Indexed
    cutter: TextCutter
    expect: Callable[[int], None]
    progress: Callable[[int], None]

    def __post_init__(self) -> None:
        self.store, self.collection, self.name = self.opened.store, self.opened.collection, self.done.name
        self.records: dict[str, FileRecord] = {}  # of the last run: those of new files would take 0.4 KB each
        self.left: dict[str, FileRecord] = {}  # of files not met in this run, so far
        self.unsure: set[str] = set()  # files of which an interrupted run has stored snippets
        self.new: deque[CutSnippet] = deque()
        self.files: deque[_File] = deque()
        self.to_begin: list[FileRecord] = []  # of files in `files` that have another one, not yet recorded as begun
        self.sent = 0  # snippets that have ever been in `new`
        self.new_files = 0  # that are recorded now and were not before
        # What snippets depend on besides the text. Each file's fingerprint begins with it.
        settings = json.dumps([VERSION, SLICING, self.cutter.language])
        self.settings = hashlib.blake2b(settings.encode(), digest_size=4).hexdigest()

    # Preparing

    async def prepare(self, encoder_for: EncoderFor) -> None:
        """Find the encoder, make the collection if there is none, and repair an interrupted run."""
        known = await asyncio.to_thread(self.store.metadata, self.collection)
        remembered = await asyncio.to_thread(self.store.metadata, self.collection + FILES) is not None
        encoder = encoder_for(known or {})
        wanted = encoder.identity()
        if known is not None and (is_later(known) or differing(known, wanted)):
            raise CrawlError(other_models(self.name, known, wanted))
        self.stored = StoredSnippets(self.database, self.name, self.opened, encoder)
        self.cutter.encoder, self.cutter.folder = encoder, self.stored.files
        if is_earlier(known):
            await self._drop(encoder)
            known = None
        if known is None or not remembered:
            # before the collection is made, which would hide that everything is still to be done
            self.stored.begin(Tally())
            await asyncio.to_thread(create_records, self.store, self.collection)
        if known is None:
            await asyncio.to_thread(self.stored.remove_other_files)
        await ainitialize_collection(self.store, self.collection, encoder, INDEXES)
        self.records = await asyncio.to_thread(read_records, self.store, self.collection)
        if known is not None and not (remembered and self.stored.is_whole()):
            self._doubt(await self.stored.recover())
        self.left = dict(self.records)

    def _doubt(self, stored: Mapping[str, int]) -> None:
        """Look at files anew that an interrupted run may have left unfinished. stored: the snippets of each.

        A power cut may take snippets and leave the record that they are stored."""
        self.unsure = set(stored)
        for source, record in self.records.items():
            if record.count != stored.get(source, 0):
                self.records[source] = replace(record, fingerprint="", size=-1)

    async def _drop(self, encoder: Encoder) -> None:
        """Remove what an earlier version stored, once it is sure that its place can be taken.

        The index is marked first: if this run ends early, the next one makes it."""
        await encoder.spec()
        self.stored.begin(Tally())
        self.done.rebuilt = True
        await asyncio.to_thread(self.store.drop, self.collection)

    # Changed files

    async def index(self, ignore: Sequence[str], max_fibers: int) -> None:
        """Store new snippets, and remove those that are gone."""
        async for record, snippets in self._cut(self._changed(ignore, max_fibers)):
            await self._take(record, snippets)
            while len(self.new) >= BATCH:
                await self._store()
        while self.new or self.files:
            await self._store()
        await self._remove_left()

    async def _cut(self, texts: AsyncIterator[_Changed]) -> AsyncIterator[tuple[FileRecord, list[CutSnippet]]]:
        """Yield the files that have changed, each with its snippets.

        Other processes cut some of them in advance, while others are stored."""
        async for group, cut in in_order(self._begun(texts), IN_WORK):
            for record, snippets in zip(group.records, await cut, strict=True):
                yield record, snippets

    async def _begun(self, texts: AsyncIterator[_Changed]) -> AsyncIterator[tuple[_Group, int, asyncio.Future[Cut]]]:
        async for group in _grouped(texts):
            self.stored.begin()  # before files of snippets are written
            yield group, group.size, self.cutter.cut(group.texts)

    async def _changed(self, ignore: Sequence[str], max_fibers: int) -> AsyncIterator[_Changed]:
        """Yield the files whose text has changed, each with its text."""
        async for found, text in read_all(self._to_read(ignore), max_fibers):
            if isinstance(text, Skipped):
                self.done.skipped.append(text)
                if text.torn:
                    self.left.pop(text.doc_path, None)
                continue
            self.done.read += 1
            if found.advice:
                self.done.large.append(Skipped(found.doc_path, found.advice))
            mark = self.settings + hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()
            record = FileRecord(found.doc_path, found.doc_path, mark, 0, found.size, found.mtime_ns)
            before = self.left.pop(found.doc_path, None)
            if before is not None and before.fingerprint == mark:  # touched
                self.done.unchanged += 1
                touched = replace(before, size=found.size, mtime_ns=found.mtime_ns)
                await asyncio.to_thread(write_record, self.store, self.collection, touched)
            else:
                if before is not None:
                    self.cutter.foresee(found.size)
                is_new = record.source not in self.records and record.source not in self.unsure
                yield record, CutText(record.source, text, is_new)

    def _to_read(self, ignore: Sequence[str]) -> Iterator[CrawledFile]:
        """Yield the files whose size or time has changed."""
        for found in crawl(self.root, ignore, without=[self.database.root]):
            if isinstance(found, Skipped):
                self.done.skipped.append(found)
                self._keep_below(found.doc_path)
                continue
            before = self.records.get(found.doc_path)
            same = before is not None and (before.size, before.mtime_ns) == (found.size, found.mtime_ns)
            if same and before is not None and before.fingerprint.startswith(self.settings):
                self.done.unchanged += 1
                self.left.pop(found.doc_path, None)
            else:
                if before is None:
                    self.cutter.foresee(found.size)
                is_new = time.time_ns() - found.mtime_ns < JUST_WRITTEN
                yield replace(found, mtime_ns=-1) if is_new else found

    def _keep_below(self, folder: str) -> None:
        """Keep what is indexed of a folder that cannot be looked into now."""
        if folder.endswith("/"):
            for source in [source for source in self.left if folder == "./" or source.startswith(folder)]:
                del self.left[source]

    # Storing

    async def _take(self, record: FileRecord, snippets: Sequence[CutSnippet]) -> None:
        """Queue the new snippets of a file, and note those that are gone."""
        self.stored.begin()
        wanted = {one.id: one for one in snippets}
        known: dict[str, Snippet] = {}
        if record.source in self.records or record.source in self.unsure:
            known = {one.id: one for one in await asyncio.to_thread(self.stored.of_file, record.source)}
            self.to_begin.append(record)  # any other file is looked at by the next run, as its snippets are counted
        new = [one for ident, one in wanted.items() if ident not in known]
        self.new.extend(new)
        self.sent += len(new)
        self.expect(len(new))
        gone = [snippet for ident, snippet in known.items() if ident not in wanted]
        self.files.append(_File(replace(record, count=len(wanted)), gone, self.sent))

    async def _store(self) -> None:
        """Store a batch of new snippets, and close the files whose last snippets it held."""
        await asyncio.to_thread(begin_files, self.store, self.collection, self.to_begin)
        self.to_begin.clear()
        batch = [self.new.popleft() for _ in range(min(BATCH, len(self.new)))]
        if batch:
            await self.stored.add(batch)
            self.done.written += len(batch)
            self.progress(len(batch))
        await self._close_files(self.sent - len(self.new))

    async def _close_files(self, stored: int) -> None:
        """Remove the snippets gone from the files that are completely stored, and record these files."""
        closed: list[_File] = []
        while self.files and self.files[0].end <= stored:
            closed.append(self.files.popleft())
        await self._remove([snippet for file in closed for snippet in file.gone])
        if closed:
            records = [file.record for file in closed]
            await asyncio.to_thread(write_record, self.store, self.collection, *records)
            sources = {record.source for record in records}
            self.unsure -= sources
            self.new_files += len(sources - self.records.keys())

    async def _remove(self, snippets: Sequence[Snippet]) -> None:
        await self.stored.remove(snippets)
        self.done.dropped += len(snippets)

    async def _remove_left(self) -> None:
        """Remove what is stored of files that are gone or can no longer be read."""
        left = set(self.left) | (self.unsure - self.records.keys())
        records = [self.records.pop(source) for source in sorted(left) if source in self.records]
        if records:
            self.stored.begin()
        await asyncio.to_thread(begin_files, self.store, self.collection, records)
        for source in sorted(left):
            await self._remove(await asyncio.to_thread(self.stored.of_file, source))
        await asyncio.to_thread(remove_files, self.store, self.collection, records)
        self.done.removed += len(records)

    # Finishing

    async def finish(self) -> None:
        """Bring the catalogue up to date."""
        done, root = self.done, self.database.from_root(self.root)
        entry = (await asyncio.to_thread(self.database.entries)).get(self.name)
        done.files = len(self.records) + self.new_files
        same = entry is not None and (entry.description, entry.root) == (done.description, root)
        if self.stored.tally is None and entry is not None and same:
            done.snippets = entry.snippets
            return
        terms = self.stored.begin().terms()
        done.snippets = terms.count
        usual = max(terms.languages, key=terms.languages.__getitem__, default="")
        said, words = await self._said(done.description or self.name, usual)
        await asyncio.to_thread(self.database.write_terms, self.name, terms)
        entry = CatalogueEntry(
            self.name, done.description, root, done.files, done.snippets, self.stored.encoder.identity(),
            terms.centroid, said, words,
        )  # fmt: skip
        await asyncio.to_thread(self.database.write, entry)
        await asyncio.to_thread(self.stored.end)

    async def _said(self, description: str, language: str) -> tuple[list[float], dict[int, float]]:
        """Return a description's dense vector and the weights of its words, for the catalogue."""
        snippet = Snippet("", self.name, "", "", 0, 0, description, language=language)
        [found] = await self.stored.encode([snippet])
        dense, sparse = found.get(DENSE), found.get(SPARSE)
        words = dict(zip(sparse.indices, sparse.values, strict=True)) if isinstance(sparse, Sparse) else {}
        return [float(value) for value in dense] if isinstance(dense, list) else [], words  # type: ignore[arg-type]
