"""Output as verbatim text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from lmm_core.errors import MarkdownError, OutputError
from lmm_core.files.outputs import MARKDOWN, check_output, remember_output, write_output
from lmm_core.markdown.files import check_unchanged, read_markdown, write_markdown

from .call import FilterCall
from .document import FilterDocument, FilterOutput
from .outputs import as_pandoc_writes, refuse_another_text


def write_text(document: FilterDocument, text: str) -> FilterOutput:
    """Return a text as raw markdown blocks.

    Raise FilterError if pandoc would overwrite another text, and MarkdownError for a changed source.
    """
    call, source = document.call, document.source
    if source is not None and call.overwrites_source:
        for file in source.files:
            check_unchanged(file)
    elif call.output is not None and not call.is_followed:
        refuse_another_text(call.output, text)
    _warn_of_ineffective(document)
    text = _with_line_ends(call, text)
    if call.run is not None and call.output is not None and not call.is_followed and not call.overwrites_source:
        remember_output(call.output, as_pandoc_writes(call.run, text))
    blocks = [{"t": "RawBlock", "c": ["markdown", part]} for part in _raw_parts(call, text)]
    return FilterOutput({**document.ast, "blocks": blocks, "meta": call.mark({})}, text)


def _warn_of_ineffective(document: FilterDocument) -> None:
    call = document.call
    if call.run is None or call.place is None or call.is_followed:
        return
    if names := call.run.ineffective(call.place):
        document.logger.warning(f"The text goes out as it is. These have no effect on it: {', '.join(names)}")


def _with_line_ends(call: FilterCall, text: str) -> str:
    eol = call.run.value("eol") if call.run is not None else None
    if eol in ("crlf", "lf") or (os.name == "nt" and eol != "lf"):
        return text.replace("\r\n", "\n")
    return text


def _raw_parts(call: FilterCall, text: str) -> list[str]:
    """Return the raw blocks for a text, whose trailing newlines pandoc 3 drops."""
    ends = len(text) - len(text.rstrip("\n"))
    major = call.run.major if call.run is not None else int(os.environ.get("PANDOC_VERSION", "3")[0])
    if major < 3 or ends < 2 or call.is_followed:
        return [text]
    if ends == len(text):
        return ["\n"] * (ends + 1)
    return [text[: 1 - ends], *["\n"] * (ends - 1)]


def save_text(document: FilterDocument, text: str) -> FilterDocument:
    """Write a text to the file of `lmm-save`, and return the document with its new source."""
    path = Path(document.options.save)
    source = document.source
    files = source.files if source is not None else []
    original = next((file for file in files if _is_same_file(file.path, path)), None)
    try:
        if source is not None and original is not None and len(files) == 1:
            write_markdown(path, text, original)
            return replace(document, source=replace(source, files=[read_markdown(original.path)]))
        check_output(path, [file.path for file in files], MARKDOWN)
        write_output(path, text.encode("utf-8"))
    except (OSError, MarkdownError, OutputError) as error:
        document.logger.error(f"lmm-save: {error}")
    return document


def _is_same_file(path: Path, other: Path) -> bool:
    return other.exists() and path.samefile(other)
