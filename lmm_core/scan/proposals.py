"""The proposals pass: requests for edits and questions from students' questions.

`~~asked` holds the hashes of quoted questions, to propose them only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import MarkdownError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MetadataBlock, Spelling
from ..markdown.edits import ASKED_KEY
from ..markdown.metadata.body import dump_entry
from ..markdown.metadata.keys import digest, find_key
from ..markdown.spelling import make_block, settle_safely
from ..markdown.tree import HeadingNode, blocks_to_tree, traverse, tree_to_blocks
from .header import report_broken_edits
from .system_keys import first_newline, spellings_of, write_keys

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
    tree, newline = blocks_to_tree(blocks), first_newline(blocks)
    spellings = spellings_of(tree, spelling)
    sections = {node.line: node for node in traverse(tree) if isinstance(node, HeadingNode) and node.heading}
    for proposal in questions:
        if section := _section_at(proposal.line, sections, logger):
            _add_questions(section, proposal, spellings[id(section)], newline, logger)
    at_end: list[Block] = []
    for line, group in _new_requests(blocks, edits).items():
        if line is None:
            at_end = [_request_block(group, [*spellings.values()][-1] if spellings else "div", newline)]
        elif section := _section_at(line, sections, logger):
            section.metadata = [_request_block(group, spellings[id(section)], newline), *section.metadata]
    return settle_safely(blocks, [*tree_to_blocks(tree), *at_end])


def asked_in(blocks: Sequence[Block]) -> set[str]:
    """Return the hashes of all questions quoted in requests."""
    lists = (block.content.get(ASKED_KEY) for block in blocks if isinstance(block, MetadataBlock))
    return {str(mark) for marks in lists if isinstance(marks, list) for mark in marks}


def question_mark(question: str) -> str:
    """Return a question's hash, without case and spacing."""
    return digest(" ".join(question.casefold().split()))


def _new_requests(blocks: Sequence[Block], edits: Sequence[ProposedEdit]) -> dict[int | None, list[ProposedEdit]]:
    existing_marks = asked_in(blocks)
    requests: dict[int | None, list[ProposedEdit]] = {}
    for edit in edits:
        if existing_marks.isdisjoint(map(question_mark, edit.questions)):
            requests.setdefault(edit.line, []).append(edit)
    return requests


def _section_at(line: int, sections: dict[int, HeadingNode], logger: LoggerBase) -> HeadingNode | None:
    if line not in sections:
        logger.warning("nothing proposed here: the section stands in an edit that is to be decided first", line)
    return sections.get(line)


def _request_block(edits: Sequence[ProposedEdit], spelling: Spelling, newline: str) -> MetadataBlock:
    marks = list(dict.fromkeys(question_mark(question) for edit in edits for question in edit.questions))
    body = "".join(_entry(edit.request, newline) for edit in edits) + dump_entry(
        ASKED_KEY, marks, flow=True, newline=newline
    )
    block = make_block(body, spelling, newline)
    texts = [message.text.replace("\r\n", "\n") for message in block.messages]
    if texts != [edit.request for edit in edits] or block.content != {ASKED_KEY: marks}:
        raise MarkdownError("what students asked cannot be written into a block")
    return block


def _entry(request: str, newline: str) -> str:
    return "=" + dump_entry("edit", request, newline=newline).removeprefix("edit")


def _add_questions(
    section: HeadingNode, proposed: ProposedQuestions, spelling: Spelling, newline: str, logger: LoggerBase
) -> None:
    key = find_key(section.properties, QUESTIONS) or f"~{QUESTIONS}"
    value = section.properties.get(key)
    if key == f"{QUESTIONS}=" and not value:
        logger.info("no questions proposed here, since you want none (`questions=:`)", proposed.line)
    elif section.fetch("frozen"):
        logger.info("no questions proposed here, since this part is frozen", proposed.line)
    elif extended := _extended(value, proposed.questions):
        write_keys(section, {key: extended}, spelling, newline, logger)


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
