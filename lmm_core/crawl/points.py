"""Snippets as points of a vector store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted
from typing import Any

from ..index.encoding import ChunkTexts, EncodingModel, texts_to_encode
from .snippets import Snippet

INDEXES: dict[str, Any] = {"source": "keyword"}  # each costs a tenth of storing, even if no point has its key


def as_text(snippet: Snippet) -> str:
    """Return all of a snippet as one text, a JSON list.

    The engine takes long for each value of a payload, so that they are one, but for what is searched for."""
    return (
        f"[{quoted(snippet.id)}, {quoted(snippet.index)}, {quoted(snippet.doc_path)}, {quoted(snippet.title)}, "
        f"{snippet.line_start}, {snippet.line_end}, {quoted(snippet.body)}, {quoted(snippet.header)}, "
        f"{quoted(snippet.language)}]"
    )


def payload_of(source: str, text: str) -> dict[str, Any]:
    """Return what is stored with a snippet's vectors, given its file and its text of `as_text`."""
    return {"source": source, "snippet": text}


def snippet_from(text: str) -> Snippet:
    """Return the snippet of a text of `as_text`."""
    return Snippet(*json.loads(text))


def snippet_of(payload: Mapping[str, Any]) -> Snippet:
    """Return the snippet held in a payload."""
    return snippet_from(payload["snippet"]) if "snippet" in payload else _earlier(payload)


def _earlier(payload: Mapping[str, Any]) -> Snippet:
    """Return the snippet held in a payload that an earlier version wrote, with a value for each field."""
    return Snippet(
        payload["id"],
        payload["index"],
        payload["source"],
        payload["title"],
        payload["line_start"],
        payload["line_end"],
        payload["page_content"],
        payload["header"],
        payload.get("language", ""),  # still earlier ones did not write it
    )


def point_id(ident: str) -> str:
    """Return the id of a snippet's point, a UUID as it is written, given that of the snippet."""
    ident = ident.replace("-", "")  # of earlier versions
    return f"{ident[:8]}-{ident[8:12]}-{ident[12:16]}-{ident[16:20]}-{ident[20:]}"


def texts_of(snippet: Snippet, encoding: EncodingModel) -> ChunkTexts:
    """Return the texts of a snippet that an encoding makes vectors of."""
    return texts_to_encode(encoding, snippet.body, snippet.header, snippet.language)
