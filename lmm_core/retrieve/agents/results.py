"""What the tools give back, as JSON schemas.

A tool that is not sure of more says less: only what every result has is required.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 0}


def described(schema: Schema, description: str) -> Schema:
    """Return a schema with a description."""
    return {**schema, "description": description}


def listed(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


TITLES = described(listed(TEXT), "The titles around it, the document's first.")
PLACE = described(TEXT, "`file:line-line`, to cite.")
ANCHOR = described(TEXT, "The anchor of its heading on the page of the course, or empty.")
KINDS = described(listed(TEXT), "Its types of material; empty for text of the notes.")
NAME = described(TEXT, "The name by which `read` and the other tools know the section.")
CUT = described(TEXT, "What was left out, and how to get it.")
PARTS = {"part": NUMBER, "parts": NUMBER, "cut": CUT}
COUNTS: Schema = {"type": "object", "additionalProperties": NUMBER}

SECTION_NAME = record({"section": NAME, "title": TEXT})
_SECTION = {"section": NAME, "title": TEXT, "place": PLACE, "anchor": ANCHOR, "depth": NUMBER, "kinds": KINDS}
PASSAGE = record(
    {
        "id": described(TEXT, "The passage's id, which `read` takes."),
        "section": NAME, "titles": TITLES, "place": PLACE, "anchor": ANCHOR, "kinds": KINDS, "text": TEXT,
    },
    {"cut": CUT},
)  # fmt: skip

FOUND = record(
    {"query": TEXT, "passages": listed(PASSAGE)},
    {"kind": TEXT, "note": TEXT, "missed": described(listed(TEXT), "Help that the search did without."), **PARTS},
)
OUTLINE = record(
    {"sections": listed(record(_SECTION, {"summary": TEXT, "text": TEXT, "cut": CUT})), "kinds": COUNTS}, PARTS
)
READ = record(
    {**_SECTION, "titles": TITLES, "text": TEXT},
    {
        "id": described(TEXT, "Of a passage that was named by it."),
        "summary": TEXT, "subsections": listed(SECTION_NAME), "previous": SECTION_NAME, "next": SECTION_NAME, **PARTS,
    },
)  # fmt: skip
MENTIONS = record(
    {
        "term": TEXT, "total": NUMBER, "in_sections": NUMBER,
        "sections": listed(record({"section": NAME, "title": TEXT, "count": NUMBER, "places": listed(PLACE)})),
    },
    {"note": TEXT, **PARTS},
)  # fmt: skip
STATUS = record(
    {
        "place": described(TEXT, "Where the index is: its folder, or the address of its server."),
        "documents": NUMBER,
        "collections": listed(record({
            "name": TEXT,
            "points": described(NUMBER, "How many chunks, or whole sections, are in it."),
            "encoding": described(TEXT, "What is compared: words (bm25), meaning, or both (hybrid)."),
            "embedding": described(TEXT, "The model by which meaning is compared; empty where only words are."),
            "sparse": TEXT,
            "languages": COUNTS,
            "is_earlier": described({"type": "boolean"}, "An earlier version made it: `lmm index` makes it anew."),
        })),
        "kinds": described(COUNTS, "The types of material, with their numbers of passages."),
        "model": described(TEXT, "The chat model that the project has configured."),
        "summary": described(TEXT, "All of it in a line."),
    },
    {
        "size": described(NUMBER, "Bytes on disk, where the index is in a folder."),
        "written": described(TEXT, "When a document was last indexed, in UTC; left out if that is not known."),
        "age_hours": described({"type": "number"}, "How long ago that was."),
    },
)  # fmt: skip
