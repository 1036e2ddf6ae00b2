"""All mistakes in a document, for the commands that show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...logging import LoggerBase
from ...markdown.blocks import Block, HeadingBlock, MetadataBlock, Problem, header_content
from ...markdown.edits import broken_edits, restore_originals
from ...markdown.metadata.keys import ABOUT_TEXT
from ...markdown.parse import DIV_UNDER_TEXT
from ...markdown.tree import HeaderNode, HeadingNode, MarkdownTree, Node, TextNode, blocks_to_tree, traverse
from ...markdown.visibility import KnitRules, header_rules
from .finding import ERRORS, Finding, report_findings
from .header_keys import find_header_keys, find_unchecked_import
from .marks import find_merge_conflicts, find_no_colons
from .near_misses import find_slips
from .texts import read_texts
from .type_words import find_type_slips
from .unreadable import errors_in

# What the passes report by themselves: blocks that cannot be read, and what their readers say
_SAID_BY_PASSES = {"unreadable-block", "no-fence", "not-closed", "refused-option", "broken-edit", "header-value"}
# What is wrong with the annotations, and with what is found in the index
FOR_ANNOTATIONS = {*ERRORS, "type-word", "header-key", "empty-section", "no-title"} - _SAID_BY_PASSES - {"no-block"}
FOR_INDEX = {*ERRORS, "type-word", "header-key", "no-title"} - _SAID_BY_PASSES

NO_TEXT = "this metadata is about a section without text: write the text, or take the block out"
NO_TEXT_AT_END = "this metadata is about nothing, because no text follows: put it before the part that it is about"
NO_TITLE = "a heading without a title: write one after the {}, or take the line out"


def find_mistakes(
    blocks: Sequence[Block],
    problems: Iterable[Problem] = (),
    rules: KnitRules | None = None,
    used: Mapping[str, int] | None = None,
) -> list[Finding]:
    """Return what is probably wrong in a document, by line.

    problems: those of the parser; rules: of the project, with the types of its documents; used:
    how many parts of the project have each type."""
    rules = header_rules(header_content(blocks), rules or KnitRules())
    texts, tree = [*read_texts(blocks)], blocks_to_tree(restore_originals(blocks).blocks)
    found = [*map(_of_parser, problems), *errors_in(blocks, texts), *find_slips(blocks, tree, texts, rules)]
    found += [Finding(one.line, "broken-edit", one.message) for one in broken_edits(blocks)]
    found += [*find_no_colons(blocks, texts), *find_type_slips(blocks, texts, rules, used)]
    found += [*find_header_keys(blocks), *_find_empty_parts(blocks, tree), *find_merge_conflicts(blocks, texts)]
    found += find_unchecked_import(blocks)
    return sorted(_once(found), key=lambda one: one.line)


def report_concerns(
    blocks: Sequence[Block], rules: KnitRules | None, codes: Collection[str], logger: LoggerBase
) -> None:
    """Report the mistakes with some codes, but not what the parser has said about divs, as warnings: the work goes
    on."""
    found = find_mistakes(blocks, rules=rules)
    concerns = [one for one in found if one.code in codes and not one.message.startswith(DIV_UNDER_TEXT)]
    report_findings(concerns, logger, "warning")


def find_unread_requests(blocks: Sequence[Block], problems: Iterable[Problem], signs: str) -> list[Finding]:
    """Return the mistakes because of which a question, message or edit is not read.

    signs: those that matter, of `?`, `+` and `=`. The arguments are else those of `find_mistakes`."""
    return [one for one in find_mistakes(blocks, problems) if not {*signs}.isdisjoint(one.asks)]


def _of_parser(problem: Problem) -> Finding:
    under_text = problem.message.startswith(DIV_UNDER_TEXT)
    return Finding(problem.line, "no-blank-line" if under_text else "not-closed", problem.message)


def _once(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings, each once; what is reported in another way is not reported again."""
    kept: dict[tuple[int, str], Finding] = {}
    for one in found:
        first = kept.setdefault((one.line, one.code), one)
        kept[one.line, one.code] = replace(first, asks="".join(dict.fromkeys(first.asks + one.asks)))
    told = {one.line for one in kept.values() if one.code == "no-blank-line" or one.asks}
    unreadable = {one.line for one in kept.values() if one.code == "unreadable-block"}
    silent = {"stray-colons": told, "not-closed": unreadable}
    return [one for one in kept.values() if one.line not in silent.get(one.code, ())]


# Metadata about nothing, and headings without a title


def _find_empty_parts(blocks: Sequence[Block], tree: MarkdownTree) -> Iterator[Finding]:
    """Yield the blocks about sections and places without text, and the headings without a title.

    A block that asks something is passed over: a writer may ask for a text that is not there yet."""
    for block in blocks:
        if isinstance(block, HeadingBlock) and not block.source.strip("\ufeff# \t\r\n"):
            yield Finding(block.line, "no-title", NO_TITLE.format("#" * block.level))
    for node in traverse(tree):
        if node.metadata and not isinstance(node, HeaderNode) and not _has_text(node) and _describes(node.metadata):
            message = NO_TEXT if isinstance(node, HeadingNode) else NO_TEXT_AT_END
            yield Finding(node.metadata[0].line, "empty-section", message)


def _has_text(node: Node) -> bool:
    return any(isinstance(one, TextNode) and one.block is not None for one in traverse(node))


def _describes(metadata: Sequence[MetadataBlock]) -> bool:
    keys = {key for block in metadata for key in block.content if not key.startswith("~~")}
    names = {key.lstrip("~").removesuffix("=") for key in keys}
    return not any(block.messages for block in metadata) and not names.isdisjoint(ABOUT_TEXT)
