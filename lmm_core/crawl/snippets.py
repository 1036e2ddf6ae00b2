"""Write an index's snippets as files: YAML fields, a blank line, and the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from json.encoder import encode_basestring as quoted
from pathlib import Path

from ..files.marked import write_own
from ..indexing.passages import SUMMARY, Passage, read_passage
from ..store.vector_store import ScoredPoint

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # printable in JSON, not in YAML
_FILE = re.compile(r"(?:[0-9a-f]-?){32}\.md")


def snippet_file(index: str, snippet: Passage) -> str:
    """Return the text of a snippet's file. index: the index's name."""
    header = "\n".join(filter(None, [" - ".join(snippet.titles), *snippet.questions]))
    fields = (
        f"id: {quoted(snippet.id)}\nindex: {quoted(index)}\ndoc_path: {quoted(snippet.source)}\n"
        f"title: {quoted(title_of(snippet.titles))}\nline_start: {snippet.line_start}\n"
        f"line_end: {snippet.line_end}\nheader: {quoted(header)}\nlanguage: {quoted(snippet.language)}"
    )
    escaped = _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", fields)
    return f"---\n{escaped}\n---\n\n{snippet.text}\n"


def title_of(titles: Iterable[str]) -> str:
    """Return the title of a snippet's document, or ""."""
    return next(iter(titles), "")


def sync_snippets(folder: Path, index: str, points: Iterable[ScoredPoint]) -> None:
    """Update the snippet files from the points, and remove others. Raise FolderError or OSError."""
    files: set[str] = set()
    for snippet in map(read_passage, points):
        if SUMMARY in snippet.types:  # annotated summaries are chunks, too
            continue
        path, data = folder / f"{snippet.id}.md", snippet_file(index, snippet).encode("utf-8", "replace")
        files.add(path.name)
        if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
            write_own(str(path), data)
    for path in folder.iterdir():
        is_file = _FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_file and path.name not in files:
            path.unlink()
