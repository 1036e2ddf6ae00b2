"""The proposals pass: requests for edits and questions from students' questions.

`~~asked` holds the hashes of quoted questions, to propose them only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ..errors import MarkdownError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, HeaderBlock, HeadingBlock, MetadataBlock, Spelling
from ..markdown.edits import ASKED_KEY
from ..markdown.metadata.body import dump_entry
from ..markdown.metadata.keys import digest, find_key
from ..markdown.spelling import edit_block, make_block, settle_safely
from ..markdown.tree import Node, blocks_to_tree, node_block, traverse
from .header import report_broken_edits
from .system_keys import first_newline, nearest_spellings

QUESTIONS = "questions"


@dataclass(frozen=True)
class ProposedEdit:
    """A request before the heading at `line`, or at the end (None); `questions` are the quoted ones."""

    line: int | None
    request: str
    questions: tuple[str, ...]


@dataclass(frozen=True)
class ProposedQuestions:
    """Questions for the section whose heading is at `line`."""

    line: int
    questions: tuple[str, ...]


def propose(
    blocks: Sequence[Block],
    edits: Sequence[ProposedEdit] = (),
    questions: Sequence[ProposedQuestions] = (),
    spelling: Spelling = "div",
    logger: LoggerBase | None = None,
) -> list[Block]:
    """Return the document with new requests and questions; requests for one place share a block.

    Frozen sections and those with `questions=:` get no questions, which is reported. Raise MarkdownError if a block
    does not fit in.
    """
    logger = logger or ConsoleLogger()
    if report_broken_edits(blocks, logger):
        return list(blocks)
    proposed = _with_questions(blocks, questions, spelling, logger)
    existing_marks = asked_in(blocks)
    new = [edit for edit in edits if existing_marks.isdisjoint(map(question_mark, edit.questions))]
    for line, group in groupby(sorted(new, key=_place), key=lambda edit: edit.line):
        _insert_request(proposed, line, list(group), spelling, logger)
    return settle_safely(blocks, proposed)


def asked_in(blocks: Sequence[Block]) -> set[str]:
    """Return the hashes of all questions quoted in requests."""
    lists = (block.content.get(ASKED_KEY) for block in blocks if isinstance(block, MetadataBlock))
    return {str(mark) for marks in lists if isinstance(marks, list) for mark in marks}


def question_mark(question: str) -> str:
    """Return the hash of a question, without case and spacing."""
    return digest(" ".join(question.casefold().split()))


def _place(edit: ProposedEdit) -> tuple[bool, int]:
    return edit.line is None, edit.line or 0


def _insert_request(
    blocks: list[Block], line: int | None, edits: Sequence[ProposedEdit], spelling: Spelling, logger: LoggerBase
) -> None:
    at = len(blocks) if line is None else _index_of(blocks, line)
    if at is None:
        logger.warning(
            "nothing proposed here, since the section stands in an edit that is to be decided first", line or 0
        )
        return
    while at > 0 and _annotates(blocks[at - 1]) and line is not None:
        at -= 1
    # a native block at the very start would be the header
    block_spelling = "div" if at == 0 else _spelling_at(blocks, line, spelling)
    blocks.insert(at, _request_block(edits, block_spelling, first_newline(blocks)))


def _index_of(blocks: Sequence[Block], line: int) -> int | None:
    places = (at for at, block in enumerate(blocks) if isinstance(block, HeadingBlock) and block.line == line)
    return next(places, None)


def _annotates(block: Block) -> bool:
    return isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock)


def _spelling_at(blocks: Sequence[Block], line: int | None, spelling: Spelling) -> Spelling:
    nodes = list(traverse(blocks_to_tree(list(blocks))))
    nearest = nearest_spellings(nodes, spelling)
    if line is None:
        return nearest[-1]
    spellings = (node_spelling for node, node_spelling in zip(nodes, nearest, strict=True) if _is_heading(node, line))
    return next(spellings, spelling)


def _is_heading(node: Node, line: int) -> bool:
    block = node_block(node)
    return isinstance(block, HeadingBlock) and block.line == line


def _request_block(edits: Sequence[ProposedEdit], spelling: Spelling, newline: str) -> MetadataBlock:
    marks = list(dict.fromkeys(question_mark(question) for edit in edits for question in edit.questions))
    body = "".join(_entry(edit.request, newline) for edit in edits) + dump_entry(ASKED_KEY, marks, True, newline)
    block = make_block(body, spelling, newline)
    texts = [message.text.replace("\r\n", "\n") for message in block.messages]
    if texts != [edit.request for edit in edits] or block.content != {ASKED_KEY: marks}:
        raise MarkdownError("what students asked cannot be written into a block")
    return block


def _entry(request: str, newline: str) -> str:
    return "=" + dump_entry("edit", request, newline=newline).removeprefix("edit")


def _with_questions(
    blocks: Sequence[Block], proposed: Sequence[ProposedQuestions], spelling: Spelling, logger: LoggerBase
) -> list[Block]:
    extended = list(blocks)
    for proposal in proposed:
        nodes = traverse(blocks_to_tree(extended))
        node = next((node for node in nodes if _is_heading(node, proposal.line)), None)
        if node is None:
            logger.warning(
                "no questions proposed here: the section stands in an edit that is to be decided first", proposal.line
            )
        else:
            _add_questions(extended, node, proposal, spelling, logger)
    return extended


def _add_questions(
    blocks: list[Block], node: Node, proposed: ProposedQuestions, spelling: Spelling, logger: LoggerBase
) -> None:
    key = find_key(node.properties, QUESTIONS) or f"~{QUESTIONS}"
    value = node.properties.get(key)
    if key == f"{QUESTIONS}=" and not value:
        logger.info("no questions proposed here, since you want none (`questions=:`)", proposed.line)
        return
    if node.fetch("frozen"):
        logger.info("no questions proposed here, since this part is frozen", proposed.line)
        return
    extended = _extended(value, proposed.questions)
    if extended is None:
        return
    holder = next((block for block in reversed(node.metadata) if key in block.content), None)
    holder = holder or (node.metadata[-1] if node.metadata else None)
    if holder is None:
        at = _index_of(blocks, proposed.line)
        assert at is not None
        block_spelling = "div" if at == 0 else _spelling_at(blocks, proposed.line, spelling)
        newline = first_newline(blocks)
        blocks.insert(at, make_block(dump_entry(key, extended, False, newline), block_spelling, newline))
        return
    at = next(at for at, block in enumerate(blocks) if block is holder)
    blocks[at] = edit_block(holder, {key: extended}, stays=True) or holder


def _extended(value: Any, questions: Sequence[str]) -> Any:
    existing = "\n".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    folded = " ".join(existing.split()).casefold()
    new = [question for question in questions if " ".join(question.split()).casefold() not in folded]
    if not new:
        return None
    if isinstance(value, str) and value.strip():
        text = value.rstrip("\n")
        return "\n".join([text, *new]) + value[len(text) :]
    return [*(value if isinstance(value, list) else []), *new]
