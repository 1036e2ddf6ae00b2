"""The notes as resources of the Model Context Protocol: documents and sections, each with an address.

The address of a section is that of its document with the heading's anchor, `notes:///trees.md#oaks`,
which stays as it is when sections move; a section without an anchor has its number, `notes:///trees.md#1.2`.
"""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ...errors import LmmError, ToolError
from ...index.passages import Material, Section
from ...logging import one_line, printable
from ...retrieve.agents.library_tools import section_text
from ...retrieve.agents.names import TITLE, find_section
from ...retrieve.agents.tools import Tools

SCHEME = "notes"
MARKDOWN = "text/markdown"
PAGE = 100  # resources in one list
TEMPLATES = [
    types.ResourceTemplate(
        name="document",
        title="A document of the notes",
        uri_template=f"{SCHEME}:///{{+document}}",
        description="The whole text of a document, by its name as `outline` gives it.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        name="section",
        title="A section of the notes",
        uri_template=f"{SCHEME}:///{{+document}}{{#section}}",
        description="A section with its subsections, by its anchor or its number (`1.2`).",
        mime_type=MARKDOWN,
    ),
]


def address_of(section: Section, material: Material) -> str:
    """Return the address of a section or document."""
    document = f"{SCHEME}:///{quote(section.docid, safe='/')}"
    if not section.path:
        return document
    anchor = section.anchor
    try:
        own = anchor and find_section(f"{section.docid}#{anchor}", material) is section
    except ToolError:  # several sections have it
        own = False
    return f"{document}#{quote(anchor if own else section.path, safe='')}"


def name_at(address: str) -> str:
    """Return the name of the section or document at an address. Raise ToolError if it is no address of ours."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ToolError(f"{address!r} is no address: {error}") from None
    if parts.scheme != SCHEME or parts.netloc or not parts.path.startswith("/"):
        raise ToolError(f"{address!r} is not an address in these notes, which begin with {SCHEME}:///")
    document = unquote(parts.path[1:])
    return f"{document}#{unquote(parts.fragment)}" if parts.fragment else document


async def list_resources(tools: Tools, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the documents and their sections, in reading order; there is nothing without an index."""
    try:
        async with tools.library.use() as library:
            material = await library.material()
    except LmmError:
        return types.ListResourcesResult(resources=[])
    start = _start(cursor)
    sections = list(material.walk())
    more = str(start + PAGE) if start + PAGE < len(sections) else None
    listed = [_resource(section, material) for section in sections[start : start + PAGE]]
    return types.ListResourcesResult(resources=listed, next_cursor=more)


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise MCPError(types.INVALID_PARAMS, f"{one_line(cursor, TITLE)!r} is not the cursor of a page")
    return int(cursor)


def _resource(section: Section, material: Material) -> types.Resource:
    return types.Resource(
        uri=address_of(section, material),
        name=printable(section.name),
        title=one_line(" - ".join(section.titles) or section.title, TITLE),
        description=one_line(section.gist, TITLE) or None,
        mime_type=MARKDOWN,
    )


async def read_resource(tools: Tools, address: str) -> types.ReadResourceResult:
    """Return the text of a section or document, under its title. Raise MCPError if there is none."""
    try:
        async with tools.library.use() as library:
            material = await library.material()
        section = find_section(name_at(address), material)
    except LmmError as error:
        raise MCPError(types.INVALID_PARAMS, printable(str(error))) from None
    text = f"{'#' * max(section.depth, 1)} {section.title}\n\n{section_text(section)}\n"
    contents = types.TextResourceContents(uri=address, mime_type=MARKDOWN, text=printable(text))
    return types.ReadResourceResult(contents=[contents])
