"""The RAG pass: questions and summaries for each section, summary for the whole.

A section shows the annotator its own text and the summaries of its subsections, so
that it comes after them. What is made is written with hashes of what it was made
from, so that only what has changed is made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import MarkdownError, ModelError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MetadataBlock, Spelling
from ..markdown.edits import broken_edits, open_edit
from ..markdown.metadata.body import DELETED
from ..markdown.metadata.ownership import HASHES, hash_pair
from ..markdown.originals import Unfolded, unfold_edits
from ..markdown.rag_only import KnitRules, node_block
from ..markdown.spelling import edit_block, settle, settle_safely
from ..markdown.tree import HeaderNode, HeadingNode, Node, blocks_to_tree, sections, traverse, tree_to_blocks
from ..models.annotators.annotator import Annotation, Annotator, AnnotatorSection, stand_in
from ..models.sources import STAND_IN_NAME as STAND_IN
from .annotations.identify import identities
from .annotations.lm_markdown import report_foreign
from .annotations.sections import SectionTexts, closed_parts, source_hash
from .header import is_list_header
from .options import ScanOpts
from .system_keys import State, first_newline, key_state, nearest_spellings, set_values, write_keys

MAKER = "~~annotator"


class Progress(Protocol):
    """What is told how far the asking has come, in sections."""

    def expect(self, count: int) -> None:
        """So many more will be looked at."""
        ...

    def advance(self) -> None:
        """One has been looked at."""
        ...


def scan_rag(
    blocks: Sequence[Block],
    opts: ScanOpts | None = None,
    annotator: Annotator | None = None,
    docid: str = "",
    spelling: Spelling = "div",
    rules: KnitRules | None = None,
    verbatim: bool = True,
    refresh: bool = False,
    logger: LoggerBase | None = None,
) -> list[Block]:
    """The document with its annotations.

    annotator: the extractive stand-in where none is given. docid: for ids, where
    the header has none. spelling: of new blocks in a document that has none.
    rules: which divs are RAG-only; such material goes into no summary.
    verbatim: whether the blocks are the text itself, and not a stand-in for Pandoc's
    elements; then it is made sure that the new text has the same blocks.
    refresh: make again what the system has written, also where its text is the same.
    What the annotator cannot do is reported, and left as it is."""
    run = RagRun(
        opts or ScanOpts(), annotator or stand_in(), docid, spelling, rules or KnitRules(), verbatim,
        refresh, logger or ConsoleLogger(),
    )  # fmt: skip
    run.start(blocks)
    if run.open:
        from ..models.chat import run as run_async

        run_async(run.ask_and_close())
    return run.finish()


@dataclass
class Wish:
    """What a section needs: `values` are keys to be written as they are (`DELETED`:
    removed), `wanted` keys to ask the annotator for, `instead` what they replace though
    the text is the same, `stale` corrected keys whose text has changed, `kept` keys of a
    model that only a model may make again."""

    section: AnnotatorSection
    source: str
    values: dict[str, Any] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    instead: str = ""
    stale: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Planned:
    """A request that a run would make. `tokens` would be sent, as far as is known;
    `certain` is false where it depends on what is said of the sections below."""

    line: int
    titles: tuple[str, ...]
    wanted: list[str]
    tokens: int
    certain: bool


@dataclass
class RagRun:
    """One run over a document, in three steps, of which the second waits for the
    annotator and is left out where nothing is `open`. The fields up to `logger` are
    the arguments of `scan_rag`."""

    opts: ScanOpts
    annotator: Annotator
    docid: str
    spelling: Spelling
    rules: KnitRules
    verbatim: bool
    refresh: bool
    logger: LoggerBase
    progress: Progress | None = None
    open: list[HeadingNode] = field(default_factory=list, init=False)
    _blocks: list[Block] = field(default_factory=list, init=False)
    _tree: HeadingNode | None = field(default=None, init=False)
    _unfolded: Unfolded = field(default_factory=lambda: Unfolded([], {}), init=False)
    _newline: str = field(default="\n", init=False)
    _spellings: dict[int, Spelling] = field(default_factory=dict, init=False)
    _closed: set[int] = field(default_factory=set, init=False)
    _made: set[int] = field(default_factory=set, init=False)
    _failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    _waiting: int = field(default=0, init=False)
    _kept: int = field(default=0, init=False)

    # First: what needs nobody

    def start(self, blocks: Sequence[Block]) -> None:
        """Take a document, and do what can be done without asking. One whose header is a
        list, or with markers of edits that do not fit together, is left alone: the
        header pass reports it. Edits that are not decided count as their old texts."""
        self._blocks = list(blocks)
        self._unfolded = unfold_edits(blocks)
        left_alone = is_list_header(blocks) or broken_edits(blocks)
        self._tree = tree = None if left_alone else blocks_to_tree(self._unfolded.blocks)
        if tree is None:
            return
        self._prepare(tree)
        self._closed = closed_parts(tree)
        self._texts = SectionTexts(tree, self.rules)
        waiting: set[int] = set()  # sections that show a summary that is still to be made
        for node in sections(tree, post=True):
            wanted = [] if id(node) in waiting or self._is_left_out(node) else self._begin(node)
            if wanted or id(node) in waiting:
                self.open.append(node)
            if node.parent is not None and ("summary" in wanted or id(node) in waiting):
                waiting.add(id(node.parent))

    def _begin(self, node: HeadingNode) -> list[str]:
        """The keys that a section has to be asked for; it is done where there are none."""
        wish = self._wish(node)
        if not wish.wanted:
            self._apply(node, wish, wish.values)
        return wish.wanted

    def _prepare(self, tree: HeadingNode) -> None:
        nodes = list(traverse(tree))
        self._newline = first_newline(self._blocks)
        self._spellings = dict(zip(map(id, nodes), nearest_spellings(nodes, self.spelling), strict=True))
        if not tree.metadata and len(nodes) > 1:
            self._spellings[id(nodes[1])] = "div"  # a native block at the very start would be the header
        if self.opts.remove_messages:
            for node in nodes:
                node.metadata = [kept for block in node.metadata if (kept := self._without_messages(block)) is not None]

    def _without_messages(self, block: MetadataBlock) -> MetadataBlock | None:
        """`without_messages`, but for blocks of edits that are not decided."""
        waits = id(block) in self._unfolded.regions or open_edit(block) is not None
        return block if waits else without_messages(block)

    def _is_proposed(self, node: Node) -> bool:
        """Whether a node's metadata stands (or would stand) in an edit that is not decided."""
        inside = self._unfolded.regions
        if node.metadata:
            return id(node.metadata[-1]) in inside
        return id(node_block(node)) in inside

    def _is_left_out(self, node: HeadingNode) -> bool:
        headless = isinstance(node, HeaderNode) and not node.metadata
        return headless or id(node) in self._closed or self._is_proposed(node)

    def _wish(self, node: HeadingNode) -> Wish:
        """What a section needs, as things stand now."""
        section = self._texts.section(node)
        wish = Wish(section, source_hash(section))
        for key, threshold in self._keys(node):
            self._sort_key(node, key, threshold, wish)
        if self.opts.titles and not isinstance(node, HeaderNode):
            self._add_titles(node, wish)
        return wish

    def _sort_key(self, node: HeadingNode, key: str, threshold: int, wish: Wish) -> None:
        """Put a key where it belongs in the wish."""
        state = key_state(node.properties, key, wish.source)
        by_stand_in = self._maker(node) == STAND_IN
        current = state is State.CURRENT
        if current and (self.refresh or (by_stand_in and self.annotator.name != STAND_IN)):
            state = State.OUTDATED
        if state is State.STALE:
            wish.stale.append(key)
        elif self._texts.words[id(node)] < threshold:
            if state in (State.CURRENT, State.OUTDATED):
                wish.values[key] = DELETED
        elif state is State.OUTDATED and self._is_a_models(node):
            wish.kept.append(key)
        elif state in (State.MISSING, State.OUTDATED):
            wish.wanted.append(key)
            pair = hash_pair(node.properties, key)
            wish.instead += pair[1] if pair and pair[0] == wish.source and not by_stand_in else ""

    def _keys(self, node: HeadingNode) -> list[tuple[str, int]]:
        """Annotations that a section may get, and from how many words on."""
        keys = []
        if self.opts.questions and not isinstance(node, HeaderNode):
            keys.append(("questions", self.opts.questions_threshold))
        if self.opts.summaries:
            keys.append(("summary", self.opts.summary_threshold))
        return keys

    def _add_titles(self, node: HeadingNode, wish: Wish) -> None:
        path = " - ".join(wish.section.titles)
        state = key_state(node.properties, "titles", "")
        if state in (State.MISSING, State.CURRENT, State.OUTDATED) and node.properties.get("~titles") != path:
            wish.values["titles"] = path

    def _apply(self, node: HeadingNode, wish: Wish, values: dict[str, Any]) -> None:
        self._write(node, set_values(node.properties, values, dict.fromkeys(values, wish.source)))
        for key in wish.stale:
            self.logger.info(f"~{key} was corrected by hand and its text has changed since", node.line)
        self._kept += bool(wish.kept)
        report_foreign(node, self.logger)

    def _write(self, node: Node, changes: dict[str, Any]) -> None:
        if not self._is_proposed(node):
            write_keys(node, changes, self._spellings[id(node)], self._newline, self.logger)

    # Second: what the annotator is asked for

    async def ask_and_close(self) -> None:
        """`ask`, for a run that has the annotator for itself."""
        try:
            await self.ask()
        finally:
            await self.annotator.close()

    async def ask(self) -> None:
        """Annotate all open sections, each as soon as those below it are done."""
        import asyncio

        if self.progress:
            self.progress.expect(len(self.open))
        tasks: dict[int, asyncio.Task[bool]] = {}
        for node in self.open:
            below = [tasks[id(child)] for child in node.sections if id(child) in tasks]
            tasks[id(node)] = asyncio.create_task(self._annotate(node, below))
        await asyncio.gather(*tasks.values())

    async def _annotate(self, node: HeadingNode, below: Sequence[Any]) -> bool:
        """Whether a section is as it should be. One that stands over a section that
        failed waits for it: asked now, it would be asked once more in the next run."""
        done = all([await task for task in below])
        if not self._is_left_out(node):
            wish = self._wish(node)
            values = dict(wish.values)
            if wish.wanted and not done:
                self._waiting += 1
                self._ask_again(node, wish)
            elif wish.wanted:
                said = await self._say(node, wish)
                done = said is not None or "summary" not in wish.wanted
                values |= said or {}
                if said is None:
                    self._ask_again(node, wish)
            self._apply(node, wish, values)
        if self.progress:
            self.progress.advance()
        return done

    def _ask_again(self, node: HeadingNode, wish: Wish) -> None:
        """Have the next run ask for what this refresh did not get."""
        hashes = node.properties.get(HASHES)
        if self.refresh and isinstance(hashes, dict):
            left = {key: ["refresh", pair[1]] for key in wish.wanted if (pair := hash_pair(node.properties, key))}
            self._write(node, {HASHES: {**hashes, **left}} if left else {})

    async def _say(self, node: HeadingNode, wish: Wish) -> dict[str, Any] | None:
        """What the annotator says; None where it fails."""
        try:
            annotation = await self.annotator.annotate(wish.section, wish.wanted, wish.instead)
        except ModelError as error:
            self._failed.append((node.line, error))
            return None
        self._made.add(id(node))
        return _pick(annotation, wish.wanted)

    # Third: what is said of the whole

    def finish(self) -> list[Block]:
        """The document after the run."""
        tree = self._tree
        if tree is None:
            return self._blocks
        self._report()
        self._sign(tree)
        for node, values in identities(tree, self.opts, str(tree.get("docid") or self.docid)):
            self._write(node, values)
        made = self._unfolded.fold(tree_to_blocks(tree))
        if not self.verbatim:
            return settle(self._blocks, made)
        try:
            return settle_safely(self._blocks, made)
        except MarkdownError as error:
            self.logger.error(f"not annotated: {error}")
            return self._blocks

    def _report(self) -> None:
        stopped = [error for _, error in self._failed if error.stop]
        for line, error in sorted(self._failed, key=lambda failure: failure[0]):
            if not error.stop:
                self.logger.error(f"section not annotated: {error}", line)
        if stopped:
            self.logger.error(f"{_sections(len(stopped) + self._waiting)} not annotated: {stopped[0]}")
        elif self._waiting:
            self.logger.info(f"{_sections(self._waiting)} above wait for what failed; run again")
        if self._kept:
            self.logger.info(
                f"{_sections(self._kept)} changed since a model annotated them; kept until a model is there"
            )

    def _maker(self, node: HeadingNode) -> str:
        """Who has made a section's annotations: as it says itself, or the header."""
        assert self._tree is not None
        return str(node.properties.get(MAKER) or self._tree.properties.get(MAKER) or "")

    def _is_a_models(self, node: HeadingNode) -> bool:
        """Whether the stand-in would write over what a model has written, unasked."""
        return self.annotator.name == STAND_IN and self._maker(node) not in ("", STAND_IN) and not self.refresh

    def _sign(self, tree: HeadingNode) -> None:
        """Say who made what: the header names the annotator (a model rather than the
        stand-in); sections that the stand-in made name it where the header does not, and
        all do where there is no header to do so."""
        if not self._made:
            return
        name = self.annotator.name
        makers = {id(node): self._maker(node) for node in sections(tree)} | dict.fromkeys(self._made, name)
        named = str(tree.properties.get(MAKER) or "")
        if not self._is_left_out(tree) and (named in ("", STAND_IN) or name != STAND_IN):
            self._write(tree, {MAKER: name} if named != name else {})
            named = name
        for node in sections(tree):
            if node is not tree and id(node) not in self._closed:
                maker = makers[id(node)]
                self._sign_section(node, maker if maker != named and (maker == STAND_IN or not named) else "")

    def _sign_section(self, node: HeadingNode, maker: str) -> None:
        made = any(hash_pair(node.properties, key) for key in ("questions", "summary"))
        own = maker if maker and made else DELETED
        if node.properties.get(MAKER, DELETED) != own:
            self._write(node, {MAKER: own})

    # Beforehand

    def planned(self) -> list[Planned]:
        """The requests that a run would make, after `start`."""
        found = []
        for node in self.open:
            if not self._is_left_out(node):
                wish = self._wish(node)
                wanted = wish.wanted or [key for key, least in self._keys(node) if self._may_change(node, key, least)]
                tokens = self.annotator.cost(wish.section, wanted) if wanted else 0
                found.append(Planned(node.line, wish.section.titles, wanted, tokens, bool(wish.wanted)))
        return [request for request in found if request.wanted]

    def _may_change(self, node: HeadingNode, key: str, threshold: int) -> bool:
        """Whether a key would be made again if what the section shows changed."""
        state = key_state(node.properties, key, source_hash(self._texts.section(node)))
        return state is State.CURRENT and self._texts.words[id(node)] >= threshold and not self._is_a_models(node)


def without_messages(block: MetadataBlock) -> MetadataBlock | None:
    """The block without chat and edit keys and what was answered to them; None
    where nothing else is in it."""
    keys = {message.key for message in block.messages} | ({"~chat", "~~edit"} & set(block.content))
    return edit_block(block, dict.fromkeys(keys, DELETED)) if keys else block


def _pick(annotation: Annotation, wanted: list[str]) -> dict[str, Any]:
    """What was asked for; None where nothing is said."""
    said: dict[str, Any] = {"questions": annotation.questions, "summary": annotation.summary}
    return {key: said[key] or None for key in wanted}


def _sections(count: int) -> str:
    return "1 section" if count == 1 else f"{count} sections"
