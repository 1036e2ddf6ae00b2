"""A page that shows chunks: where each begins and ends, and what is embedded of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ...files.outputs import GENERATOR

if TYPE_CHECKING:
    from ...index.chunks import Chunk

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 52rem; padding: 0 1rem; color: #222 }
article { border: 1px solid #ccc; border-radius: 6px; margin: 1rem 0; overflow: hidden }
header { background: #f3f3f0; padding: .4rem .8rem; font-size: .85rem; display: flex; gap: 1rem; flex-wrap: wrap }
header b { flex: 1 1 20rem }
pre { margin: 0; padding: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem }
details { padding: .2rem .8rem .6rem; font-size: .85rem; color: #555 }
.type { background: #7a4; color: #fff; border-radius: 4px; padding: 0 .4rem }
"""


def chunk_page(chunks: Sequence[Chunk]) -> str:
    """The page, as HTML that needs nothing else."""
    sizes = sorted(len(chunk.content) for chunk in chunks) or [0]
    summary = f"{len(chunks)} chunks; characters: {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}"
    articles = "\n".join(map(_article, chunks))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}<title>Chunks</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>Chunks</h1><p>{summary}</p>\n{articles}\n</body></html>\n"
    )


def _article(chunk: Chunk) -> str:
    payload = chunk.payload
    kind = payload.get("type")
    badge = f'<span class="type">{escape(kind if isinstance(kind, str) else ", ".join(kind))}</span>' if kind else ""
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    encoded = "\n---\n".join(filter(None, [*chunk.texts.dense, chunk.texts.sparse]))
    return (
        f"<article><header><b>{escape(' > '.join(payload['titles']))}</b>{badge}<span>{escape(place)}</span>"
        f"<span>{len(chunk.content)} characters</span></header><pre>{escape(chunk.content)}</pre>"
        f"<details><summary>what is embedded</summary><pre>{escape(encoded)}</pre></details></article>"
    )
