"""The context of a question: the text that a block annotates, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...markdown.blocks import ErrorBlock, trim_blank_lines
from ...markdown.tree import HeadingNode, Node, TextNode, traverse
from ..annotations.sections import nearest_summary
from ..knit import strip_metadata

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text for a prompt, and the titles of the sections that it leaves out or cuts short."""

    text: str
    left_out: tuple[str, ...] = ()


@dataclass
class _SectionUnit:
    """A section without its subsections."""

    title: str
    heading: str
    texts: list[str] = field(default_factory=list)
    summary: str = ""

    @property
    def text(self) -> str:
        """The heading and the texts, as paragraphs."""
        return "\n\n".join(filter(None, [self.heading, *self.texts]))


def summary_around(node: Node) -> str:
    """Return the summary that the nearest section around a paragraph has in its metadata; "" for a section.

    None is made for it: what the model is shown costs what it says."""
    if isinstance(node, HeadingNode):
        return ""
    return nearest_summary(reversed(node.ancestors))


def fit_text(node: Node, budget: int, count: Count) -> PromptText:
    """Return the text of a node (of a section with its subsections) without metadata, in at most
    `budget` tokens by `count`.

    A text that is too long loses its last sections first; a summary stands for a section that has
    one. No block is cut.
    """
    units = list(_units(node))
    sizes = [count(unit.text) for unit in units]
    cut: list[str] = []
    for at in range(len(units) - 1, -1, -1):
        if sum(sizes) <= budget:
            break
        unit = units[at]
        if _shorten(unit, budget - sum(sizes[:at]), count):
            cut.append(unit.title or "(the beginning)")
        sizes[at] = count(unit.text)
    return PromptText("\n\n".join(filter(None, (unit.text for unit in units))), tuple(reversed(cut)))


def _shorten(unit: _SectionUnit, room: int, count: Count) -> bool:
    """Leave out the last texts of a section until it fits into `room`; its summary stands for them
    if none is left. Return True if something is left out."""
    sizes = [count(text) for text in unit.texts]
    kept = len(sizes)
    while kept and count(unit.heading) + sum(sizes[:kept]) > room:
        kept -= 1
    unit.texts = unit.texts[:kept] or ([unit.summary] if sizes and unit.summary else [])
    return kept < len(sizes)


def _units(node: Node) -> Iterator[_SectionUnit]:
    """Yield the sections in a node in their order; one for a single text."""
    units: dict[int, _SectionUnit] = {}
    for part in traverse(node):
        if isinstance(part, HeadingNode):
            heading = trim_blank_lines(part.heading.source.lstrip("\ufeff")) if part.heading else ""
            summary = part.get("summary")
            units[id(part)] = _SectionUnit(part.written_title, heading, [], summary if isinstance(summary, str) else "")
        elif isinstance(part, TextNode) and not isinstance(part.block, ErrorBlock):
            unit = units.setdefault(id(part) if part is node else id(part.parent), _SectionUnit("", ""))
            unit.texts.append(strip_metadata(part.content).strip("\n"))
    yield from units.values()
