"""Render chunks as an HTML page, with their boundaries and embedded text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from ..files.outputs import GENERATOR

if TYPE_CHECKING:
    from ..indexing.chunks import Chunk


def chunk_page(chunks: Sequence[Chunk]) -> str:
    """Return the page as self-contained HTML."""
    sizes = sorted(len(chunk.content) for chunk in chunks) or [0]
    summary = f"{len(chunks)} chunks; characters: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}"
    page = Template(Path(__file__).with_name("chunk_page.html").read_text(encoding="utf-8"))
    return page.substitute(generator=GENERATOR, summary=summary, articles="\n".join(map(_article, chunks)))


def _article(chunk: Chunk) -> str:
    payload = chunk.payload
    type = payload.get("type")
    types = escape(type if isinstance(type, str) else ", ".join(type)) if type else ""
    place = escape(f"{payload['source']}:{payload['line_start']}-{payload['line_end']}")
    embedded = escape("\n---\n".join(filter(None, [*chunk.texts.dense, chunk.texts.sparse])))
    return (
        f"<article><header><b>{escape(' > '.join(payload['titles']))}</b>"
        f'{f"""<span class="type">{types}</span>""" if types else ""}<span>{place}</span>'
        f"<span>{len(chunk.content)} characters</span></header><pre>{escape(chunk.content)}</pre>"
        f"<details><summary>what is embedded</summary><pre>{embedded}</pre></details></article>"
    )
