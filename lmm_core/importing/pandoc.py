"""Pandoc as a reader of other formats and as the writer of markdown."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import MarkdownError
from ..installation import packaged_pandoc

FORMATS = {
    ".docx": "docx", ".odt": "odt", ".pptx": "pptx", ".rtf": "rtf", ".epub": "epub", ".html": "html", ".htm": "html",
    ".xhtml": "html", ".ipynb": "ipynb", ".tex": "latex", ".latex": "latex", ".rst": "rst", ".org": "org",
    ".typ": "typst", ".fb2": "fb2",
}  # fmt: skip
# Nothing that an imported text could use to say more than text: no raw HTML or LaTeX, no attributes of spans.
# What is too much for a table of pipes becomes one of a grid.
_MARKDOWN = "markdown-raw_html-raw_tex-simple_tables-multiline_tables-smart+pipe_tables"
_SECONDS = 300


def read_ast(path: Path, media: Path) -> dict[str, Any]:
    """Return a file as Pandoc's syntax tree, with its pictures put into the folder `media`.

    Pandoc's sandbox reads no other file and no address. Raise MarkdownError if it cannot be read."""
    name = FORMATS[path.suffix.lower()]
    if name == "pptx" and name not in _run(["--list-input-formats"]).split():
        raise MarkdownError("this pandoc reads no slides; pip install -U pypandoc_binary brings one that does")
    file = str(path.resolve())
    made: dict[str, Any] = json.loads(_run(["--sandbox", "-f", name, "-t", "json", f"--extract-media={media}", file]))
    return made


def write_ast(ast: dict[str, Any]) -> str:
    """Return a syntax tree as markdown, each paragraph on one line. Raise MarkdownError if that fails."""
    options = ["--sandbox", "-s", "-f", "json", "-t", _MARKDOWN, "--wrap=none", "--markdown-headings=atx", "--eol=lf"]
    return _run(options, json.dumps(ast))


@cache
def version() -> str:
    """Return the version of pandoc, as "3.9". Raise MarkdownError if there is none."""
    return _run(["--version"]).split()[1]


def _run(options: Sequence[str], text: str = "") -> str:
    program = packaged_pandoc() or shutil.which("pandoc")
    if program is None:
        raise MarkdownError("there is no pandoc, which reads this format: pip install pypandoc_binary brings one")
    try:
        done = subprocess.run(
            [str(program), *options], input=text.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise MarkdownError(f"pandoc took more than {_SECONDS} seconds, and was stopped") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise MarkdownError(f"pandoc cannot read it: {said[:300]}")
    return done.stdout.decode("utf-8", "replace")
