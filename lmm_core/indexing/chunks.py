"""Build chunks, the stored and retrieved texts of a document.

Each text block of a split document is a chunk; headings and metadata give its place and subject.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..arguments import validated
from ..logging import LoggerBase
from ..markdown.blocks import Block, ErrorBlock, HeadingBlock, header_content
from ..markdown.edits import restore_originals
from ..markdown.metadata.keys import MESSAGE_KEYS, SETTINGS, find_key
from ..markdown.tree import HeaderNode, HeadingNode, Node, TextNode, blocks_to_tree, sections, titles_path, traverse
from ..markdown.visibility import KnitRules, is_indexed, types_around
from ..scan.documents.document import docid_in
from ..scan.knit import slug, strip_metadata
from ..scan.rag_parts import extract_parts
from .cutting.split import ChunkBlock, ParentDocument, div_type
from .encoding import VERSION, ChunkTexts, EncodingModel, texts_to_encode
from .passages import PAGE, SUMMARY, page_in

QUESTIONS = "questions"  # the only property inherited from a header
CONTEXT_SUMMARY = "context_summary"  # of the enclosing section of a document
_WORD = re.compile(r"\w")
_MARKS = re.compile(r"^[ \t]*:::[^\n]*$|<!--.*?-->", re.M | re.S)  # div marks and comments hold no searchable words
_NO_PROPERTIES = SETTINGS | {"page_content", "repeated"}  # and of a payload: text, number of repeated lines


@dataclass(frozen=True, slots=True)
class AnnotationModel:
    """The properties that are encoded with a text, in order.

    inherited_properties: the block's own, or else of the nearest section around it; own_properties: the block's own
    alone. `titles` is the path of titles."""

    inherited_properties: Sequence[str] = ()
    own_properties: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("inherited_properties", "own_properties"):
            names = getattr(self, name)
            object.__setattr__(self, name, (names,) if isinstance(names, str) else tuple(names))


DEFAULT_MODEL = AnnotationModel(("titles", "questions"))


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """The document that chunks are made of. docid: the header's, if it has one; language: its code, or ""."""

    docid: str
    source: str
    language: str = ""


@dataclass(frozen=True)
class Chunk:
    """A text to be stored.

    payload: returned with it; texts: encoded; uuid: made of document, content and occurrence, so that a text keeps
    it when it moves within its document."""

    content: str
    annotations: str
    texts: ChunkTexts
    uuid: str
    payload: dict[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """The hash of the encoded texts: 16 hexadecimal digits."""
        return _hash_of(self.texts)


@validated
def blocks_to_chunks(
    blocklist: Sequence[Block],
    encoding_model: EncodingModel = EncodingModel.BM25,
    annotation_model: AnnotationModel | str | Sequence[str] = DEFAULT_MODEL,
    logger: LoggerBase | None = None,
    *,
    docid: str = "",
    source: str = "",
    rules: KnitRules | None = None,
    language: str = "",
) -> list[Chunk]:
    """Return the chunks of a document: one for each text block and each summary.

    annotation_model: the metadata encoded with a text, by default titles and questions; a list names inherited
    properties. logger: accepted, as in LM markdown for education; nothing is logged. docid: used if the header has
    none; source: the file; language: the document's code. Parts with `skip: true` are left out."""
    model = annotation_model if isinstance(annotation_model, AnnotationModel) else AnnotationModel(annotation_model)
    docid = docid_in(header_content(blocklist)) or docid
    document = IndexedDocument(docid, source, language)
    return make_chunks(blocklist, document, encoding_model, model, rules or KnitRules())


def make_chunks(
    blocks: Sequence[Block],
    document: IndexedDocument,
    encoding: EncodingModel,
    model: AnnotationModel,
    rules: KnitRules,
) -> list[Chunk]:
    """Return the chunks of a document's blocks; see `blocks_to_chunks`."""
    tree = blocks_to_tree(extract_parts(restore_originals(blocks).blocks, rules))
    if tree is None:
        return []
    base = {"docid": document.docid, "source": document.source}
    base |= {"language": document.language} if document.language else {}
    places = _places(tree)
    chunks: list[Chunk] = []
    counts: Counter[str] = Counter()
    page: dict[str, Any] = {}
    for node in traverse(tree):
        if not isinstance(node, HeaderNode) and (number := page_in(node.properties)):
            page = {PAGE: number}
        for content, own in _contents(node, rules):
            place = places[id(node if isinstance(node, HeadingNode) else node.parent)]
            sequence = _place_in_document(node, document.docid, len(chunks))
            payload = base | _properties(node) | page | own | place | sequence
            annotations = _annotations(node, place["titles"], model)
            chunks.append(_chunk(content, annotations, payload, encoding, counts))
    return chunks


def _chunk(
    content: str, annotations: str, payload: dict[str, Any], encoding: EncodingModel, counts: Counter[str]
) -> Chunk:
    mark = _hash([content, str(payload.get("type", ""))])
    counts[mark] += 1
    ident = uuid.uuid5(uuid.NAMESPACE_URL, f"{payload['docid']}\0{mark}\0{counts[mark]}")
    texts = texts_to_encode(encoding, content, annotations, str(payload.get("language") or ""))
    payload = {"page_content": content, **payload, "hash": _hash_of(texts)}
    return Chunk(content, annotations, texts, str(ident), payload)


def _hash_of(texts: ChunkTexts) -> str:
    return _hash([*texts.dense, "\0", texts.sparse, texts.language, str(VERSION)])[:16]


def _contents(node: Node, rules: KnitRules) -> Iterator[tuple[str, dict[str, Any]]]:
    if not is_indexed(node):
        return
    if isinstance(node, HeadingNode):
        summary = node.get("summary")
        if isinstance(summary, str) and summary.strip():
            yield summary.strip(), {"type": SUMMARY}
    elif isinstance(node, TextNode) and node.block is not None and not isinstance(node.block, ErrorBlock):
        content = strip_metadata(node.content).strip("\n")
        type = node.block.type if isinstance(node.block, ChunkBlock) else div_type(node.block, rules)
        if _WORD.search(_MARKS.sub("", content) if ":::" in content or "<!--" in content else content):
            yield content, {"type": type} if type else {}


def _properties(node: Node) -> dict[str, Any]:
    """Return a node's public properties, own and inherited; of the header's, only questions."""
    properties_of_node: dict[str, Any] = {}
    for part in (node, *reversed(node.ancestors)):
        if isinstance(part, HeaderNode):
            properties_of_node.setdefault(QUESTIONS, part.get(QUESTIONS))
            break
        properties = part.properties
        for key in properties:
            name = key.removeprefix("~").removesuffix("=")
            if key.startswith("~~") or key in MESSAGE_KEYS or name in _NO_PROPERTIES or name in properties_of_node:
                continue
            if name != SUMMARY or part is node or isinstance(node, TextNode):
                properties_of_node[name] = properties[find_key(properties, name) or key]
    properties_of_node.pop("type", None)
    if types := types_around(node):
        properties_of_node["type"] = types[0] if len(types) == 1 else types
    properties_of_node.pop(SUMMARY, None)  # a chunk of its own
    return {key: value for key, value in properties_of_node.items() if value is not None}


def _annotations(node: Node, titles: Sequence[str], model: AnnotationModel) -> str:
    parts = []
    for name in dict.fromkeys([*model.inherited_properties, *model.own_properties]):
        value = " - ".join(titles) if name == "titles" else _value(node, name, model)
        parts.append(_text(value))
    return "\n".join(filter(None, parts))


def _value(node: Node, name: str, model: AnnotationModel) -> Any:
    if (own := node.get(name)) is not None or name not in model.inherited_properties:
        return own
    around = (part for part in reversed(node.ancestors) if name == QUESTIONS or not isinstance(part, HeaderNode))
    return next((value for part in around if (value := part.get(name)) is not None), None)


def _text(value: Any) -> str:
    """Return a value as text: a list by lines, a mapping by its values."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    return "" if value is None or isinstance(value, bool) else " ".join(str(value).split())


# Places


def _places(tree: HeadingNode) -> dict[int, dict[str, Any]]:
    """Return the place of each section by `id` of its node, for payloads; paths and anchors outermost first."""
    places: dict[int, dict[str, Any]] = {}
    counts, anchors = Counter[int](), Counter[str]()
    for node in sections(tree):
        above = places.get(id(node.parent), {"section_path": [], "anchors": []})
        paths, names = above["section_path"], above["anchors"]
        if node.heading is not None:
            counts[id(node.parent)] += 1
            paths = [*paths, ".".join([*paths[-1:], str(counts[id(node.parent)])])]
            names = [*names, anchor_of(node.heading, anchors)]
        places[id(node)] = {
            "titles": titles_path(node),
            "depth": node.level,
            "section_path": paths,
            "parent": paths[-1] if paths else "",
            "anchor": names[-1] if names else "",
            "anchors": names,
        }
    return places


def anchor_of(heading: HeadingBlock, anchors: Counter[str]) -> str:
    """Return Pandoc's identifier of a heading, explicit or from its title. anchors: counts, to number repeated ones."""
    explicit = heading.attributes.identifier
    name = explicit or slug(heading.title)
    anchors[name] += 1
    return name if explicit or anchors[name] == 1 else f"{name}-{anchors[name] - 1}"


def _place_in_document(node: Node, docid: str, sequence: int) -> dict[str, Any]:
    start, end = _lines(node)
    place = {"sequence": sequence, "textid": f"{docid}.{sequence}", "line_start": start, "line_end": end}
    block = node.block if isinstance(node, TextNode) else None
    repeated = block.source[: block.repeated].lstrip().count("\n") if isinstance(block, ChunkBlock) else 0
    return place | ({"repeated": repeated} if repeated else {})


def _lines(node: Node) -> tuple[int, int]:
    if isinstance(node, HeadingNode):
        ends = (_lines(part)[1] for part in traverse(node) if isinstance(part, TextNode))
        return node.line, max(ends, default=node.line)
    assert isinstance(node, TextNode)
    block = node.block
    if block is None:
        return 1, 1
    end = block.line_end if isinstance(block, ChunkBlock) else block.line + node.content.rstrip().count("\n")
    return block.line, end


def _hash(parts: Sequence[str]) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def document_chunks(documents: Sequence[ParentDocument], docid: str, source: str) -> list[Chunk]:
    """Return the companion collection's chunks: the texts that contain other chunks."""
    counts: Counter[str] = Counter()
    chunks = []
    for sequence, document in enumerate(documents):
        payload = {"docid": docid, "source": source, "titles": list(document.titles), "sequence": sequence}
        payload |= {"line_start": document.line, "line_end": document.line_end}
        payload |= {CONTEXT_SUMMARY: document.context_summary} if document.context_summary else {}
        chunks.append(_chunk(document.text, " - ".join(document.titles), payload, EncodingModel.NONE, counts))
    return chunks
