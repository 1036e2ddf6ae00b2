"""What the names in results mean: of documents, sections and passages.

A name is looked up in the collection, and is never taken for a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from ...errors import ToolError
from ...logging import one_line, printable
from ..passages import Material, Passage, Section
from ..retriever import kinds_there

TITLE = 200  # characters of a title
SHOWN = 100  # characters of a name that there is not
_PLACE = re.compile(r"(?P<source>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.S)


def find_section(name: str, material: Material) -> Section:
    """Return the section of a name: `document#1.2`, `document#anchor`, an anchor, `file:line`, a passage's id.

    A document's own name is that of its whole text. Raise ToolError if there is none."""
    wanted = name.strip()
    if found := material.find_section(wanted) or _by_anchor(wanted, material):
        return found
    if found := next((one for one in material.walk() if printable(one.name) == wanted), None):
        return found
    if passages := find_passages(wanted, material):
        return material.section_of(passages[0])
    if "#" not in wanted:
        return find_document(name, material)
    raise ToolError(f"there is no section {name!r:.{SHOWN}}. {_near(name, material.walk())} {kinds_there(material)}")


def find_document(name: str, material: Material) -> Section:
    """Return the document of a name, its own or its file's. Raise ToolError if there is none."""
    for document in material.documents:
        if name.strip() in (document.docid, document.source, printable(document.docid)):
            return document
    near = _near(name, material.walk())
    raise ToolError(f"there is no document {name!r:.{SHOWN}} in the collection. {near} {kinds_there(material)}")


def find_passages(name: str, material: Material) -> list[Passage]:
    """Return the passage of an id, or those on the lines of `file:line` or `file:line-line`, in their order."""
    wanted = name.strip()
    if found := material.passages.get(wanted):
        return [found]
    if (place := _PLACE.fullmatch(wanted)) is None:
        return []
    first = int(place["first"])
    last = int(place["last"] or first)
    return [
        passage
        for section in material.walk()
        if place["source"] in (section.source, section.docid)
        for passage in section.passages
        if passage.line_start <= last and first <= passage.line_end
    ]


def _by_anchor(name: str, material: Material) -> Section | None:
    """Return the only section with an anchor, in the document that is named before it, if one is."""
    document, _, anchor = name.rpartition("#")
    found = [
        section
        for section in material.walk()
        if anchor and section.anchor == anchor and document in ("", section.docid, section.source)
    ]
    return found[0] if len(found) == 1 else None


def _near(name: str, sections: Iterable[Section]) -> str:
    """Return a sentence that names the sections of similar names and titles."""
    by_text: dict[str, Section] = {}
    for section in sections:
        for text in (section.name, section.anchor, section.title):
            by_text.setdefault(text.casefold(), section)
    close = get_close_matches(name.strip().casefold()[:TITLE], by_text, n=5, cutoff=0.5)
    found = {by_text[text].name: one_line(by_text[text].title, TITLE) for text in close}
    if not found:
        return "outline lists what there is;"
    return f"Was one of these meant: {', '.join(f'{near} ({title})' for near, title in found.items())}?"
