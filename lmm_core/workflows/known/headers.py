"""The headers of documents, whose YAML takes longer to read than all else in a document that has not changed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...markdown.blocks import header_content
from ...markdown.files import MarkdownDocument
from ...markdown.parse import header_source, parse_header
from .remember import remembered

EFFORT = 4  # times as long as usual a byte takes


def recall_headers(documents: Sequence[MarkdownDocument]) -> None:
    """Give documents their headers, as far as it is known what their beginnings say."""
    sources = [header_source(one.file.text) for one in documents]
    things = [(source.encode("utf-8", "surrogatepass"), source) for source in sources if source]
    headers = iter(remembered("header", b"", things, _header_of, EFFORT))
    for document, source in zip(documents, sources, strict=True):
        if source and (header := next(headers)) is not None:
            document.header = header


def _header_of(source: str) -> dict[str, object] | None:
    """Return the header at the beginning of a text, or None if JSON cannot say all of it."""
    block = parse_header(source)
    header = header_content([block] if block else [])
    try:
        return header if json.loads(json.dumps(header)) == header else None
    except (TypeError, ValueError):  # a set, bytes, half of a surrogate pair
        return None
