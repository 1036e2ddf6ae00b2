"""Snippets as points of a vector store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from ..index.encoding import ChunkTexts, EncodingModel, texts_to_encode
from .snippets import Snippet


def payload_of(snippet: Snippet) -> dict[str, Any]:
    """Return what is stored with a snippet's vectors, which is all of it."""
    return {
        "page_content": snippet.body,
        "header": snippet.header,
        "index": snippet.index,
        "source": snippet.doc_path,
        "title": snippet.title,
        "line_start": snippet.line_start,
        "line_end": snippet.line_end,
        "id": snippet.id,
        "language": snippet.language,
    }


def snippet_of(payload: Mapping[str, Any]) -> Snippet:
    """Return the snippet held in a payload."""
    return Snippet(
        payload["id"],
        payload["index"],
        payload["source"],
        payload["title"],
        payload["line_start"],
        payload["line_end"],
        payload["page_content"],
        payload["header"],
        payload.get("language", ""),  # earlier versions did not write it
    )


def point_id(snippet: Snippet) -> str:
    """Return the id of a snippet's point, a UUID."""
    return str(UUID(snippet.id))


def texts_of(snippet: Snippet, encoding: EncodingModel) -> ChunkTexts:
    """Return the texts of a snippet that an encoding makes vectors of."""
    return texts_to_encode(encoding, snippet.body, snippet.header, snippet.language)
