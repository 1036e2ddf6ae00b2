"""Snippets as points of a vector store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import attrgetter
from typing import Any
from uuid import UUID

from ..index.encoding import ChunkTexts, EncodingModel, texts_to_encode
from .snippets import Snippet

INDEXES: dict[str, Any] = {"source": "keyword"}  # each costs a tenth of storing, even if no point has its key
_values = attrgetter(*Snippet.__slots__)
_JSON = json.JSONEncoder(ensure_ascii=False)  # `json.dumps` would make one for each value


def payload_of(snippet: Snippet) -> dict[str, Any]:
    """Return what is stored with a snippet's vectors, which is all of it.

    The engine takes long for each value of a payload, so that they are one, but for what is searched for."""
    return {"source": snippet.doc_path, "snippet": _JSON.encode(_values(snippet))}


def snippet_of(payload: Mapping[str, Any]) -> Snippet:
    """Return the snippet held in a payload."""
    return Snippet(*json.loads(payload["snippet"])) if "snippet" in payload else _earlier(payload)


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


def point_id(snippet: Snippet) -> str:
    """Return the id of a snippet's point, a UUID."""
    return str(UUID(snippet.id))


def texts_of(snippet: Snippet, encoding: EncodingModel) -> ChunkTexts:
    """Return the texts of a snippet that an encoding makes vectors of."""
    return texts_to_encode(encoding, snippet.body, snippet.header, snippet.language)
