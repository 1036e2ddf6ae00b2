"""Protect the file that pandoc writes: refuse to destroy text, and save its content in case pandoc is killed."""

from __future__ import annotations

import os
from pathlib import Path

from lmm_core.errors import FilterError, RecoveryError
from lmm_core.files.outputs import is_ours
from lmm_core.files.recovery import put_aside
from lmm_core.files.walk import TEXT_SUFFIXES
from lmm_core.markdown.files import project_root

from .call import FilterCall
from .run import ADDING, MARKDOWN_FORMATS, PandocRun, base_format, filter_name


def holds_markdown(path: Path) -> bool:
    """Return True for a file that has a markdown suffix and is not empty."""
    has_suffix = path.suffix.lower() in TEXT_SUFFIXES - {".txt", ".text"}
    return has_suffix and path.is_file() and path.stat().st_size > 0


def refuse_overwriting(call: FilterCall) -> None:
    """Raise FilterError if pandoc would overwrite an input, or write another format over markdown."""
    output = call.run.output
    if output is None:
        return
    replaces_markdown = base_format(call.target) not in MARKDOWN_FORMATS and holds_markdown(output)
    if replaces_markdown or (call.overwrites_source and not call.to_markdown):
        noun = "an input" if call.overwrites_source else "markdown"
        raise FilterError(
            f"Refused: pandoc would write {call.target} over {output}, which is {noun}. "
            "Add -t markdown to write markdown, or name another output."
        )
    if call.overwrites_source:
        _refuse_losing_text(call.run)


def _refuse_losing_text(run: PandocRun) -> None:
    if any(filter_name(name) == "lmm-knit" for name in run.filters):
        raise FilterError(
            f"Refused: lmm-knit takes out exercises, questions and annotations, and pandoc would write the rest "
            f"over {run.output}, which is an input. Name another output."
        )
    if options := run.given(ADDING):
        raise FilterError(
            f"Refused: {', '.join(options)} would put more text into {run.output} at each run, because that is an "
            "input. Name another output."
        )
    if len(run.inputs) > 1:
        raise FilterError(
            f"Refused: pandoc would write all {len(run.inputs)} inputs into {run.output}, which is one of them. "
            "Name another output."
        )


def refuse_another_text(output: Path, text: str) -> None:
    """Raise FilterError for a foreign file with less than half of its lines in the new text."""
    if not holds_markdown(output) or is_ours(output):
        return
    old = [line for line in output.read_text("utf-8", "replace").splitlines() if line.strip()]
    new = set(text.splitlines())
    if 2 * sum(line in new for line in old) < len(old):
        raise FilterError(f"Refused: {output} holds another text. Name another output, or remove that file first.")


def as_pandoc_writes(run: PandocRun, text: str) -> bytes:
    """Return the bytes that pandoc writes for a text, with a final newline and line ends by --eol."""
    text = text if text.endswith("\n") else text + "\n"
    eol = run.value("eol")
    crlf = eol == "crlf" or (os.name == "nt" and eol != "lf")
    return (text.replace("\n", "\r\n") if crlf else text).encode("utf-8")


def put_output_aside(call: FilterCall, text: str | None) -> None:
    """Save the output's old and new text (None if unknown), so that `lmm recover` can restore it if pandoc is killed.

    Raise RecoveryError if the output is an input and cannot be saved; other outputs are left unsaved then.
    """
    run, output = call.run, call.run.output
    if output is None or call.is_followed or not (call.overwrites_source or holds_markdown(output)):
        return
    after = None if text is None else as_pandoc_writes(run, text)
    is_filtered_on = call.place is None or call.place + 1 < len(run.filters)
    try:
        put_aside(output, project_root(output), after, is_filtered_on)
    except RecoveryError:
        if call.overwrites_source:
            raise
