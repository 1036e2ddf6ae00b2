"""Helpers for the tests of indexed folders: folders, runs, and everything that a run writes."""

import json
import os
import time
from pathlib import Path

from lmm_core.crawl.catalogue import SNIPPETS, TERMS, Database
from lmm_core.crawl.indexer import index_folder
from lmm_core.crawl.search import Indexes
from lmm_core.crawl.snippets import Snippet
from lmm_core.crawl.terms import Tally
from lmm_core.index.encoding import Encoder, EncodingModel, QdrantEmbeddingModel
from lmm_core.index.records import FILES
from lmm_core.models.chat import run
from lmm_core.models.embedders.bm25 import Bm25Encoder
from tests.commands import write

DATABASE = Database(Path(".md_index"))
BM25 = Bm25Encoder("en")
FILLING = "and this is told at such a length that it makes a snippet of its own when the page is cut. " * 5


def page(*words):
    """Return a page of sections, each a snippet that is found by a word."""
    sections = (f"## About {word}\n\nHere the {word} is explained, {FILLING}\n\n" for word in words)
    return f"# Notes\n\n{''.join(sections)}"


def bm25(known=None):
    """Return an encoder without a model."""
    return Encoder(QdrantEmbeddingModel.BM25, None, Bm25Encoder("en"), EncodingModel.BM25)


def index(root="docs", name="", description="", database=DATABASE, encoder_for=bm25, **options):
    """Index a folder in this process."""
    return run(index_folder(database, Path(root), name or str(root), description, encoder_for, **options))


def search(query, name="all", k=5, database=DATABASE, encoder_for=bm25, warn=print):
    """Search in indexes that are opened for it."""

    async def work():
        indexes = Indexes(database, encoder_for, warn)
        try:
            return await indexes.search(query, name, k)
        finally:
            await indexes.close()

    return run(work())


def fill(folder, **pages):
    """Write the files of a folder by their names without `.md`, as if some time ago."""
    for name, text in pages.items():
        age(write(Path(folder, f"{name}.md"), text))


def age(path):
    """Set a file's time as if it had been written ten seconds before."""
    then = time.time_ns() - 10 * 10**9
    os.utime(path, ns=(then, then))


def made(name="docs", database=DATABASE):
    """Return everything that indexing has written.

    These are points, records without their times, snippet files, the words' counts and the
    entry of the catalogue."""
    opened = database.open(name)
    try:
        points = {point.id: point.payload for point in opened.store.scroll(opened.collection)}
        records = [point.payload for point in opened.store.scroll(opened.collection + FILES)]
    finally:
        opened.close()
    terms = json.loads((database.folder(name) / TERMS).read_bytes())
    return {
        "points": points,
        "records": sorted((one["source"], one["fingerprint"], one["count"], one["size"]) for one in records),
        "snippets": {path.name: path.read_text() for path in (database.folder(name) / SNIPPETS).iterdir()},
        "terms": {key: [round(one, 6) for one in value] for key, value in terms.items() if isinstance(value, list)},
        "count": terms["count"],
        "languages": terms["languages"],
        "entry": database.entries()[name],
        "unfinished": (database.folder(name) / "unfinished").exists(),
    }


def terms_of(*texts):
    tally = Tally()
    for vector in BM25.encode(texts):
        tally.add({"sparse": vector})
    return tally.terms()


def words(text):
    vector = BM25.encode([text])[0]
    return dict(zip(vector.indices, vector.values, strict=True))


def read_snippet_file(text):
    """Return the snippet that a file was made of."""
    head, _, body = text.partition("\n---\n\n")
    values = [json.loads(line.split(": ", 1)[1]) for line in head.split("\n")[1:]]
    ident, index, doc_path, title, first, last, header, language = values
    return Snippet(ident, index, doc_path, title, first, last, body.removesuffix("\n"), header, language)
