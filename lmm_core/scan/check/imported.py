"""Documents that were imported from another format and not yet checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...markdown.blocks import Block, HeaderBlock
from .finding import Finding
from .near_misses import line_of

IMPORTED = "~imported"


def find_unchecked_import(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield a reminder if a document is an import that nobody has checked."""
    header = blocks[0] if blocks else None
    if isinstance(header, HeaderBlock) and IMPORTED in header.content:
        origin = header.content[IMPORTED]
        file = f" from {origin['file']}" if isinstance(origin, Mapping) and "file" in origin else ""
        message = f"imported{file}, not checked yet: compare the two, then remove `{IMPORTED}` from the header"
        yield Finding(header.line + line_of(IMPORTED, header.source), "imported", message)
