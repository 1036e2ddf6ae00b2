"""Numbers and UUIDs of text blocks and headings, made from the document's id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...markdown.tree import HeaderNode, HeadingNode, Node, TextNode, traverse
from ...settings.tables import ScanOpts

IDENTITIES = ("~~textid", "~~headingid", "~~textUUID", "~~headingUUID")


def identities(tree: HeadingNode, opts: ScanOpts, docid: str) -> Iterator[tuple[Node, dict[str, Any]]]:
    """Yield the nodes whose ids have to be written, with the keys to write.

    Text blocks are numbered `docid.3`, headings `docid.h2`; the options say which ids are wanted.
    """
    if not (opts.textid or opts.textUUID or opts.headingid or opts.headingUUID):
        return
    counts = {"": 0, "h": 0}
    for node in traverse(tree):
        kind = "h" if isinstance(node, HeadingNode) else ""
        if isinstance(node, TextNode) and not node.content:
            continue
        counts[kind] += 1
        if isinstance(node, HeaderNode) and not node.metadata:
            continue
        values = _values(node, f"{docid}.{kind}{counts[kind]}", opts)
        yield node, {key: value for key, value in values.items() if node.properties.get(key) != value}


def _values(node: Node, ident: str, opts: ScanOpts) -> dict[str, Any]:
    heading = isinstance(node, HeadingNode)
    with_uuid = opts.headingUUID if heading else opts.textUUID
    name = "heading" if heading else "text"
    values = {}
    if with_uuid or (opts.headingid if heading else opts.textid):
        values[f"~~{name}id"] = ident
    if with_uuid:
        import uuid

        values[f"~~{name}UUID"] = str(uuid.uuid5(uuid.NAMESPACE_URL, ident))
    return values
