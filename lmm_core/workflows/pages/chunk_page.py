"""A page that shows chunks: where each begins and ends, and what is embedded of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from .templates import fill, fill_page

if TYPE_CHECKING:
    from ...index.chunks import Chunk


def chunk_page(chunks: Sequence[Chunk]) -> str:
    """Return the page as HTML that needs no other file."""
    sizes = sorted(len(chunk.content) for chunk in chunks) or [0]
    summary = f"{len(chunks)} chunks; characters: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}"
    return fill_page("chunk_page", summary=summary, articles="\n".join(map(_article, chunks)))


def _article(chunk: Chunk) -> str:
    payload = chunk.payload
    kind = payload.get("type")
    return fill(
        "chunk_article",
        titles=escape(" > ".join(payload["titles"])),
        badge=_badge(kind if isinstance(kind, str) else ", ".join(kind)) if kind else "",
        place=escape(f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"),
        size=len(chunk.content),
        content=escape(chunk.content),
        embedded=escape("\n---\n".join(filter(None, [*chunk.texts.dense, chunk.texts.sparse]))),
    )


def _badge(kind: str) -> str:
    return f'<span class="type">{escape(kind)}</span>'
