"""Output as verbatim text."""

from __future__ import annotations

import os

from lmm_core.files.outputs import remember_output
from lmm_core.markdown.files import check_unchanged

from .call import FilterCall
from .document import FilterDocument, FilterOutput
from .outputs import as_pandoc_writes, refuse_another_text


def write_text(document: FilterDocument, text: str) -> FilterOutput:
    """Return a text as raw markdown blocks.

    Raise FilterError if pandoc would overwrite another text, and MarkdownError for a changed source.
    """
    call, source, output = document.call, document.source, document.call.run.output
    if source is not None and call.overwrites_source:
        for file in source.files:
            check_unchanged(file)
    elif output is not None and not call.is_followed:
        refuse_another_text(output, text)
    _warn_of_ineffective(document)
    text = _with_line_ends(call, text)
    if output is not None and not call.is_followed and not call.overwrites_source:
        remember_output(output, as_pandoc_writes(call.run, text))
    blocks = [{"t": "RawBlock", "c": ["markdown", part]} for part in _raw_parts(call, text)]
    return FilterOutput({**document.ast, "blocks": blocks, "meta": call.mark({})}, text)


def _warn_of_ineffective(document: FilterDocument) -> None:
    call = document.call
    if call.place is None or call.is_followed:
        return
    if names := call.run.ineffective(call.place):
        document.logger.warning(f"The text goes out as it is. These have no effect on it: {', '.join(names)}")


def _with_line_ends(call: FilterCall, text: str) -> str:
    eol = call.run.value("eol")
    if eol in ("crlf", "lf") or (os.name == "nt" and eol != "lf"):
        return text.replace("\r\n", "\n")
    return text


def _raw_parts(call: FilterCall, text: str) -> list[str]:
    """Return the raw blocks for a text, whose trailing newlines pandoc 3 drops."""
    ends = len(text) - len(text.rstrip("\n"))
    if call.run.major < 3 or ends < 2 or call.is_followed:
        return [text]
    if ends == len(text):
        return ["\n"] * (ends + 1)
    return [text[: 1 - ends], *["\n"] * (ends - 1)]
