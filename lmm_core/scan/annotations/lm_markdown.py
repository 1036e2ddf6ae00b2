"""Annotations made by LM markdown itself (`titles`, `questions`, `summary` beside a `~txthash`),
which are read and never overwritten."""

from __future__ import annotations

import base64
import hashlib
import re

from ...logging import LoggerBase
from ...markdown.tree import HeadingNode, Node, TextNode


def report_stale_lm_markdown(node: HeadingNode, logger: LoggerBase) -> None:
    """Report annotations of LM markdown that were made from another text than today's."""
    known = node.properties.get("~txthash")
    if known is not None and str(known).rstrip("=") != lm_markdown_hash(node):
        logger.info("annotations by LM markdown (~txthash) are older than the text", node.line)


def lm_markdown_hash(node: HeadingNode) -> str:
    """Return LM markdown's hash of a section.

    It is the MD5, in base64 without `=`, of the section's paragraphs (lines right-stripped) and the
    hashes of its subsections, joined by nothing.
    """
    parts = [lm_markdown_hash(child) if isinstance(child, HeadingNode) else _stripped(child) for child in node.children]
    data = hashlib.md5("".join(parts).encode("utf-8"), usedforsecurity=False).digest()
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _stripped(node: Node) -> str:
    content = node.content if isinstance(node, TextNode) else ""
    return "".join(re.split(r"\n{2,}", "\n".join(line.rstrip() for line in content.split("\n"))))
