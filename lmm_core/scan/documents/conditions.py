"""Remove text that a page does not show: conditional content and hidden code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...files.walk import NOTEBOOK
from ...markdown.blocks import Attributes, Block, TextBlock, parse_attributes
from ...markdown.divs import Part, find_cuts, without
from ...markdown.metadata.body import parse_metadata
from ...markdown.regions import split_fences
from ...settings.quarto_project import active_profiles, mapping_in
from ..knit import LEFT_OUT

WITH_CELLS = (".qmd", ".rmd", ".rmarkdown", NOTEBOOK)  # documents with executable code
HTML = frozenset({"html", "html4", "html5", "html:js"})
CELL_OPTION = re.compile(r"^[ \t]*(?:#|//|--|%%?)\|[ \t]?(.*)\n?", re.M)
_SPAN = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\](\{[^{}\n]*\.content-(?:hidden|visible)\b[^{}\n]*\})")
_CELL = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*\{(?P<language>[A-Za-z][\w-]*)(?P<options>[^{}\n]*)\}")
_OFF = re.compile(r"\b(?:echo|include)\s*=\s*F(?:ALSE)?\b")
_COMPUTED = re.compile(r"`(?:r|\{\w+\}) [^`\n]+`")


@dataclass(frozen=True, slots=True)
class PageConditions:
    """The state of a render that decides which content a page shows.

    metadata: of the document, merged over the project's
    runs: True if code cells are executed (in all documents except .md)
    lines: True to leave an empty line for each hidden one, so that line numbers stay"""

    profiles: frozenset[str]
    metadata: Mapping[str, Any]
    runs: bool
    lines: bool = False

    def visible_text(self, source: str) -> str:
        """Return the part of a text block's source that the page shows."""
        if "content-" in source:
            hidden = [(cut.start, cut.end) for cut in find_cuts(source, self._hides_div) if cut.part is not None]
            source = without(source, hidden, lines=self.lines)
        pieces = (
            self._visible_code(piece) if is_code else self._visible_prose(piece)
            for is_code, piece in split_fences(source)
        )
        return "".join(pieces)

    def _hides_div(self, part: Part) -> bool | None:
        """Return None for a metadata div, which is read later."""
        return None if part.metadata is not None else self.hides(part.attributes)

    def hides(self, attributes: Attributes) -> bool:
        """Return True if a div or span with these attributes is hidden."""
        if "content-hidden" in attributes.classes:
            return self._are_met(attributes.pairs)
        return "content-visible" in attributes.classes and not self._are_met(attributes.pairs)

    def _are_met(self, pairs: Mapping[str, str]) -> bool:
        """Return True if all conditions in attributes (`when-format="html"`) are met."""
        conditions = {"format": HTML.__contains__, "profile": self.profiles.__contains__, "meta": self._is_set}
        for key, value in pairs.items():
            word, _, name = key.partition("-")
            if word in ("when", "unless") and name in conditions and conditions[name](value) != (word == "when"):
                return False
        return True

    def _is_set(self, path: str) -> bool:
        """Return True if a metadata key, joined by points, is set."""
        value: Any = self.metadata
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return bool(value)

    def _visible_prose(self, text: str) -> str:
        if ".content-" in text:
            text = _SPAN.sub(lambda span: "" if self.hides(parse_attributes(span[1])) else span[0], text)
        return _COMPUTED.sub(LEFT_OUT, text) if self.runs else text

    def _visible_code(self, cell: str) -> str:
        head = _CELL.match(cell)
        if head is None or not self.runs:
            return cell
        own = parse_metadata("\n".join(CELL_OPTION.findall(cell))).content or {}
        options = {**mapping_in(self.metadata, "execute"), **own}
        is_off = False in (options.get("echo"), options.get("include")) or _OFF.search(head["options"])
        if is_off:
            return "\n" * cell.count("\n") if self.lines else ""
        return cell if self.lines else CELL_OPTION.sub("", cell)


def visible_blocks(
    blocks: Sequence[Block], path: Path, metadata: Mapping[str, Any], lines: bool = False
) -> list[Block]:
    """Return a document's blocks as its page shows them; see `PageConditions`."""
    conditions = PageConditions(frozenset(active_profiles()), metadata, path.suffix.lower() in WITH_CELLS, lines)
    return [
        replace(block, source=conditions.visible_text(block.source)) if isinstance(block, TextBlock) else block
        for block in blocks
    ]
