"""The options under `lmm:` in metadata, and who may set each.

A document may come from somebody else. It says what it is and what of it is left out of the
notes. It names no file and no program, and keeps nothing in that others leave out. Those
options are set by the person who runs the program: on the command line, in a defaults file,
or in the project's configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...logging import LoggerBase
from ..blocks import Block, MetadataBlock

# Options that a document may set
BY_DOCUMENT = frozenset({"annotate", "ask", "div-types", "index", "spelling"})
# Options that it may not set, each with what to do instead
BY_PERSON = {
    "keep": "keep types by --keep or -M lmm-keep=TYPES, in config.toml ([knit] keep) or in _quarto.yml, "
    "or mark the part itself with knit: true",
    "model": "write it under model: in the header, or give -M lmm-model=SPEC",
    "pass": "give -M lmm-pass=MODULE:FUNCTION",
    "save": "give -M lmm-save=FILE",
    "source": "give -M lmm-source=FILE",
}
OPTIONS = BY_DOCUMENT | set(BY_PERSON)
# Keys that one filter of a run leaves for the next, and the Quarto extension's request
INTERNAL = ("lmm-chain", "lmm-text", "lmm-asked")


def options_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that metadata holds, under `lmm:` or as `lmm-NAME`, by name."""
    group = metadata.get("lmm")
    pairs = list(group.items()) if isinstance(group, Mapping) else []
    for key, value in metadata.items():
        name = str(key).replace("_", "-")
        if name.startswith("lmm-") and name not in INTERNAL:
            pairs.append((name.removeprefix("lmm-"), value))
    return {str(key).replace("_", "-"): value for key, value in pairs}


def refused_in(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each option that a document's metadata may not hold."""
    return [refusal(name) for name in options_in(metadata) if name in BY_PERSON]


def refusal(name: str) -> str:
    """Return the message about an option that a document tried to set."""
    return f"`lmm-{name}` has no effect in a document, which may come from somebody else: {BY_PERSON[name]}"


def report_refused(blocks: Iterable[Block], logger: LoggerBase) -> None:
    """Report the options that a document's blocks may not set, each with its line."""
    for block in blocks:
        if isinstance(block, MetadataBlock):
            for message in refused_in(block.content):
                logger.warning(message, block.line)


def said_by(blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """Yield the options of each metadata block."""
    return (options_in(block.content) for block in blocks if isinstance(block, MetadataBlock))
