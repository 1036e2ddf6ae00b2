"""The table of contents of a material: titles, types, summaries and reading times."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..logging import printable
from ..retrieve.items import is_solution, items_under
from ..retrieve.passages import Material, Passage, Section

# Words in a minute of reading in order to learn, which is slower than the 238 of silent
# reading: R. P. Carver, "Reading rate: theory, research, and practical implications",
# Journal of Reading 36 (1992); M. Brysbaert, "How many words do we read per minute?",
# Journal of Memory and Language 109 (2019).
WORDS_A_MINUTE = 200
WIDTH = 88  # characters
_WORD = re.compile(r"[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+(?:['’.,-][^\W぀-ヿ㐀-鿿]+)*")
_KEPT = re.compile(r"(\$[^$]+\$|`[^`]+`)")  # no markup inside
_ATTRIBUTES = re.compile(r"\s*\{[^{}]*\}\s*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\{[^{}]*\})")
_MARK = re.compile(
    r"(?<![\w\\])([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)|~~(.+?)~~|\\([^\w\s])|\[\^[^\]]*\]|</?[A-Za-z][^<>]*>"
)


@dataclass(frozen=True)
class OutlineEntry:
    """A line of a table of contents. `level` is 0 for documents; `minutes` of
    reading are its subsections', too; `kinds` counts its typed parts, and those of subsections
    that have no line of their own."""

    id: str
    title: str
    level: int
    place: str
    anchor: str
    minutes: float
    kinds: dict[str, int] = field(default_factory=dict)
    summary: str = ""


def make_outline(material: Material, level: int = 0) -> list[OutlineEntry]:
    """The table of contents of a material, in its order; level: how deep it goes (1:
    documents alone, 0: all). A document that is one section counts as this section."""
    return [entry for document in material.documents for entry in _entries(document, 0, level)]


def _entries(section: Section, depth: int, level: int) -> Iterator[OutlineEntry]:
    inner = unfolded(section)
    children = inner.children if depth + 1 < level or not level else []
    shown = {id(part) for child in children for part in child.walk()}
    items = [] if is_solution(inner.title) else items_under(section)
    kinds = Counter(item.kind for item in items if id(item.section) not in shown)
    minutes = reading_minutes(section.all_passages())
    summary = section.summary or inner.summary
    yield OutlineEntry(
        inner.name, plain_title(inner.title), depth, section.place, inner.anchor, minutes, dict(kinds), summary
    )  # fmt: skip
    for child in children:
        yield from _entries(child, depth + 1, level)


def unfolded(section: Section) -> Section:
    """A document's only section, where the document has no title, or the same; else what is
    given."""
    if section.path or len(section.children) != 1:
        return section
    (only,) = section.children
    same = not section.titles or plain_title(section.title).casefold() == plain_title(only.title).casefold()
    return only if same else section


def reading_minutes(passages: Sequence[Passage]) -> float:
    """How long the passages take to read, in minutes. A sign of Chinese or Japanese counts
    as a word."""
    return sum(len(_WORD.findall(passage.text)) for passage in passages) / WORDS_A_MINUTE


def plain_title(title: str) -> str:
    """A title without markup, attributes, and what would steer a terminal; formulas stay."""
    parts = _KEPT.split(_ATTRIBUTES.sub("", " ".join(title.split())))
    shown = [part.strip("`") if at % 2 else _without_marks(part) for at, part in enumerate(parts)]
    return printable("".join(shown)).strip()


def _without_marks(text: str) -> str:
    text = _LINK.sub(r"\1", text)
    for _ in range(3):  # bold in italics, in what a link had
        text = _MARK.sub(lambda found: found[2] or found[3] or found[4] or "", text)
    return text


def show_outline(entries: Sequence[OutlineEntry], summaries: bool = False, width: int = WIDTH) -> str:
    """The table of contents as text: the time of a part first, what is typed in it in
    brackets; with `summaries`, those below. width: of the screen, in characters."""
    times = [show_minutes(entry.minutes) for entry in entries]
    margin = max(map(len, times), default=0)
    lines = []
    for entry, time in zip(entries, times, strict=True):
        marks = f"  [{show_kinds(entry.kinds)}]" if entry.kinds else ""
        file = f"  ({entry.place.rpartition(':')[0]})" if not entry.level else ""
        lines.append(f"{time:>{margin}}  {'  ' * entry.level}{entry.title}{marks}{file}")
        if summaries and entry.summary:
            indent = " " * (margin + 4 + 2 * entry.level)
            lines.append(fill(printable(entry.summary), indent, width))
    return "".join(f"{line}\n" for line in lines)


def fill(text: str, indent: str, width: int) -> str:
    """A text in lines of some width, each indented."""
    return textwrap.fill(
        " ".join(text.split()), max(width, len(indent) + 20), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def show_kinds(kinds: dict[str, int]) -> str:
    """What is in a part: `definition, 2 × exercise`."""
    return ", ".join(kind if count == 1 else f"{count} × {kind}" for kind, count in sorted(kinds.items()))


def show_minutes(minutes: float) -> str:
    """A time as it is read: `1 min`, `2 h 5 min`."""
    whole = max(round(minutes), 1)
    hours, rest = divmod(whole, 60)
    return " ".join(filter(None, [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]))
