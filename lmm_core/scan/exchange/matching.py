"""Matching of questions to blocks of a document that has changed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

from ...errors import MarkdownError
from ...logging import LoggerBase
from ...markdown.blocks import Block, HeaderBlock, MetadataBlock, trim_blank_lines
from ...markdown.edits import restore_originals
from ...markdown.spelling import edit_block
from ...markdown.tree import Node, blocks_to_tree, node_block, traverse


def can_take(block: MetadataBlock, key: str, failure: str, logger: LoggerBase) -> bool:
    """Return True if a key can be written into a block; report it otherwise."""
    try:
        edit_block(block, {key: []})
    except MarkdownError as error:
        logger.error(f"{failure}: {error}", block.line)
        return False
    return True


class ChatQuestion(Protocol):
    """A question in a block about a part of the document."""

    @property
    def block(self) -> MetadataBlock: ...

    @property
    def node(self) -> Node: ...


def find_blocks(blocks: Sequence[Block], questions: Sequence[ChatQuestion], key: str) -> dict[int, MetadataBlock]:
    """Return the current block of each question, by the question's id.

    A block matches by source, or by first messages and `key`, preferably before the same text.
    """
    free = _annotating(blocks)
    texts = {id(question): _text_at(question.node) for question in questions}
    matches: dict[int, MetadataBlock] = {}
    for same_text, is_same in product((True, False), (_has_same_source, _continues)):
        for question in questions:
            hits = (
                at
                for at, (block, text) in enumerate(free)
                if (not same_text or text == texts[id(question)]) and is_same(block, question.block, key)
            )
            at = None if id(question) in matches else next(hits, None)
            if at is not None:
                matches[id(question)] = free.pop(at)[0]
    return matches


def _annotating(blocks: Sequence[Block]) -> list[tuple[MetadataBlock, str]]:
    originals = restore_originals(blocks)
    return [
        (block, _text_at(node))
        for node in traverse(blocks_to_tree(originals.blocks))
        for block in node.metadata
        if id(block) not in originals.regions
    ]


def _text_at(node: Node) -> str:
    block = node_block(node)
    return trim_blank_lines(block.source) if block is not None else ""


def _has_same_source(block: MetadataBlock, question_block: MetadataBlock, _key: str) -> bool:
    same_kind = isinstance(block, HeaderBlock) == isinstance(question_block, HeaderBlock)
    return same_kind and trim_blank_lines(block.source) == trim_blank_lines(question_block.source)


def _continues(block: MetadataBlock, question_block: MetadataBlock, key: str) -> bool:
    texts = [message.text for message in question_block.messages]
    first_texts = [message.text for message in block.messages[: len(texts)]]
    value = question_block.content.get(key)
    return bool(texts or value) and first_texts == texts and block.content.get(key) == value
