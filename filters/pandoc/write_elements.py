"""Output as Pandoc's elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmm_core.errors import FilterError
from lmm_core.markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock, TextBlock, serialize_blocks
from lmm_core.markdown.divs import find_parts
from lmm_core.markdown.edits import restore_originals
from lmm_core.markdown.metadata.keys import DOCUMENT_KEYS
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.spelling import convert, edit_block, make_block
from lmm_core.scan.system_keys import FLOW_KEYS

from .document import FilterDocument, FilterOutput
from .meta import TEXT, to_meta
from .source import foreign_meta, needs_text

if TYPE_CHECKING:
    from .elements import Elements

Json = dict[str, Any]


def write_elements(document: FilterDocument, ast: Json, text: str | None = None) -> FilterOutput:
    """Return an output for other targets than markdown; only a next filter gets metadata, and the text."""
    from .elements import blocks_of, mark_metadata, strip_metadata

    doc = document.load(ast)
    if not document.call.is_followed:
        strip_metadata(doc)
        return hand_on(document, {**ast, "blocks": blocks_of(doc)})
    mark_metadata(doc)
    meta = ast["meta"] if text is None else {**ast["meta"], TEXT: {"t": "MetaString", "c": text}}
    return hand_on(document, {"blocks": blocks_of(doc), "meta": meta})


def hand_on(document: FilterDocument, ast: Json) -> FilterOutput:
    """Return an output with the blocks and metadata of `ast`; the last filter removes our keys."""
    meta = document.call.mark(document.call.clean(ast["meta"]))
    return FilterOutput({**document.ast, "blocks": ast["blocks"], "meta": meta})


def left_text(document: FilterDocument) -> str | None:
    """Return the text left by an earlier filter beside the elements, or None."""
    text = document.ast["meta"].get(TEXT) if document.call.previous else None
    return str(text["c"]) if text else None


def write_blocks(document: FilterDocument, elements: Elements, blocks: Sequence[Block]) -> FilterOutput:
    """Return an output for changed blocks of elements."""
    header, rest = (blocks[0], blocks[1:]) if blocks and isinstance(blocks[0], HeaderBlock) else (None, blocks)
    ast = {**document.ast, "blocks": elements.write(rest)}
    if header is not None:
        ast = _with_header(document, ast, header)
    return write_rewritten(document, ast) if document.call.to_markdown else write_elements(document, ast)


def write_rewritten(document: FilterDocument, ast: Json) -> FilterOutput:
    """Return an output that pandoc writes as markdown, with a warning."""
    document.logger.warning(
        "The source text is not at hand, so pandoc's own writer rewrites the text (list markers, line breaks, "
        "tables). To keep it as it is, give pandoc the file by its name."
    )
    return FilterOutput({**ast, "meta": document.call.mark(ast["meta"])})


def _with_header(document: FilterDocument, ast: Json, header: HeaderBlock) -> Json:
    """Return Pandoc's JSON with our keys replaced by a header's, for markdown as text: pandoc would escape values."""
    own_keys = {key: value for key, value in header.content.items() if key.startswith("~")}
    foreign_keys = {key: value for key, value in foreign_meta(ast["meta"]).items() if not key.startswith("~")}
    if not document.call.to_markdown or document.call.is_followed:
        return {**ast, "meta": {**foreign_keys, **{key: to_meta(value) for key, value in own_keys.items()}}}
    base = _header_of_pandoc(document, foreign_keys)
    edited = edit_block(base, own_keys, FLOW_KEYS) if own_keys else base
    first = []
    if edited is not None and (own_keys or foreign_keys):
        first = [{"t": "RawBlock", "c": ["markdown", edited.source.rstrip("\n")]}]
    return {**ast, "blocks": [*first, *ast["blocks"]], "meta": {}}


def _header_of_pandoc(document: FilterDocument, meta: Json) -> MetadataBlock:
    from .elements import to_markdown

    if meta:
        ast = {**document.ast, "blocks": [], "meta": meta}
        block = next(iter(parse_markdown_text(to_markdown(ast, document.call.run.executable, "--standalone"))), None)
        if isinstance(block, HeaderBlock):
            return block
    return make_block("", "native", header=True)


def as_divs(document: FilterDocument, blocks: Sequence[Block]) -> Json | None:
    """Return Pandoc's JSON of blocks with metadata as divs and old texts for edits, or None if pandoc parses others."""
    if needs_text(document.call) or any("fenced div" in problem.message for problem in document.problems):
        return None
    unfolded = restore_originals(blocks).blocks
    if any(_loses_metadata(document, block) for block in unfolded):
        return None
    ast = _read_as_divs(document, unfolded)
    count = sum(isinstance(b, MetadataBlock | ErrorBlock) and not isinstance(b, HeaderBlock) for b in unfolded)
    return ast if _count_metadata(document, ast) == count else None


def _count_metadata(document: FilterDocument, ast: Json) -> int:
    from .elements import RAW, is_metadata

    doc = document.load({**ast, "blocks": [block for block in ast["blocks"] if block["t"] in ("Div", "RawBlock")]})
    return sum(is_metadata(element) and getattr(element, "format", "") != RAW for element in doc.content)


def _read_as_divs(document: FilterDocument, unfolded: list[Block]) -> Json:
    converted = serialize_blocks(convert(unfolded, "div"))
    is_odd_reader = "-yaml_metadata_block" in document.call.run.reader
    if not is_odd_reader and converted == serialize_blocks(document.blocks):
        return document.ast
    ast = parse_as_input(document, converted)
    document_keys = {key: value for key, value in document.ast["meta"].items() if key in DOCUMENT_KEYS}
    return {**ast, "meta": document_keys | ast["meta"]}


def _loses_metadata(document: FilterDocument, block: Block) -> bool:
    if not isinstance(block, TextBlock) or "--" not in block.source:
        return False
    lost = {"native", "comment"} if document.call.run.strips_comments else {"native"}
    return any(part.spelling in lost for part in find_parts(block.source))


def parse_as_input(document: FilterDocument, text: str) -> Json:
    """Return Pandoc's JSON of a text, parsed like the input. Raise FilterError."""
    run = document.call.run
    if run.reads_files_apart:
        raise FilterError(
            "--file-scope reads each file by itself, which native metadata blocks do not survive. "
            "Write them as divs: lmm convert --to div FILES"
        )
    # pandoc 3 shifts headings after filters, pandoc 2 before
    is_shifted = run.shifts_headings and run.parse()["blocks"] == document.ast["blocks"]
    return run.parse(text, with_shift=is_shifted)
