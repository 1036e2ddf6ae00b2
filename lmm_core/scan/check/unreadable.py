"""Metadata blocks that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ...markdown.blocks import Block, ErrorBlock
from ...markdown.parse import NOT_ONE_BLOCK
from .finding import Finding
from .texts import CheckedText, read_texts

_ASKS = re.compile(r"^[ \t>]*(?:(?P<sign>[?+=]):|(?P<word>query|message|edit):[ \t]|(?P<bare>\?)[ \t\w])", re.M)
_TIGHT = re.compile(r"^[ \t>]*([?+=]:)[^\s:]", re.M)
_SIGNS = {"query": "?", "message": "+", "edit": "="}


def find_errors(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield each metadata block that cannot be read, those inside divs included."""
    return errors_in(blocks, read_texts(blocks))


def errors_in(blocks: Iterable[Block], texts: Iterable[CheckedText]) -> Iterator[Finding]:
    """Yield the same. texts: those of the blocks (see `read_texts`)."""
    for block in blocks:
        if isinstance(block, ErrorBlock):
            yield _error(block.error_line, block.message, block.source)
    for text in texts:
        for line, part, source in text.parts if "lmm" in text.source or "---" in text.source else ():
            if part.error:
                yield _error(text.first + line, part.error, source)


def signs_in(source: str) -> str:
    """Return the signs of the questions, messages and edits in a block, each once."""
    found = [one["sign"] or one["bare"] or _SIGNS[one["word"]] for one in _ASKS.finditer(source)]
    return "".join(dict.fromkeys(found))


def _error(line: int, message: str, source: str) -> Finding:
    tight = _TIGHT.search(source) if message.startswith("invalid YAML") else None
    mend = f" (a blank is needed after `{tight[1]}`)" if tight else ""
    return Finding(
        line, "no-fence" if message == NOT_ONE_BLOCK else "unreadable-block", message + mend, signs_in(source)
    )
