"""Options under `lmm:` in metadata; untrusted documents may set only some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...logging import LoggerBase
from ..blocks import Block, MetadataBlock

# Options that documents may set
BY_DOCUMENT = frozenset({"annotate", "ask", "div-types", "index", "spelling"})
# Options that they may not, with the alternative
BY_PERSON = {
    "keep": "keep types by --keep or -M lmm-keep=TYPES, in config.toml ([knit] keep) or in _quarto.yml, "
    "or mark the part itself with knit: true",
    "model": "write it under model: in the header, or give -M lmm-model=SPEC",
    "pass": "give -M lmm-pass=MODULE:FUNCTION",
    "source": "give -M lmm-source=FILE",
}
OPTIONS = BY_DOCUMENT | set(BY_PERSON)
# Keys passed between filters
INTERNAL = ("lmm-chain", "lmm-text", "lmm-asked")


def options_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under `lmm:` or as `lmm-NAME`, by name."""
    group = metadata.get("lmm")
    pairs = list(group.items()) if isinstance(group, Mapping) else []
    for key, value in metadata.items():
        name = str(key).replace("_", "-")
        if name.startswith("lmm-") and name not in INTERNAL:
            pairs.append((name.removeprefix("lmm-"), value))
    return {str(key).replace("_", "-"): value for key, value in pairs}


def refused_options(blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield line and message for each option that a document's blocks may not set."""
    for block in blocks:
        if isinstance(block, MetadataBlock):
            yield from ((block.line, refusal(name)) for name in options_in(block.content) if name in BY_PERSON)


def refusal(name: str) -> str:
    """Return the message for an option that a document may not set."""
    return f"`lmm-{name}` has no effect in a document, which may come from somebody else: {BY_PERSON[name]}"


def report_refused(blocks: Iterable[Block], logger: LoggerBase) -> None:
    """Report the options that a document's blocks may not set."""
    for line, message in refused_options(blocks):
        logger.warning(message, line)
