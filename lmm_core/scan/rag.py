"""The RAG pass: questions and a summary for each section, and a summary of the document.

It works bottom-up; source hashes prevent work on unchanged texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import MarkdownError, ModelError
from ..logging import ConsoleLogger, LoggerBase, Progress, counted
from ..markdown.blocks import Block, Spelling, header_content, serialize_blocks
from ..markdown.edits import broken_edits, restore_originals
from ..markdown.metadata.body import DELETED
from ..markdown.metadata.keys import HASHES, hash_pair, read_hashes, short_hashes
from ..markdown.spelling import settle, settle_safely, take_out
from ..markdown.tree import (
    HeaderNode,
    HeadingNode,
    Node,
    blocks_to_tree,
    node_block,
    tree_to_blocks,
)
from ..markdown.visibility import KnitRules
from ..models.annotators.annotator import Annotator
from ..models.sources import STAND_IN_NAME as STAND_IN
from ..settings.tables import ScanOpts
from .annotations.needs import MAKER, NeedsFinder, SectionNeeds
from .annotations.sections import SectionTexts, annotated_parts, closed_parts
from .header import is_list_header, scan
from .system_keys import emptied_blocks, first_newline, mark_tight, set_values, spellings_of, write_keys

NO_MODEL_ASKED = "no model was asked: set OPENAI_API_KEY, or name a model in config.toml"
_LINES_SHOWN = 5
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def scan_rag(
    blocks: Sequence[Block],
    opts: ScanOpts | None = None,
    annotator: Annotator | None = None,
    spelling: Spelling = "div",
    refresh: bool = False,
    logger: LoggerBase | None = None,
) -> list[Block]:
    """Return the document with its annotations; failures are reported.

    annotator: by default the stand-in; spelling: default of new blocks; refresh: replace annotations of unchanged
    texts, too.
    """
    from ..models.annotators.extractive import ExtractiveAnnotator

    run = RagRun(
        opts or ScanOpts(), annotator or ExtractiveAnnotator(), spelling, KnitRules(), logger or ConsoleLogger()
    )
    run.refresh = refresh
    run.start(blocks)
    if run.open:
        run.ask_alone()
    return run.finish()


@dataclass(frozen=True)
class PlannedRequest:
    """A planned request; not `certain` if it depends on the subsections' annotations."""

    line: int
    titles: tuple[str, ...]
    wanted: list[str]
    tokens: int
    certain: bool


@dataclass
class Tally:
    """The numbers of sections written, empty and failed, and the annotators' names."""

    written: int = 0
    empty: int = 0
    failed: int = 0
    names: set[str] = field(default_factory=set)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.written + other.written, self.empty + other.empty, self.failed + other.failed, self.names | other.names
        )

    @property
    def by_annotators(self) -> str:
        """Return the annotators used, as the end of a sentence."""
        by = f" by {', '.join(sorted(self.names))}" if self.names else ""
        return f"{by}; {NO_MODEL_ASKED}" if self.names == {STAND_IN} else by

    @property
    def left_out(self) -> str:
        """Return a sentence about sections left empty by the stand-in, or ""."""
        sections = counted(self.written + self.empty + self.failed, "section")
        return f"{self.empty} of {sections}: nothing written without a model" if self.empty else ""


@dataclass
class RagRun:
    """A run over a document: `start`, `ask` (if sections are `open`), `finish`.

    verbatim: check that the new text parses into the same blocks (False for blocks of Pandoc's elements)
    name, docid: title and id for the header, completed with the first annotation
    is_included: other files include this one, so it gets no header
    """

    opts: ScanOpts
    annotator: Annotator
    spelling: Spelling
    rules: KnitRules
    logger: LoggerBase
    refresh: bool = False
    verbatim: bool = True
    progress: Progress | None = None
    name: str | None = None
    docid: str = ""
    is_included: Callable[[], bool] = field(default=lambda: False)
    tally: Tally = field(default_factory=Tally, init=False)
    open: list[Node] = field(default_factory=list, init=False)
    _keeps_header: bool = field(default=False, init=False)
    _needs: dict[int, SectionNeeds] = field(default_factory=dict, init=False)  # of sections that do not wait for others
    _annotated: set[int] = field(default_factory=set, init=False)
    _failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    _waiting: int = field(default=0, init=False)
    _awaiting_model: int = field(default=0, init=False)
    _stale: list[tuple[int, str]] = field(default_factory=list, init=False)

    def start(self, blocks: Sequence[Block]) -> None:
        """Do everything that needs no annotator, unless the header is a list or edits are broken."""
        self._original = list(blocks)
        self._blocks = blocks = self._complete_header()
        self._originals = restore_originals(blocks)
        left_alone = is_list_header(blocks) or broken_edits(blocks)
        self._tree = tree = None if left_alone else blocks_to_tree(self._originals.blocks)
        if tree is None:
            return
        self._newline, self._spellings = first_newline(blocks), spellings_of(tree, self.spelling)
        self._parts = annotated_parts(tree)
        self._closed = closed_parts(self._parts)
        texts = SectionTexts(tree, self.rules)
        self._finder = NeedsFinder(tree, texts, self.opts, self.annotator, self.refresh, self._closed)
        waiting: set[int] = set()  # sections that need a summary not written yet
        for node in annotated_parts(tree, post=True):
            keys = [] if id(node) in waiting or self._is_left_out(node) else self._begin(node)
            if keys or id(node) in waiting:
                self.open.append(node)
            if node.parent is not None and ("summary" in keys or id(node) in waiting):
                waiting.add(id(node.parent))

    def _complete_header(self) -> list[Block]:
        if self.name is None:
            return self._original
        completed = scan(self._original, self.name, self.docid, self.logger)
        self._keeps_header = completed != self._original and self.is_included()
        return self._original if self._keeps_header else completed

    def _begin(self, node: Node) -> list[str]:
        """Return the keys for the annotator, or finish the section."""
        needs = self._finder.needs_of(node)
        if isinstance(node, HeaderNode) and (needs.requested or needs.values) and self.is_included():
            self._keeps_header = True
            return []
        if needs.requested:
            self._needs[id(node)] = needs
        else:
            self._apply(node, needs, needs.values)
        return needs.requested

    def _is_proposed(self, node: Node) -> bool:
        regions = self._originals.regions
        if node.metadata:
            return id(node.metadata[-1]) in regions
        return id(node_block(node)) in regions

    def _is_left_out(self, node: Node) -> bool:
        headless = isinstance(node, HeaderNode) and (self._keeps_header or not node.metadata)
        return headless or id(node) in self._closed or self._is_proposed(node)

    def _apply(self, node: Node, needs: SectionNeeds, values: dict[str, Any]) -> None:
        is_new = any(value is not DELETED for value in values.values())
        inputs = dict.fromkeys(values, needs.source) if is_new else {}
        self._write(node, set_values(node.properties, values, inputs) if values else {})
        self._stale += [(node.line, key) for key in needs.stale]
        self._awaiting_model += bool(needs.model_only)

    def _write(self, node: Node, changes: dict[str, Any]) -> None:
        if not self._is_proposed(node):
            write_keys(node, changes, self._spellings[id(node)], self._newline, self.logger)

    def ask_alone(self) -> None:
        """Ask the annotator and close it."""
        from ..models.chat import run, then_close

        run(then_close(self.ask(), self.annotator))

    async def ask(self) -> None:
        """Annotate all open sections, each after its subsections."""
        import asyncio

        if self.progress:
            self.progress.expect(len(self.open))

        async def annotate(node: Node, below: Sequence[asyncio.Task[bool]]) -> bool:
            return await self._annotate(node, [await task for task in below])

        tasks: dict[int, asyncio.Task[bool]] = {}
        try:
            for node in self.open:
                sections = node.sections if isinstance(node, HeadingNode) else []
                below = [tasks[id(child)] for child in sections if id(child) in tasks]
                tasks[id(node)] = asyncio.create_task(annotate(node, below))
                await asyncio.sleep(0)  # send the first request before creating the others
            await asyncio.gather(*tasks.values())
        except asyncio.CancelledError:  # no request may follow, since the annotator is closed next
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
            raise

    async def _annotate(self, node: Node, below: Sequence[bool]) -> bool:
        """Annotate a section, after its subsections' results `below`; return True if it is complete."""
        is_complete = all(below)
        if not self._is_left_out(node):
            needs = self._needs.get(id(node)) or self._finder.needs_of(node)
            values = dict(needs.values)
            if needs.requested and not is_complete:
                self._waiting += 1
                self._ask_again(node, needs.requested)
            elif needs.requested:
                replies = await self._request_annotation(node, needs)
                is_complete = "summary" not in needs.requested or "summary" in replies
                values |= replies
                self._ask_again(node, [key for key in needs.requested if key not in replies])
            self._apply(node, needs, values)
        if self.progress:
            self.progress.advance()
        return is_complete

    def _ask_again(self, node: Node, keys: Sequence[str]) -> None:
        """Mark keys that were not renewed for the next run."""
        if self.refresh:
            renewed = {key: ["refresh", pair[1]] for key in keys if (pair := hash_pair(node.properties, key))}
            self._write(node, {HASHES: short_hashes({**read_hashes(node.properties), **renewed})} if renewed else {})

    async def _request_annotation(self, node: Node, needs: SectionNeeds) -> dict[str, Any]:
        self.tally.names.add(self.annotator.name)
        try:
            annotation = await self.annotator.annotate(needs.section, needs.requested, needs.instead)
        except ModelError as error:
            self._failed.append((node.line, error))
            self.tally.failed += 1
            return {}
        self._failed += [(node.line, error) for error in annotation.refused.values()]
        self.tally.failed += bool(annotation.refused)
        for remark in annotation.remarks:
            self.logger.info(remark, node.line)
        empty = DELETED if self.annotator.name == STAND_IN else None  # so that a model is asked later
        replies = {"questions": annotation.questions or empty, "summary": annotation.summary or empty}
        replies = {key: replies[key] for key in needs.requested if key not in annotation.refused}
        self._count(node, needs, replies)
        return replies

    def _count(self, node: Node, needs: SectionNeeds, replies: dict[str, Any]) -> None:
        if any(value is not DELETED for value in replies.values()):
            self._annotated.add(id(node))
            self.tally.written += 1
        elif self.annotator.name == STAND_IN:
            self.tally.empty += not isinstance(node, HeaderNode) or bool(needs.section.lead)

    def finish(self) -> list[Block]:
        """Return the document, unchanged if only the header would be completed."""
        if self._tree is None:
            return self._original
        self._report()
        finished = self._finish(self._tree)
        is_header_alone = serialize_blocks(finished) == serialize_blocks(self._blocks)
        return self._original if is_header_alone and not self._may_complete_header() else finished

    def _may_complete_header(self) -> bool:
        asks_for_ids = not (self.opts.questions or self.opts.summaries)
        has_ids = any(key in header_content(self._original) for key in ("~title", "~docid"))
        return asks_for_ids or (has_ids and not self._failed)

    def _finish(self, tree: HeadingNode) -> list[Block]:
        self._sign(tree)
        annotated = self._originals.fold(tree_to_blocks(tree))
        if [*map(id, annotated)] == [*map(id, self._blocks)]:
            return self._blocks
        try:
            if not self.verbatim:
                emptied = emptied_blocks(self._blocks, annotated)
                return settle(self._blocks, [block for block in annotated if id(block) not in emptied])
            settled = settle_safely(self._blocks, mark_tight(self._blocks, annotated))
            emptied = emptied_blocks(self._blocks, settled)
            return take_out(settled, emptied)[0] if emptied else settled
        except MarkdownError as error:
            self.logger.error(f"not annotated: {error}")
            return self._blocks

    def _report(self) -> None:
        stopped = [error for _, error in self._failed if error.stop]
        for lines, message in _group_by_reason([failure for failure in self._failed if not failure[1].stop]):
            sections = f"{len(lines)} sections" if len(lines) > 1 else "section"
            place = f" (lines {', '.join(map(str, lines[:_LINES_SHOWN]))}{', …' if len(lines) > _LINES_SHOWN else ''})"
            self.logger.error(f"{sections} not annotated{place if len(lines) > 1 else ''}: {message}", lines[0])
        if stopped:
            self.logger.error(f"{counted(len(stopped) + self._waiting, 'section')} not annotated: {stopped[0]}")
        elif self._waiting:
            self.logger.info(f"{counted(self._waiting, 'section')} above wait for those that failed; run again")
        if self._stale:
            self._report_stale(sorted(set(self._stale)))
        if self._awaiting_model:
            self.logger.info(
                f"{counted(self._awaiting_model, 'section')} changed since a model annotated them; "
                "their annotations are kept until a model is there"
            )

    def _report_stale(self, stale: Sequence[tuple[int, str]]) -> None:
        first, key = stale[0]
        facts, they, places = f"~{key} was corrected by hand and its text has", "it still fits", ""
        if len(stale) > 1:
            facts, they = f"{len(stale)} annotations were corrected by hand and their texts have", "they still fit"
            places = f" ({', '.join(f'~{key} at line {line}' for line, key in stale)})"
        self.logger.info(f"{facts} changed since: see whether {they}; what you delete is written again{places}", first)

    def _sign(self, tree: HeadingNode) -> None:
        """Write the annotator's name into header or sections.

        A model takes precedence over the stand-in in the header; sections name a stand-in that the header does not
        name, or anyone if it names none.
        """
        if not self.open:
            return
        name = self.annotator.name
        makers = {id(node): self._finder.maker(node) for node in self._parts} | dict.fromkeys(self._annotated, name)
        signer = str(tree.properties.get(MAKER) or "")
        if not self._is_left_out(tree) and signer == STAND_IN and not any(map(_is_annotated, self._parts)):
            self._write(tree, {MAKER: DELETED})
        elif not self._is_left_out(tree) and self._annotated and (signer in ("", STAND_IN) or name != STAND_IN):
            self._write(tree, {MAKER: name} if signer != name else {})
            signer = name
        for node in self._parts:
            if node is not tree and id(node) not in self._closed:
                maker = makers[id(node)]
                self._sign_section(node, maker if maker != signer and (maker == STAND_IN or not signer) else "")

    def _sign_section(self, node: Node, maker: str) -> None:
        own = maker if maker and _is_annotated(node) else DELETED
        if node.properties.get(MAKER, DELETED) != own:
            self._write(node, {MAKER: own})

    def planned(self) -> list[PlannedRequest]:
        """Return the requests of a run after `start`."""
        requests = []
        for node in self.open:
            if not self._is_left_out(node):
                needs = self._needs.get(id(node)) or self._finder.needs_of(node)
                keys = needs.requested or self._finder.changeable_keys(node)
                tokens = self.annotator.cost(needs.section, keys) if keys else 0
                requests.append(PlannedRequest(node.line, needs.section.titles, keys, tokens, bool(needs.requested)))
        return [request for request in requests if request.wanted]


def _group_by_reason(failed: Sequence[tuple[int, ModelError]]) -> Iterator[tuple[list[int], str]]:
    groups: dict[str, tuple[list[int], str]] = {}
    for line, error in sorted(failed, key=lambda failure: failure[0]):
        lines, _ = groups.setdefault(_QUOTED.sub("", str(error)), ([], str(error)))
        lines.append(line)
    yield from groups.values()


def _is_annotated(node: Node) -> bool:
    return any(hash_pair(node.properties, key) for key in ("questions", "summary"))
