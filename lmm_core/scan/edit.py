"""The edit pass: new versions of texts, proposed beside the old ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import MarkdownError, ModelError
from ..markdown.blocks import (
    Block,
    MetadataBlock,
    TextBlock,
    blank,
    ends_blank,
    serialize_blocks,
    trim_blank_lines,
)
from ..markdown.edits import EDIT_KEY, Edit, new_ident, open_edit, read_edit, restore_originals, write_edit
from ..markdown.metadata.keys import digest
from ..markdown.spelling import edit_block, settle_safely
from ..markdown.tree import Node, blocks_to_tree, node_block, traverse
from ..models.chat import ChatMessage
from .decisions import EDIT_FLOW, trailing_space
from .record import EDIT as EDIT_MESSAGES
from .requests import (
    BlockQuestion,
    ModelRun,
    PromptText,
    ask_model,
    can_take,
    find_blocks,
)
from .system_keys import first_newline

TIMES_LONGER = 2  # maximum length of a new version, relative to the old one
_ENCLOSED = re.compile(r"\s*<text>\n(.*)\n</text>\s*", re.S)


@dataclass
class EditRequest(BlockQuestion):
    """A request for a new version, or (`proposed`) for a better one; `new` lists unanswered requests."""

    requests: list[str]
    new: list[str]
    proposed: str | None
    text: str = ""
    reply: str | None = None

    @property
    def markdown(self) -> str:
        return "\n\n".join(["**user:** " + "\n".join(self.requests), self.reply or ""])


@dataclass
class EditRun(ModelRun[EditRequest]):
    """A run over a document, for new versions of texts beside requests (`=`, `edit`)."""

    noun = "edit"
    participle = "made"

    def start(self, blocks: Sequence[Block]) -> None:
        """Find the requests; those inside a part to be edited are postponed."""
        originals = restore_originals(blocks)
        proposed = {id(block): edit for block in blocks if (edit := read_edit(block))}
        regions = {id(block): proposed[id(region)] for block in originals.blocks
                   if (region := originals.regions.get(id(block)))}  # fmt: skip
        inside: set[int] = set()
        for node in traverse(blocks_to_tree(originals.blocks)):
            for block in (block for block in node.metadata if id(block) not in regions):
                if id(node) not in inside and self._add(block, node, regions):
                    inside.update(id(part) for part in traverse(node))
                    break

    def _add(self, block: MetadataBlock, node: Node, regions: dict[int, Edit]) -> bool:
        requests, new = requests_in(block)
        if not new or not can_take(block, EDIT_KEY, "edit not made", self.logger):
            return False
        edit = next((regions[id(part)] for part in _blocks_of(node) if id(part) in regions), None)
        waits = open_edit(block)
        if (edit.ident if edit else None) != waits:
            name = waits or (edit.ident if edit else "")
            problem = (
                f"edit {name} has to be decided first: run `lmm accept` or `lmm reject`"
                if edit
                else f"the text of edit {name} is no longer under its block; remove ~~edit from the block"
            )
            self.logger.error(problem, block.line)
            return False
        text = "" if edit and edit.old is None else _text_without_metadata(_blocks_of(node))
        self.open.append(EditRequest(block, node, requests, new, edit.new if edit else None, text))
        return True

    async def _ask(self, edit_request: EditRequest) -> None:
        from ..models.tokens import count_tokens

        line = edit_request.block.line
        excerpt = self.talk.excerpt(edit_request.node, edit_request.requests) if edit_request.text else PromptText("")
        if excerpt.left_out:
            self.logger.error(
                "edit not made: the text is too long for the model; ask for its sections one by one", line
            )
            return
        first, *rest = self._messages(edit_request)
        draft = self.talk.request(self.talk.edit, edit_request.node, excerpt, first.content, rest)
        request = replace(draft, max_tokens=draft.max_tokens + TIMES_LONGER * count_tokens(draft.text))
        try:
            reply = await ask_model(self.talk.asker, request, "\n".join(edit_request.new), self.screen, tags=False)
        except ModelError as error:
            self.failed.append((line, error))
            return
        if blank(reply):
            self.logger.error("edit not made: the model's new version is empty", line)
        else:
            edit_request.reply = without_tags(reply)
            self.answered.append(request)

    def _messages(self, edit_request: EditRequest) -> list[ChatMessage]:
        earlier = edit_request.requests[: len(edit_request.requests) - len(edit_request.new)]
        new = "\n".join(edit_request.new)
        if edit_request.proposed is None:
            return [ChatMessage("user", new)]
        return [
            ChatMessage("user", "\n".join(earlier) or "Write a new version."),
            ChatMessage("assistant", edit_request.proposed),
            ChatMessage("user", new),
        ]

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document with the proposed versions. Raise MarkdownError if they do not fit in."""
        self.unmerged = []
        edited = list(blocks)
        block_of = find_blocks(blocks, self.open, EDIT_KEY)
        for edit_request in (edit_request for edit_request in self.open if edit_request.reply is not None):
            at = next((at for at, block in enumerate(edited) if block is block_of.get(id(edit_request))), None)
            if at is None or not self._insert(edited, at, edit_request):
                self.unmerged.append(edit_request)
        return settle_safely(blocks, edited)

    def _insert(self, blocks: list[Block], at: int, edit_request: EditRequest) -> bool:
        block, reply = blocks[at], edit_request.reply
        assert isinstance(block, MetadataBlock) and reply is not None
        start, end = _extent(blocks, at)
        edit = read_edit(blocks[start]) if start < end else None
        if not _is_unchanged(blocks[start:end], edit, edit_request):
            return False
        newline = first_newline(blocks)
        reply = reply.replace("\r\n", "\n").replace("\n", newline)
        if edit:
            region, changes = _refine(blocks[start], edit, reply, newline, dict(block.content[EDIT_KEY]))
            end = start + 1
        else:
            region, changes = propose(serialize_blocks(blocks[start:end]), reply, newline, serialize_blocks(blocks))
        if start == end:  # the whitespace of the block above will change
            changes["before"] = trailing_space(blocks[start - 1].source)
        elif not edit and not ends_blank(blocks[start - 1].source):  # a blank line will be added before the edit
            changes["above"] = trailing_space(blocks[start - 1].source)
        changes["asked"] = [digest(text) for text in edit_request.requests]
        try:
            blocks[at] = edit_block(block, {EDIT_KEY: changes}, EDIT_FLOW) or block
        except MarkdownError as error:
            self.logger.error(f"the new version cannot be written: {error}", block.line)
            return False
        blocks[start:end] = [region]
        return True


def _is_unchanged(blocks: Sequence[Block], edit: Edit | None, edit_request: EditRequest) -> bool:
    if edit is not None:
        return edit.new == edit_request.proposed
    return edit_request.proposed is None and _text_without_metadata(blocks) == edit_request.text


def _refine(
    region: Block, edit: Edit, reply: str, newline: str, record: dict[str, Any]
) -> tuple[TextBlock, dict[str, Any]]:  # fmt: skip
    after = trailing_space(region.source)
    ident = edit.ident if edit.ident not in reply else new_ident(region.source, reply)
    return write_edit(Edit(ident, edit.old, reply), newline, after), {**record, "id": ident}


def propose(source: str, reply: str, newline: str, document: str) -> tuple[TextBlock, dict[str, Any]]:
    """Return an edit block and its value of `~~edit`."""
    text = source.rstrip(" \t\r\n")
    lead = text[: len(text) - len(text.lstrip(" \t\r\n"))]
    lead = lead[: lead.rfind("\n") + 1]
    old = text[len(lead) :]
    after = source[len(text) :]
    edit = Edit(new_ident(document, reply), old or None, reply)
    region = write_edit(edit, newline, after if blank(after[:1]) and after else newline)
    return region, {"id": edit.ident, "old": digest(old), "before": lead, "after": after}


def without_tags(reply: str) -> str:
    """Return a new version without the prompt's tags, which models may repeat."""
    match = _ENCLOSED.fullmatch(reply)
    return match[1] if match and "<text>" not in match[1] else reply


def requests_in(block: MetadataBlock) -> tuple[list[str], list[str]]:
    """Return all requests for edits in a block, and the unanswered ones."""
    requests = [message.text for message in block.messages if message.key in EDIT_MESSAGES and message.text.strip()]
    return requests, requests[count_done(block, requests) :]


def count_done(block: MetadataBlock, requests: Sequence[str]) -> int:
    """Return the number of leading requests with an answer."""
    record = block.content.get(EDIT_KEY)
    digests = record.get("asked") if isinstance(record, dict) else None
    digests = [str(value) for value in digests] if isinstance(digests, list) else []
    last = 0
    for at, text in enumerate(requests):
        if digest(text) in digests:
            last = at + 1
    return last


def _extent(blocks: Sequence[Block], at: int) -> tuple[int, int]:
    nodes = {id(block): node for node in traverse(blocks_to_tree(blocks)) for block in node.metadata}
    node, start = nodes[id(blocks[at])], at + 1
    while start < len(blocks) and nodes.get(id(blocks[start])) is node:
        start += 1
    return start, start + len(_blocks_of(node))


def _blocks_of(node: Node) -> list[Block]:
    blocks: list[Block] = []
    for part in traverse(node):
        blocks += part.metadata if part is not node else []
        if (block := node_block(part)) is not None:
            blocks.append(block)
    return blocks


def _text_without_metadata(blocks: Sequence[Block]) -> str:
    texts = [block for block in blocks if not isinstance(block, MetadataBlock)]
    return "\n\n".join(filter(None, (trim_blank_lines(block.source.lstrip("\ufeff")) for block in texts)))
