"""Agents' tools to index folders of markdown and search them.

The indexes' place is fixed on creation; indexed folders must be inside the working folder.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from ..errors import ToolError
from ..logging import one_line
from ..retrieve.library_tools import Function, Part, Result, in_parts
from ..retrieve.tools import Tools
from ..settings.models import Models
from ..settings.project import Project
from . import FOLDER
from .catalogue import ALL, Database, database_at, title_of
from .indexer import FolderIndexer, Indexed
from .search import MOST_SHOWN, SHOWN, Indexes, source_of

CHANGING = frozenset({"index_markdown_docs"})  # tools that write
LISTED = 20  # skipped files in a result
NOTE = 500  # characters about each

Query = Annotated[str, {"description": "A question, or words to look for.", "minLength": 1, "maxLength": 20_000}]
WHOLE = f"Characters of each snippet: the part that fits best; {MOST_SHOWN} for whole snippets."
Shown = Annotated[int, {"description": WHOLE, "minimum": 100, "maximum": MOST_SHOWN}]
Most = Annotated[int, {"description": "How many snippets at most.", "minimum": 1, "maximum": 50}]
IndexName = Annotated[str, {"description": f"The index to search in; {ALL!r} for all, by meaning the five nearest."}]
Root = Annotated[str, {"description": "The folder to index, from the working folder.", "minLength": 1}]
NewName = Annotated[str, {"description": "A name for the index: letters, digits, - and _.", "minLength": 1}]
Description = Annotated[str, {"description": "What the documents are about, in a line.", "maxLength": 2000}]
Source = Annotated[
    str, {"description": "A file and lines of it, as markdown_search names them: `path#L3-L9`.", "minLength": 1}
]
OneIndex = Annotated[str, {"description": "The index that it was found in.", "minLength": 1}]


def add_tools(tools: Tools, project: Project, models: Models, working: Path, indexing: bool = True) -> Indexes:
    """Add the tools for a folder's indexes, and return these for the caller to close. indexing: add writing."""
    database = database_at(project, working / FOLDER)
    indexes = Indexes(database, models)
    if indexing:
        tools.add(_index_tool(working, database, models), "Index a folder")
    tools.add(_search_tool(indexes), "Search in indexed folders")
    tools.add(_read_tool(indexes), "Read snippets of indexed folders")
    return indexes


def _search_tool(indexes: Indexes) -> Function:
    async def markdown_search(
        query: Query, k: Most = 5, index_name: IndexName = ALL, characters: Shown = SHOWN
    ) -> Result:
        """Find snippets of indexed markdown folders that fit a question or some words, the best
        first, each with its index, score, text and source (`path#Lstart-Lend`). markdown_read
        gives what stands around a text."""
        return {"results": [asdict(hit) for hit in await indexes.search(query, index_name, k, characters)]}

    return markdown_search


def _read_tool(indexes: Indexes) -> Function:
    async def markdown_read(source: Source, index_name: OneIndex, part: Part = 1) -> Result:
        """Read the whole snippets on some lines of an indexed file: on those that markdown_search
        has given, of which it showed the best part, or on more, to read on (`path#L1-L200`)."""
        snippets = [
            {"source": source_of(snippet), "title": one_line(title_of(snippet.titles)), "text": snippet.text}
            for snippet in await indexes.read(source, index_name)
        ]
        return {"index": index_name, **in_parts("snippets", snippets, part)}

    return markdown_read


def _index_tool(working: Path, database: Database, models: Models) -> Function:
    async def index_markdown_docs(root: Root, index_name: NewName, description: Description) -> Result:
        """Index the markdown files under a folder, so that markdown_search finds them; an index
        that is there is brought up to date. The files themselves are not changed."""
        indexer, folder = FolderIndexer(database, models), _inside(working, root)
        return _as_result(await indexer.index(folder, index_name, description))

    return index_markdown_docs


def _inside(working: Path, root: str) -> Path:
    """Return a folder inside the working folder. Raise ToolError otherwise."""
    try:
        folder = (working / root).resolve()
        folder.stat()
    except (OSError, ValueError):  # missing, overlong, or with a null byte
        raise ToolError(f"{root[:200]!r} is not a folder that can be read") from None
    if not folder.is_relative_to(working.resolve()):
        raise ToolError(f"{root!r} is outside the working folder. Only folders inside it can be indexed.")
    return folder


def _as_result(indexed: Indexed) -> Result:
    skipped = [one_line(f"{file.doc_path}: {file.reason}", NOTE) for file in indexed.skipped]
    return {
        "index": indexed.name,
        "description": one_line(indexed.description),
        "files": indexed.files,
        "snippets": indexed.snippets,
        "written": indexed.written,
        "removed": indexed.dropped,
        "skipped": len(indexed.skipped),
        "notes": skipped[:LISTED],
    }
