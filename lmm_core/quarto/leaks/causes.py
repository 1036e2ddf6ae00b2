"""Summarize a render's leaks and their causes: settings that publish sources or ignore divs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import MarkdownError, QuartoError
from ...logging import counted
from ...markdown.blocks import HeadingBlock, header_content
from ...markdown.files import read_markdown
from ...markdown.parse import parse_markdown_text
from ...settings.quarto_project import mapping_in, page_settings, read_project
from ..pages import name_in_project
from .findings import Leak
from .site_text import PAGES

_EMBEDDED = b'id="quarto-embedded-source-code'  # element with a page's embedded source
CODE_TOOLS = (
    "The page holds its whole source, since `code-tools` (its `source`) or `keep-source` asks for that. "
    "Set it to false."
)
READER = (
    "`from: {}` reads no fenced divs, so that nothing is left out of the page. Remove the line, or write "
    "`from: markdown`."
)
TITLE = (
    "A page without `title:` gets its first heading as its title before anything is left out. Write a `title:` into "
    "its header."
)


def conclusion(leaks: Sequence[Leak], output: Path, project_dir: Path) -> str:
    """Return a summary of leaks, one message per line."""
    place = f"{name_in_project(output, project_dir)}/"
    parts = counted(len(leaks), "part") + (" that is" if len(leaks) == 1 else " that are")
    verb = "is" if len(leaks) == 1 else "are"
    summary = (
        f"{parts} left out of the notes {verb} in {counted(len({leak.file for leak in leaks}), 'file')} of the site. "
        f"The render has failed. Do not publish {place}"
    )
    return "\n".join(f"LM markdown: {line}" for line in [summary, *_causes(leaks, project_dir)])


def _causes(leaks: Iterable[Leak], project_dir: Path) -> Iterator[str]:
    places: dict[str, str] = {}
    for leak in leaks:
        if leak.file.suffix.lower() in PAGES and leak.file.is_file() and _EMBEDDED in leak.file.read_bytes():
            places.setdefault(CODE_TOOLS, name_in_project(leak.file, project_dir))
        elif cause := cause_in_source(leak, project_dir):
            places.setdefault(cause, f"{name_in_project(leak.source, project_dir)}:{leak.line}")
    yield from (f"{place}: {cause}" for cause, place in places.items())


def cause_in_source(leak: Leak, project_dir: Path) -> str:
    """Return a message on a leak's cause in its source or settings, or ""."""
    try:
        blocks = parse_markdown_text(read_markdown(leak.source).text)
        settings = page_settings(leak.source, header_content(blocks), read_project(project_dir))
    except (OSError, MarkdownError, QuartoError):  # reported before
        return ""
    if message := explain_reader(settings):
        return message
    first = next((block for block in blocks if isinstance(block, HeadingBlock)), None)
    return TITLE if first is not None and first.line == leak.line and "title" not in settings else ""


def explain_reader(settings: Mapping[str, Any]) -> str:
    """Return a message if a page's reader does not support fenced divs, else ""."""
    formats = [settings, *mapping_in(settings, "format").values()]
    readers = [options.get(key) for options in formats if isinstance(options, dict) for key in ("from", "reader")]
    return next((READER.format(name) for name in readers if name and not _knows_divs(str(name))), "")


def _knows_divs(reader: str) -> bool:
    base = re.split("[+-]", reader, maxsplit=1)[0]
    return base in ("markdown", "commonmark_x", "qmd") or base.endswith(".lua") or "+fenced_divs" in reader
