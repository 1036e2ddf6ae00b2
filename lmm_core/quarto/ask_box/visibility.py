"""Remove text that Quarto does not show: conditional content and hidden code.

https://quarto.org/docs/authoring/conditional.html,
https://quarto.org/docs/reference/cells/cells-knitr.html#code-output"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...markdown.blocks import Attributes, parse_attributes
from ...markdown.divs import Part, find_cuts, without
from ...markdown.metadata.body import parse_metadata
from ...markdown.regions import split_fences
from ...retrieve.plain_text import CELL_OPTION
from ...settings.quarto_project import mapping_in

HTML = frozenset({"html", "html4", "html5", "html:js"})
_SPAN = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\](\{[^{}\n]*\.content-(?:hidden|visible)\b[^{}\n]*\})")
_CELL = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*\{(?P<language>[A-Za-z][\w-]*)(?P<options>[^{}\n]*)\}")
_OFF = re.compile(r"\b(?:echo|include)\s*=\s*F(?:ALSE)?\b")
_COMPUTED = re.compile(r"`(?:r|\{\w+\}) [^`\n]+`")


@dataclass(frozen=True, slots=True)
class PageConditions:
    """Conditions for the visibility of content.

    profiles: of the render
    metadata: document's, merged over the project's
    runs: code is executed (all documents but .md)"""

    profiles: frozenset[str]
    metadata: Mapping[str, Any]
    runs: bool

    def visible_text(self, source: str) -> str:
        source = self._without_divs(source)
        pieces = (self._code(piece) if is_code else self._words(piece) for is_code, piece in split_fences(source))
        return "".join(pieces)

    def _without_divs(self, source: str) -> str:
        hidden = [(cut.start, cut.end) for cut in find_cuts(source, self._goes) if cut.part is not None]
        return without(source, hidden)  # metadata divs are read later

    def _goes(self, part: Part) -> bool | None:
        return None if part.metadata is not None else self.hides(part.attributes)

    def hides(self, attributes: Attributes) -> bool:
        """Return True if a div or span with these attributes is hidden."""
        if "content-hidden" in attributes.classes:
            return self._holds(attributes.pairs)
        return "content-visible" in attributes.classes and not self._holds(attributes.pairs)

    def _holds(self, pairs: Mapping[str, str]) -> bool:
        conditions = {"format": HTML.__contains__, "profile": self.profiles.__contains__, "meta": self._is_set}
        for key, value in pairs.items():
            word, _, name = key.partition("-")
            if word in ("when", "unless") and name in conditions and conditions[name](value) != (word == "when"):
                return False
        return True

    def _is_set(self, path: str) -> bool:
        found: Any = self.metadata
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return bool(found)

    def _words(self, text: str) -> str:
        if ".content-" in text:
            text = _SPAN.sub(lambda span: "" if self.hides(parse_attributes(span[1])) else span[0], text)
        return _COMPUTED.sub("", text) if self.runs else text

    def _code(self, cell: str) -> str:
        head = _CELL.match(cell)
        if head is None or not self.runs:
            return cell
        own = parse_metadata("\n".join(CELL_OPTION.findall(cell))).content or {}
        options = {**mapping_in(self.metadata, "execute"), **own}
        is_off = False in (options.get("echo"), options.get("include")) or _OFF.search(head["options"])
        return "" if is_off else CELL_OPTION.sub("", cell)
