"""Helpers for the tests of indexed folders: folders, runs, and everything that a run writes."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

from lmm_core.crawl.catalogue import SNIPPETS, Database
from lmm_core.crawl.indexer import FolderIndexer
from lmm_core.crawl.search import Indexes
from lmm_core.indexing.collection import project_store
from lmm_core.indexing.records import FILES
from lmm_core.models.chat import run
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project
from tests.commands import write

DATABASE = Database(Path(".md_index"), Project(Path()))
FILLING = "and this is told at such a length that it makes a snippet of its own when the page is cut. " * 5


def page(*words):
    """Return a page of sections, each a snippet that is found by a word."""
    sections = (f"## About {word}\n\nHere the {word} is explained, {FILLING}\n\n" for word in words)
    return f"# Notes\n\n{''.join(sections)}"


def with_model(model, database=DATABASE):
    """Return the database with an embedding model that is configured."""
    project = database.project
    return replace(database, project=replace(project, models=project.models | {"embedding": model}))


def in_language(language, database=DATABASE):
    """Return the database with a language that is configured."""
    project = database.project
    return replace(database, project=replace(project, embeddings=replace(project.embeddings, language=language)))


def index(root="docs", name="", description="", database=DATABASE, **options):
    """Index a folder in this process."""
    return run(FolderIndexer(database, Models(), **options).index(Path(root), name, description))


def search(query, name="all", k=5, database=DATABASE, warn=print):
    """Search in indexes that are opened for it."""

    async def work():
        indexes = Indexes(database, Models(warn=warn))
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
    project = database.project_of(name)
    store, collection = project_store(project), project.database.collection_name
    try:
        points = {point.id: point.payload for point in store.scroll(collection)}
        records = [point.payload for point in store.scroll(collection + FILES)]
    finally:
        store.close()
    return {
        "points": points,
        "records": sorted((one["source"], one["fingerprint"], one["count"]) for one in records if "source" in one),
        "snippets": {path.name: path.read_text() for path in (database.folder(name) / SNIPPETS).iterdir()},
        "entry": database.entries()[name],
    }


def read_snippet_file(text):
    """Return the fields of a snippet's file."""
    head, _, body = text.partition("\n---\n\n")
    fields = dict(line.split(": ", 1) for line in head.split("\n")[1:])
    return {name: json.loads(value) for name, value in fields.items()} | {"body": body.removesuffix("\n")}
