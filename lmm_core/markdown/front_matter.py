"""Front matter that is not YAML: that of other programs, at the very start of a text."""

from __future__ import annotations

import json
import re

# Hugo, Zola (TOML); Gatsby, Middleman (JSON between `;;;`); Eleventy (the language behind `---`)
_FENCED = re.compile(
    r"(?P<fence>\+\+\+|;;;|---(?=[ \t]*[a-z]))[ \t]*(?P<language>toml|json5?|js|javascript|coffee|cson|ini|lua)?"
    r"[ \t]*\r?\n(?:[^\n]*\n)*?(?P=fence)[ \t]*\r?(?:\n|\Z)",
    re.I,
)
_LANGUAGES = {"+++": "TOML", ";;;": "JSON"}
# https://pandoc.org/MANUAL.html#extension-pandoc_title_block
_TITLE_BLOCK = re.compile(r"%[^\n]*(?:\n|\Z)(?:(?:%|[ \t]+\S)[^\n]*(?:\n|\Z))*")
# MultiMarkdown, Pelican and MkDocs: `Title: …`, and other lines of that kind, up to the first blank line
_FIELD = r"(?:[A-Za-z][\w -]*:[^\n]*|[ \t]+\S[^\n]*)(?:\n|\Z)"
_FIELDS = re.compile(
    rf"(?=(?:{_FIELD})*?title:)(?:title|author|date|category|slug|layout|template|status|tags):[ \t]*\S[^\n]*"
    rf"(?:\n|\Z)(?:{_FIELD})+(?=[ \t]*\r?(?:\n|\Z))",
    re.I,
)
_IS_JSON = re.compile(r"\{[ \t]*\r?\n")
TITLE_BLOCK, FIELDS = "Pandoc title block", "`Title: …`"


def match_front_matter(text: str, pos: int) -> tuple[str, int] | None:
    """Return what the front matter at a position is written in (`TOML`), and where it ends; None if there is none.

    YAML between `---` is a header, and none of it."""
    if found := _FENCED.match(text, pos):
        return _LANGUAGES.get(found["fence"]) or found["language"].upper(), found.end()
    if found := _TITLE_BLOCK.match(text, pos):
        return TITLE_BLOCK, found.end()
    if found := _FIELDS.match(text, pos):
        return FIELDS, found.end()
    return _match_json(text, pos) if _IS_JSON.match(text, pos) else None


def _match_json(text: str, pos: int) -> tuple[str, int] | None:
    try:
        content, end = json.JSONDecoder().raw_decode(text, pos)
    except (ValueError, RecursionError):
        return None
    line = text.find("\n", end)
    stop = len(text) if line < 0 else line + 1
    return ("JSON", stop) if isinstance(content, dict) and not text[end:stop].strip() else None
