"""The snippets of an index as files: their fields as YAML, a blank line, and the text as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable
from json.encoder import encode_basestring as quoted
from pathlib import Path

from ..files.marked import write_own
from ..index.chunks import Chunk
from ..index.passages import SUMMARY

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # printable to JSON, and not to YAML
_FILE = re.compile(r"(?:[0-9a-f]-?){32}\.md")


def is_snippet(chunk: Chunk) -> bool:
    """Return True if a chunk is text of its file; annotated summaries are chunks, too."""
    return chunk.payload.get("type") != SUMMARY


def snippet_file(index: str, chunk: Chunk) -> str:
    """Return the text of a snippet's file, to be written without changing line ends.

    index: the index's name."""
    payload = chunk.payload
    fields = (
        f"id: {quoted(chunk.uuid)}\nindex: {quoted(index)}\ndoc_path: {quoted(payload['source'])}\n"
        f"title: {quoted(title_of(payload['titles']))}\nline_start: {payload['line_start']}\n"
        f"line_end: {payload['line_end']}\nheader: {quoted(chunk.annotations)}\n"
        f"language: {quoted(payload.get('language', ''))}"
    )
    escaped = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", fields)
    return f"---\n{escaped}\n---\n\n{chunk.content}\n"


def title_of(titles: Iterable[str]) -> str:
    """Return the title of a snippet's document, or of the part of it that it stands in, or ""."""
    return next(iter(titles), "")


def write_snippets(folder: Path, index: str, chunks: Iterable[Chunk]) -> None:
    """Write the files of snippets. Raise FolderError or OSError."""
    for chunk in filter(is_snippet, chunks):
        # (a path as an object would take as long as its file)
        write_own(f"{folder}{os.sep}{chunk.uuid}.md", snippet_file(index, chunk).encode("utf-8", "replace"))


def remove_snippets(folder: Path, ids: Iterable[str]) -> None:
    """Remove the files of snippets."""
    for ident in ids:
        (folder / f"{ident}.md").unlink(missing_ok=True)


def remove_other_snippets(folder: Path, ids: Container[str]) -> None:
    """Remove the files of all snippets but those with some ids, and nothing that is no such file."""
    for path in folder.iterdir():
        is_file = _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_file and path.stem not in ids:
            path.unlink()
