"""Annotations that LM markdown itself has made (`titles`, `questions`, `summary`
beside a `~txthash`): read as they are, never overwritten."""

from __future__ import annotations

import base64
import hashlib
import re

from ...logging import LoggerBase
from ...markdown.tree import HeadingNode, Node, TextNode


def report_foreign(node: HeadingNode, logger: LoggerBase) -> None:
    """Annotations with a `~txthash` were made by LM markdown: kept, and reported
    where the text is no longer the one that they were made from."""
    known = node.properties.get("~txthash")
    if known is not None and str(known).rstrip("=") != foreign_hash(node):
        logger.info("annotations by LM markdown (~txthash) are older than the text", node.line)


def foreign_hash(node: HeadingNode) -> str:
    """LM markdown's hash of a section: MD5, base64 without `=`, of its paragraphs
    (lines right-stripped) and the hashes of its subsections, joined by nothing."""
    parts = [foreign_hash(child) if isinstance(child, HeadingNode) else _stripped(child) for child in node.children]
    data = hashlib.md5("".join(parts).encode("utf-8"), usedforsecurity=False).digest()
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _stripped(node: Node) -> str:
    content = node.content if isinstance(node, TextNode) else ""
    return "".join(re.split(r"\n{2,}", "\n".join(line.rstrip() for line in content.split("\n"))))
