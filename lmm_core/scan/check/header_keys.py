"""Keys in a document's header that look like settings of ours and are not read there, or say that it was imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...markdown.blocks import Block, HeaderBlock, MetadataBlock
from ...markdown.metadata.lmm_options import refused_in
from ...settings.tables import section_keys
from .finding import Finding
from .near_misses import line_of

IMPORTED = "~imported"
# Keys of `model` in the header; RAG, which lists the annotations, is a word that nobody else uses.
MODEL_KEYS = ("embedding", "major", "minor", "aux", "system", "RAG")
_ROLES = ("embedding", "embeddings", "major", "minor", "aux")
# The sections of config.toml, each with its keys: other programs have keys of these names as well.
# `split` is missing here, since a header may have it.
SECTIONS = {
    name: section_keys(name).keys() for name in ("RAG", "knit", "embeddings", "storage", "database", "ask", "serve")
}
_OTHER_OPTIONS = {"remove_messages", "textid", "headingid", "textUUID", "headingUUID"}  # of scan_rag
_SETTINGS = {*MODEL_KEYS, *_OTHER_OPTIONS, "summary", *SECTIONS, *frozenset().union(*SECTIONS.values())}
_NAME = re.compile(r"[\w.-]+/[\w./:-]+|default")

UNDER_MODEL = "`{}` is not read here: write it below `model:` in the header, indented (`model:` and below it `  {}: …`)"
IN_CONFIG = "`{}` is not read in a header: it is a section of config.toml (`lmm config init` writes one)"
OPTIONS = "`options` is not read. Write what is annotated below `model:`, indented (`  RAG: {{{}}}`){}"
_NUMBERED = "; text ids need no option, and chats and edits are removed by `lmm clear`"


def find_header_keys(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield the settings that a header has in the wrong place, and the options that no document may set."""
    for block in blocks:
        for message in refused_in(block.content) if isinstance(block, MetadataBlock) else ():
            yield Finding(block.line, "refused-option", message)
    header = blocks[0] if blocks else None
    if isinstance(header, HeaderBlock):
        for key, value in header.content.items():
            if message := _explain(key, value):
                yield Finding(header.line + line_of(key, header.source), "header-key", message)


def _explain(key: str, value: Any) -> str:
    """Return why a key of the header is not read; "" if it may be meant for another program."""
    if key.lower() == "rag" or (key in _ROLES and isinstance(value, str) and _NAME.fullmatch(value.strip())):
        return UNDER_MODEL.format(key, "RAG" if key.lower() == "rag" else key.replace("embeddings", "embedding"))
    if key == "options" and not _names(value).isdisjoint(_SETTINGS):
        return _explain_options(value)
    if key in SECTIONS and isinstance(value, Mapping) and value and _names(value) <= SECTIONS[key]:
        return IN_CONFIG.format(key)
    return ""


def _explain_options(value: Any) -> str:
    """Return what to write instead of `options`, by which LM markdown's documents set those of scan_rag."""
    given = value if isinstance(value, Mapping) else dict.fromkeys(sorted(_names(value)), True)
    pairs = [f"{key}: {str(given[key]).lower()}" for key in given if key in SECTIONS["RAG"]]
    return OPTIONS.format(", ".join(pairs) or "questions: true", _NUMBERED if _names(value) & _OTHER_OPTIONS else "")


def _names(value: Any) -> set[str]:
    """Return the keys of a mapping, or the words of a list or text."""
    if isinstance(value, str):
        return set(value.split())
    return {str(one) for one in value} if isinstance(value, list | Mapping) else set()


def find_unchecked_import(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield a reminder if a document is an import that nobody has checked."""
    header = blocks[0] if blocks else None
    if isinstance(header, HeaderBlock) and IMPORTED in header.content:
        origin = header.content[IMPORTED]
        file = f" from {origin['file']}" if isinstance(origin, Mapping) and "file" in origin else ""
        message = f"imported{file}, not checked yet: compare the two, then remove `{IMPORTED}` from the header"
        yield Finding(header.line + line_of(IMPORTED, header.source), "imported", message)
