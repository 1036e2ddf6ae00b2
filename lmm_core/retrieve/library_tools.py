"""Read-only tools on a library: search, outline, read, mentions.

`Tools` builds descriptions from the docstrings, and JSON schemas from the annotations. Names are looked up in
the collection, never used as paths.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from ..errors import ToolError
from ..indexing.passages import Material, Passage, Section, merge, place, repeated
from ..logging import one_line, printable
from .library import Library
from .ranking.spans import Span, best_spans
from .search import Retriever, types_there

Result = dict[str, Any]
Function = Callable[..., Awaitable[Result]]

MOST = 12_000  # characters of a result: about 3,000 tokens
SHOWN = 1_200  # characters of a passage in a list
MENTIONS = 60  # maximum per section


# Arguments

Part = Annotated[int, {"description": "Which part, where the result comes in several.", "minimum": 1}]
Limit = Annotated[int, {"description": "How many passages at most.", "minimum": 1, "maximum": 20}]
Query = Annotated[str, {"minLength": 1, "maxLength": 20_000}]
SectionName = Annotated[
    str, {"description": "The section's name as outline and search give it (`document#1.2`).", "minLength": 1}
]
ReadName = Annotated[
    str,
    {
        "description": "The name of a section as outline and search give it (`document#1.2`), its anchor "
        "(`document#anchor`), a document, or a passage by its id or place (`file:line`).",
        "minLength": 1,
    },
]
DocumentName = Annotated[
    str, {"description": "The document's name as outline gives it, or its file's; empty for all documents."}
]
MaterialType = Annotated[
    str, {"description": "A type of material (`exercise`): only passages of this type; empty for all."}
]


# The tools


async def search(library: Library, query: Query, type: MaterialType = "", limit: Limit = 6) -> Result:
    """Find the passages that fit a question or some words best, the best first. A type of
    material between asterisks in the query (`*exercise*`) does what `type` does."""
    material = await library.material()
    _check_filled("query", query)
    retrieval = await Retriever(library).retrieve(query, type)
    best = best_spans(retrieval.spans)
    return {
        "query": retrieval.text,
        **({"type": retrieval.type} if retrieval.type else {}),
        **in_parts("passages", [_hit_entry(passage, best[passage.id]) for passage in retrieval.passages[:limit]]),
        **({} if retrieval.passages else {"note": f"nothing was found; {types_there(material)}"}),
        **({"missed": list(retrieval.missed)} if retrieval.missed else {}),
    }


async def outline(
    library: Library,
    document: DocumentName = "",
    level: Annotated[int, {"description": "How deep: 0 for documents alone.", "minimum": 0, "maximum": 12}] = 2,
    part: Part = 1,
) -> Result:
    """List documents and their sections in reading order, with their names, titles, places
    and summaries."""
    material = await library.material()
    roots = [find_section(document, material)] if document.strip() else material.documents
    sections = [section for root in roots for section in root.walk() if section.depth <= level]
    entries = list(map(_section_entry, sections))
    return {**in_parts("sections", entries, part), "types": dict(sorted(material.types.items()))}


async def read(
    library: Library,
    name: ReadName,
    whole: Annotated[bool, {"description": "Whether its subsections are read, too."}] = True,
    part: Part = 1,
) -> Result:
    """Read a section: its text, and the names of its subsections and of its neighbours; or the
    whole passages at a place."""
    material = await library.material()
    if passages := find_passages(name, material):
        return _read_passages(passages, material, part)
    return _read(find_section(name, material), material, whole, part)


async def next_section(library: Library, section: SectionName) -> Result:
    """Read the section after one and its subsections; after the last of a document, the
    next document."""
    material = await library.material()
    following = _next(find_section(section, material), material)
    if following is None:
        raise ToolError(f"nothing comes after {section!r}: it is at the end of the last document")
    return _read(following, material)


async def mentions(
    library: Library,
    term: Annotated[str, {"description": "A word or a phrase, exactly.", "minLength": 1, "maxLength": 200}],
    part: Part = 1,
) -> Result:
    """Count and list all mentions of a term in the text (not in titles), section by section,
    with their lines. Case and line breaks do not matter, word forms do."""
    material = await library.material()
    _check_filled("term", term)
    entries, total = [], 0
    for section in material.walk():
        places = _places(section, term)
        total += len(places)
        if places:
            entries.append({**_name(section), "count": len(places), "places": list(dict.fromkeys(places))[:MENTIONS]})
    note = {} if total else {"note": f"no mention of {term!r}: try search, which finds what is near in meaning"}
    return {"term": term, "total": total, "in_sections": len(entries), **in_parts("sections", entries, part), **note}


LIBRARY_TOOLS: Mapping[Function, str] = {
    search: "Search the notes",
    outline: "Outline of the notes",
    read: "Read a section or a passage",
    next_section: "Read the next section",
    mentions: "Find all mentions of a term",
}  # with their titles


def _check_filled(name: str, value: str) -> None:
    if not value.strip():
        raise ToolError(f"{name} is empty: say what is looked for")


# Neighbours


def _next(section: Section | None, material: Material) -> Section | None:
    while section is not None:
        if after := material.around(section)[1]:
            return after
        section = section.parent
    return None


# Results


def _name(section: Section) -> Result:
    return {"section": section.name, "title": one_line(section.title, TITLE)}


def _section_entry(section: Section) -> Result:
    types = Counter(type for passage in section.passages for type in passage.types)
    place_and_types = {"place": section.place, "anchor": section.anchor, "depth": section.depth, "types": sorted(types)}
    return _name(section) | place_and_types | ({"summary": one_line(section.gist, SHOWN)} if section.gist else {})


def _hit_entry(passage: Passage, span: Span) -> Result:
    rest = f"read {passage.id} gives the whole passage, read {passage.name} its section"
    cut = {"cut": rest} if span.text != passage.text.strip() else {}
    page = {"page": passage.page} if passage.page else {}
    return {
        "id": passage.id,
        "section": passage.name,
        "titles": [one_line(title, TITLE) for title in passage.titles],
        "place": passage.place,
        **page,
        "anchor": passage.anchor,
        "types": list(passage.types),
        "text": span.text,
        **cut,
    }


def _read(section: Section, material: Material, whole: bool = True, part: int = 1) -> Result:
    before, after = material.around(section)[0] or section.parent, _next(section, material)
    return {
        **_section_entry(section),
        "titles": [one_line(title, TITLE) for title in section.titles],
        **in_parts("subsections", [_name(child) for child in section.children]),
        **_cut(section_text(section, whole), part),
        **({"previous": _name(before)} if before else {}),
        **({"next": _name(after)} if after else {}),
    }


def _read_passages(passages: Sequence[Passage], material: Material, part: int) -> Result:
    first, last = passages[0], passages[-1]
    section = material.sections[first.key]
    return {
        **({"id": first.id} if len(passages) == 1 else {}),
        **_section_entry(section),
        "place": place(first.source, first.line_start, last.line_end),
        "types": sorted({type for passage in passages for type in passage.types}),
        "titles": [one_line(title, TITLE) for title in first.titles],
        **_cut(merge(passages), part),
    }


def _cut(text: str, part: int) -> Result:
    parts = max(1, -(-len(text) // MOST))
    _check_part(part, parts)
    return {"text": text[(part - 1) * MOST : part * MOST], **_parts(part, parts)}


def in_parts(name: str, entries: Sequence[Result], part: int = 1) -> Result:
    """Return one part of a list under a name, within the limit of a result."""
    pages: list[list[Result]] = [[]]
    room = MOST
    for entry in entries:
        size = len(json.dumps(entry, ensure_ascii=False))
        if pages[-1] and size > room:
            pages.append([])
            room = MOST
        pages[-1].append(entry)
        room -= size
    _check_part(part, len(pages))
    return {name: pages[part - 1], **_parts(part, len(pages))}


def _check_part(part: int, parts: int) -> None:
    if part > parts:
        raise ToolError(f"there is no part {part}: there {'is 1' if parts == 1 else f'are {parts}'}")


def _parts(part: int, parts: int) -> Result:
    """Return the part's number and how to get the next, unless there is only one."""
    if parts == 1:
        return {}
    more = f"; part={part + 1} gives the next" if part < parts else ""
    return {"part": part, "parts": parts, "cut": f"this is part {part} of {parts}{more}"}


# Text


def section_text(section: Section, whole: bool = True) -> str:
    """Return a section's markdown. whole: with subsections under their headings."""
    texts = []
    for part in section.walk() if whole else [section]:
        heading = f"{'#' * part.depth} {part.title}" if part is not section else ""
        texts += [text for text in (heading, merge(part.passages)) if text]
    return "\n\n".join(texts)


def _places(section: Section, term: str) -> list[str]:
    """Return `file:line` of each mention in a section's own text, or the passage's place."""
    places = []
    for before, passage in zip([None, *section.passages], section.passages, strict=False):
        text = unicodedata.normalize("NFC", passage.text)
        mentions_in_text = find_term(text, term)
        skipped = repeated(before.text, before.line_end, passage) if before and mentions_in_text else 0
        repeated_length = len(unicodedata.normalize("NFC", passage.text[:skipped]))
        places += [
            _line_of(passage, text, start, repeated_length) for start, end in mentions_in_text if end > repeated_length
        ]
    return places


def _line_of(passage: Passage, text: str, at: int, own: int) -> str:
    """Return the place of a character in a passage whose own text begins at `own`."""
    if text.count("\n", own) != passage.line_end - passage.line_start:
        return passage.place
    return f"{passage.source}:{passage.line_start + text.count(chr(10), own, max(at, own))}"


def find_term(text: str, term: str) -> list[tuple[int, int]]:
    """Return the start and end of each whole-word mention in a text (NFC), ignoring case and white space."""
    words = unicodedata.normalize("NFC", term).split()
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text) if _is_bounded(text, *match.span())]


def _is_bounded(text: str, start: int, end: int) -> bool:
    before = start > 0 and _in_word(text[start]) and _in_word(text[start - 1])
    after = end < len(text) and _in_word(text[end - 1]) and _in_word(text[end])
    return not (before or after)


def _in_word(character: str) -> bool:
    """Return True for letters, digits, `_` and combining marks."""
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


# Names of documents, sections and passages in the collection, never used as paths

TITLE = 200  # characters of a title
NAME = 100  # characters of an unknown name
NEAR = 5  # sections in a message
_PLACE = re.compile(r"(?P<source>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.S)


def find_section(name: str, material: Material) -> Section:
    """Return a section by name. Raise ToolError, with similar sections, if none or several match.

    name: `document#1.2`, `document#anchor`, `#anchor`, a title, the end of a path of titles (`Spread > The
    variance`), a file, `file:line`, or a passage's id. A document's name gives its whole text."""
    reference = name.strip()
    if section := material.find_section(reference):
        return section
    if passages := find_passages(reference, material):
        return material.sections[passages[0].key]
    sections = list(material.walk())
    matches = [match for match in sections if printable(match.name) == reference]
    matches = (
        matches
        or _with_anchor(sections, reference)
        or _with_titles(sections, reference)
        or [document for document in material.documents if _is_file(document, reference)]
    )
    keys = {match.key for match in matches}  # a document may take its title from its only heading
    outermost = [match for match in matches if match.parent is None or match.parent.key not in keys]
    if len(outermost) == 1:
        return outermost[0]
    if outermost:
        raise ToolError(f"{name!r:.{NAME}} may be any of {_list_names(outermost)}: write the one that is meant")
    kind = "section" if "#" in reference else "document or section"
    raise ToolError(
        f"there is no {kind} {name!r:.{NAME}}. {_suggest_similar(reference, sections)} {types_there(material)}"
    )


def find_passages(name: str, material: Material) -> list[Passage]:
    """Return the passage of an id, or the passages at `file:line` or `file:line-line`, in order."""
    reference = name.strip()
    if passage := material.passages.get(reference):
        return [passage]
    if (place := _PLACE.fullmatch(reference)) is None:
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
    with_anchor = [section for section in sections if section.anchor == anchor != ""]
    return [section for section in with_anchor if document in ("", section.docid) or _is_file(section, document)]


def _with_titles(sections: Sequence[Section], name: str) -> list[Section]:
    titles = [_fold_title(title) for title in name.split(" > ")]
    return [
        section for section in sections if [_fold_title(title) for title in section.titles][-len(titles) :] == titles
    ]


def _is_file(section: Section, name: str) -> bool:
    return section.source == name or section.source.endswith(f"/{name}")


def _fold_title(title: str) -> str:
    return " ".join(title.split()).casefold()


def _suggest_similar(name: str, sections: Sequence[Section]) -> str:
    by_text: dict[str, Section] = {}
    for section in sections:
        for text in (section.name, section.anchor, section.title):
            by_text.setdefault(_fold_title(text), section)
    folded_name = _fold_title(name)[:TITLE]
    close = [text for text in by_text if folded_name and folded_name in text][:NEAR]
    close = close or get_close_matches(folded_name, by_text, NEAR, 0.5)
    close = close or get_close_matches(folded_name.rpartition("#")[2], by_text, NEAR, 0.5)
    similar = list({by_text[text].key: by_text[text] for text in close}.values())
    return f"Was one of these meant: {_list_names(similar)}?" if similar else "outline lists what there is;"


def _list_names(sections: Sequence[Section]) -> str:
    entries = [f"{section.name} ({one_line(section.title, TITLE)})" for section in sections[:NEAR]]
    return ", ".join(entries) + (", …" if len(sections) > NEAR else "")
