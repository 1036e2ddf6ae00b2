"""Resolve names of documents, sections and passages in the collection, never as paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from ...errors import ToolError
from ...indexing.passages import Material, Passage, Section
from ...logging import one_line, printable
from ..search import types_there

TITLE = 200  # characters of a title
SHOWN = 100  # characters of an unknown name
NEAR = 5  # sections in a message
_PLACE = re.compile(r"(?P<source>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.S)


def find_section(name: str, material: Material) -> Section:
    """Return a section by name. Raise ToolError, with similar sections, if none or several match.

    name: `document#1.2`, `document#anchor`, `#anchor`, a title, the end of a path of titles (`Spread > The
    variance`), a file, `file:line`, or a passage's id. A document's name gives its whole text."""
    wanted = name.strip()
    if section := material.find_section(wanted):
        return section
    if passages := find_passages(wanted, material):
        return material.section_of(passages[0])
    sections = list(material.walk())
    found = [one for one in sections if printable(one.name) == wanted]
    found = found or _with_anchor(sections, wanted) or _with_titles(sections, wanted) or _in_file(material, wanted)
    keys = {one.key for one in found}  # a document may take its title from its only heading
    outermost = [one for one in found if one.parent is None or one.parent.key not in keys]
    if len(outermost) == 1:
        return outermost[0]
    if outermost:
        raise ToolError(f"{name!r:.{SHOWN}} may be any of {_listed(outermost)}: write the one that is meant")
    what = "section" if "#" in wanted else "document or section"
    raise ToolError(f"there is no {what} {name!r:.{SHOWN}}. {_near(wanted, sections)} {types_there(material)}")


def find_document(name: str, material: Material) -> Section:
    """Return a document by its name or its file's. Raise ToolError if there is none."""
    for document in material.documents:
        if name.strip() in (document.docid, document.source, printable(document.docid)):
            return document
    near = _near(name, list(material.walk()))
    raise ToolError(f"there is no document {name!r:.{SHOWN}} in the collection. {near} {types_there(material)}")


def find_passages(name: str, material: Material) -> list[Passage]:
    """Return the passage of an id, or the passages at `file:line` or `file:line-line`, in order."""
    wanted = name.strip()
    if passage := material.passages.get(wanted):
        return [passage]
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


def _with_anchor(sections: Sequence[Section], name: str) -> list[Section]:
    document, _, anchor = name.rpartition("#")
    named = [one for one in sections if one.anchor == anchor != ""]
    return [one for one in named if not document or document == one.docid or _is_file(one, document)]


def _with_titles(sections: Sequence[Section], name: str) -> list[Section]:
    wanted = [_folded(title) for title in name.split(" > ")]
    return [one for one in sections if [_folded(title) for title in one.titles][-len(wanted) :] == wanted]


def _in_file(material: Material, name: str) -> list[Section]:
    return [one for one in material.documents if _is_file(one, name)]


def _is_file(section: Section, name: str) -> bool:
    return section.source == name or section.source.endswith(f"/{name}")


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


def _near(name: str, sections: Sequence[Section]) -> str:
    """List sections with similar names and titles in a sentence."""
    by_text: dict[str, Section] = {}
    for section in sections:
        for text in (section.name, section.anchor, section.title):
            by_text.setdefault(_folded(text), section)
    wanted = _folded(name)[:TITLE]
    close = [text for text in by_text if wanted and wanted in text][:NEAR]
    close = close or get_close_matches(wanted, by_text, NEAR, 0.5)
    close = close or get_close_matches(wanted.rpartition("#")[2], by_text, NEAR, 0.5)
    found = list({by_text[text].key: by_text[text] for text in close}.values())
    return f"Was one of these meant: {_listed(found)}?" if found else "outline lists what there is;"


def _listed(sections: Sequence[Section]) -> str:
    shown = [f"{one.name} ({one_line(one.title, TITLE)})" for one in sections[:NEAR]]
    return ", ".join(shown) + (", …" if len(sections) > NEAR else "")
