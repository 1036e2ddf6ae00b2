"""Index folders of markdown that nobody prepared, and search in them, as configured."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, FolderError
from ..files.marked import own_place
from ..index.cutting.workers import most_workers
from ..index.encoding import (
    Encoder,
    EncodingModel,
    embedding_source,
    encoding_to_qdrantembedding_model,
    has_dense,
    make_encoder,
)
from ..markdown.blocks import HeaderBlock, HeadingBlock
from ..markdown.parse import parse_markdown_text
from ..models.addresses import shown_address
from ..models.languages.stemming import language_code
from ..models.names import DEFAULT
from ..settings.models import Models
from ..settings.project import Project
from ..settings.quarto_project import quarto_language
from ..store.places import RemoteSource

if TYPE_CHECKING:
    from ..crawl.catalogue import Database
    from ..crawl.indexer import Indexed
    from ..crawl.search import Indexes
    from ..retrieve.agents.tools import Tools

FOLDER = ".md_index"
README = 100_000  # characters of a README that are searched for its heading


def database_from(project: Project, root: Path) -> Database:
    """Return the database in a folder; if a server is configured, its collections are there.

    Raise ConfigError if the folder lies in the project and is reached through a link."""
    from ..crawl.catalogue import Database

    storage = project.storage
    try:
        own_place(project.root, Path.cwd() / root)
    except FolderError as error:
        raise ConfigError(str(error)) from error
    return Database(
        root, RemoteSource(storage.url, storage.port or None, storage.timeout, storage.file) if storage.url else None
    )


def index_markdown(
    project: Project,
    models: Models,
    database: Database,
    root: Path,
    name: str = "",
    description: str = "",
    ignore: Sequence[str] = (),
    max_fibers: int = 25,
    expect: Callable[[int], None] = lambda count: None,
    progress: Callable[[int], None] = lambda count: None,
) -> Awaitable[Indexed]:
    """Index a folder; see `crawl.indexer.index_folder`. The result is to be awaited.

    name: by default that of the folder; description: by default that of the run before, or the
    first heading of the folder's README. Texts are cut by one process for each core, but at
    most four."""
    from ..crawl.indexer import index_folder

    index = name or default_name(root)
    return index_folder(
        database,
        root,
        index,
        description or _known_description(database, index) or read_description(root),
        partial(_announced_encoder, project, models),
        ignore,
        max_fibers,
        most_workers(),
        language_code(project.embeddings.language or quarto_language(project.root)),
        expect,
        progress,
    )


def open_indexes(project: Project, models: Models, database: Database) -> Indexes:
    """Return the indexes of a database, to be searched as they were made."""
    from ..crawl.search import Indexes

    as_made = replace(project, embeddings=replace(project.embeddings, encoding="default"))
    return Indexes(database, partial(encoder_for, as_made, models), models.warn)


def add_tools(tools: Tools, project: Project, models: Models, working: Path, indexing: bool = True) -> Indexes:
    """Add the tools on the indexes in a working folder. Return the indexes, which the caller closes.

    indexing: add also the tool that makes indexes."""
    from ..crawl.tools import index_tool, read_tool, search_tool

    database = database_from(project, working / FOLDER)
    indexes = open_indexes(project, models, database)
    if indexing:
        tools.add(index_tool(working, partial(index_markdown, project, models, database)), "Index a folder")
    tools.add(search_tool(indexes), "Search in indexed folders")
    tools.add(read_tool(indexes), "Read snippets of indexed folders")
    return indexes


def _announced_encoder(project: Project, models: Models, known: Mapping[str, Any]) -> Encoder:
    """Return the encoder for an index that is about to be written; say first where texts are sent."""
    encoder = encoder_for(project, models, known)
    source = embedding_source(encoder, project)
    if source is not None and not source.local and encoder.embedder is not None:
        address = shown_address(source.base_url)
        models.inform(f"embedding with {encoder.embedder.name}: new and changed texts are sent to {address}")
    return encoder


def encoder_for(project: Project, models: Models, known: Mapping[str, Any]) -> Encoder:
    """Return the encoder for an index; `known` is the identity of the one that it was made with.

    An encoding that needs annotations is replaced by `bm25` or `hybrid`, since these texts have
    none. Raise StoreError and ModelError."""
    return make_encoder(project, models, known, _encoding(project.embeddings.encoding))


def _encoding(configured: str) -> str:
    """Return the encoding for texts without annotations."""
    if configured in (DEFAULT, "bm25", "hybrid", "content", "merged"):
        return configured
    return "hybrid" if has_dense(encoding_to_qdrantembedding_model(EncodingModel(configured))) else "bm25"


def default_name(root: Path) -> str:
    """Return the folder's name, spelled as an index's name. Raise CrawlError if nothing of it can be used."""
    from ..errors import CrawlError

    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", root.resolve().name).strip("-.")
    if not name:
        raise CrawlError(f"no index can have the name of the folder {root.resolve()}; give another one with --name")
    return name


def _known_description(database: Database, name: str) -> str:
    entry = database.entries().get(name)
    return entry.description if entry else ""


def read_description(root: Path) -> str:
    """Return the title or first heading of a folder's README, or ""."""
    for path in sorted(root.glob("*")):
        if path.stem.lower() == "readme" and path.suffix.lower() in (".md", ".markdown", ".mdown", ".qmd"):
            try:
                blocks = parse_markdown_text(_beginning(path, root))
            except (OSError, UnicodeDecodeError):
                continue
            titles = (_title(block) for block in blocks)
            return next(filter(None, titles), "")
    return ""


def _beginning(path: Path, root: Path) -> str:
    """Return the beginning of a file that lies in a folder, or "" if it is no regular file."""
    if not (path.is_file() and path.resolve().is_relative_to(root.resolve())):
        return ""
    with path.open(encoding="utf-8") as file:
        return file.read(README)


def _title(block: Any) -> str:
    if isinstance(block, HeaderBlock):
        return " ".join(str(block.content.get("title") or "").split())
    return str(block.title) if isinstance(block, HeadingBlock) else ""
