"""Find misspelled keys, classes and attributes, which would publish a part that should be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...markdown.blocks import (
    Attributes,
    Block,
    MetadataBlock,
    count_lead,
    header_content,
    is_text,
)
from ...markdown.divs import Part
from ...markdown.metadata.body import parse_metadata
from ...markdown.metadata.keys import SWITCHES, TEXTS
from ...markdown.metadata.lmm_options import OPTIONS, options_in
from ...markdown.tree import HeaderNode, Node, TextNode, traverse
from ...markdown.visibility import RAG_ONLY, KnitRules, Properties, div_properties, header_rules, in_notes, types_of
from .document import CheckedDocument, CheckedText
from .finding import Finding
from .marks import LMM, find_marks, find_stray_colons, find_types_elsewhere, is_nearly_lmm, nearest

# Classes of Pandoc, Quarto, bookdown, reveal.js, Bootstrap and the Carpentries: no misspelled types
_OTHERS = frozenset(
    """notes column columns card cards cell cells code fragment fragments footer header hidden hidden-content
    incremental nonincremental aside panel proof tip warning caution important info danger row rows tab tabs
    table tables figure figures grid list references refs abstract landscape layout questions""".split()
)
# Few documents need these patterns: compiled on first use.
_CODE = r"(?ms)^[ \t]*(`{3,}|~{3,})[^\n]*ya?ml[^\n]*\n(?P<body>.*?)^[ \t]*\1"
_TRUTH = ("true", "false")
_UNSEEN = (
    r"(?sx)<!--.*?--> | \{\{<[^\n]*>\}\} | (?:[-*_][ \t]*){3,} | \\[A-Za-z]+(?:\{[^{}\n]*\})? | \[\]\{[^{}\n]*\}"
    r"| :{3,}[^\n]*\n\s*:{3,}"
)
_UNDERLINED = r"[^\n]+\n(?:=+|-+)[ \t]*(?:\n|\Z)"
ABOUT_NOTHING = (
    "this metadata applies only to the next line, which nobody sees, and not to the part after it: "
    "put it directly before the part"
)
AT_END = "nothing follows this metadata, so it leaves nothing out: put it directly before the part"
UNDERLINED = "an underlined heading starts no section, so its text is not left out: write it as `## Heading`"


def find_near_misses(blocks: Sequence[Block], rules: KnitRules) -> list[Finding]:
    """Return the misspelled keys, classes, attributes and marks, by line, except in parts with `knit: true`."""
    slips = find_slips(CheckedDocument(blocks), rules)
    return sorted((finding for finding in slips if finding.code != "no-block"), key=lambda finding: finding.line)


def find_slips(document: CheckedDocument, rules: KnitRules) -> Iterator[Finding]:
    """Yield near misses and ignored questions."""
    blocks = document.blocks
    rules = header_rules(header_content(blocks), rules)
    finder = _NearMissFinder(rules, rules.div_types | rules.types | document.types)
    for node in traverse(document.tree):
        if node.metadata:
            yield from finder.header(node) if isinstance(node, HeaderNode) else finder.metadata(node)
    kept_lines = _kept_texts(blocks)
    for text in document.texts:
        yield from finder.text(text, text.first in kept_lines)
        yield from find_marks(text, rules.allowed)
        yield from find_stray_colons(text, finder.types, rules)
    yield from find_types_elsewhere(blocks, document.texts, finder.types)


def _kept_texts(blocks: Sequence[Block]) -> set[int]:
    return {
        after.line
        for block, after in pairwise(blocks)
        if isinstance(block, MetadataBlock) and _keeps(block.content) and is_text(after)
    }


def _keeps(properties: Properties) -> bool:
    return in_notes(properties, KnitRules()) is True


class _NearMissFinder:
    """Finds near misses. types: words that make a part RAG-only, or would if written correctly"""

    def __init__(self, rules: KnitRules, types: frozenset[str]) -> None:
        self.rules = rules
        self.types = types - rules.allowed
        self.allowed = rules.allowed
        self.reported: set[str] = set()  # types used as classes are reported once

    def metadata(self, node: Node) -> Iterator[Finding]:
        for block in node.metadata if not _keeps(node) else ():
            yield from self._block(block.content, block.source, block.line)
        if isinstance(node, TextNode) and in_notes(node, self.rules) is False and (why := _about_nothing(node)):
            yield Finding(node.metadata[-1].line, "about-nothing", why)

    def _block(self, content: Mapping[str, Any], source: str, line: int) -> Iterator[Finding]:
        for key, value in content.items():
            if slip := self._block_key(key, value):
                yield Finding(line + line_of(key, source), *slip)

    def _block_key(self, key: str, value: Any) -> tuple[str, str] | None:
        if key == "knit" and not isinstance(value, bool):
            return "knit-value", _no_switch(value)
        if key == "type" and value is None:
            return "near-miss", "`type:` is empty, so nothing is left out: write a word after it"
        if key in self.types and value is True:
            return "near-miss", f"unknown key {key!r}: did you mean `type: {key}`?"
        suggestion = self._key(key, value)
        return ("near-miss", _unknown(key, suggestion)) if suggestion else None

    def _key(self, key: str, value: Any) -> str:
        name = key.lstrip("~").removesuffix("=")
        if name in self.allowed:
            return ""
        return nearest(name, SWITCHES if isinstance(value, bool) else TEXTS if _is_text(value) else ())

    def header(self, node: HeaderNode) -> Iterator[Finding]:
        block = node.metadata[0]
        for key, value in block.content.items():
            if key in self.allowed:
                continue
            if slip := self._header_key(key, value) or self._header_type(key, value, node):
                yield Finding(block.line + line_of(key, block.source), *slip)
        for name in options_in(block.content):
            if name not in OPTIONS:
                message = f"there is no option `lmm: {name}` ({', '.join(sorted(OPTIONS))})"
                yield Finding(block.line + line_of(name, block.source), "near-miss", message)

    def _header_key(self, key: str, value: Any) -> tuple[str, str] | None:
        if isinstance(value, bool) and nearest(key, ("knit",)):
            return "near-miss", _unknown(key, "knit")
        if isinstance(value, Mapping) and is_nearly_lmm(key) and not OPTIONS.isdisjoint(options_in({LMM: value})):
            return "near-miss", _unknown(key, LMM)
        # `knit` is also a key of R Markdown, whose value is a function
        is_slip = isinstance(value, int | float) or (isinstance(value, str) and value.isalpha() and len(value) < 8)
        is_slip = is_slip and key == "knit" and not isinstance(value, bool)
        return ("knit-value", _no_switch(value)) if is_slip else None

    def _header_type(self, key: str, value: Any, node: HeaderNode) -> tuple[str, str] | None:
        if isinstance(node.get("knit"), bool) or not (key == "type" or nearest(key, ("type",))):
            return None
        words = [word for word in types_of(value) if word in self.types or self._type(word)]
        message = (
            f"{key}: {words[0]} in the header leaves nothing out: write knit: false there to leave the whole page "
            "out of the notes, or knit: true to show it"
        ) if words else ""  # fmt: skip
        return ("type-elsewhere", message) if words else None

    def text(self, text: CheckedText, is_kept: bool) -> Iterator[Finding]:
        """Yield near misses in a text. is_kept: metadata before the text keeps its first part in the notes"""
        kept_from = 0 if is_kept else len(text.padded)
        for line, part, source in text.parts:
            if part.metadata is not None:
                keeps = _keeps(part.metadata)
                yield from self._block(part.metadata, source, text.first + line) if not keeps else ()
                kept_from = line + len(source.splitlines()) if keeps else kept_from
            elif not part.error:
                is_div_kept = kept_from <= line and not "".join(text.lines[kept_from:line]).strip("> \t\r\ufeff")
                yield from (Finding(text.first + line, *slip) for slip in self._div(part, source, is_div_kept))

    def _div(self, part: Part, source: str, is_kept: bool) -> Iterator[tuple[str, str]]:
        attributes = part.attributes
        yield from self._attributes(attributes)
        if is_kept or in_notes(div_properties(attributes, self.rules), self.rules) is not None:
            return
        for name in attributes.classes:
            if name in self.allowed:
                continue
            if name in self.types:
                yield from self._report_unused_type(name)
            elif suggestion := self._class(name) or (LMM if is_nearly_lmm(name) and _holds_metadata(source) else ""):
                yield "near-miss", f"unknown class {name!r}: did you mean {suggestion!r}?"
        type_name = attributes.pairs.get("type", "")
        if type_name in self.types:
            yield from self._report_unused_type(type_name)
        elif suggestion := self._type(type_name):
            yield "near-miss", f"unknown type {type_name!r}: did you mean {suggestion!r}?"

    def _report_unused_type(self, name: str) -> Iterator[tuple[str, str]]:
        if name not in self.reported:
            self.reported.add(name)
            yield (
                "type-elsewhere",
                f"{name!r} is a type here, but a div of this class or type is not left out: "
                f"write ::: {{.{RAG_ONLY} type={name}}}, or name the class in [knit] div_types",
            )

    def _class(self, name: str) -> str:
        """Return the type that a misspelled class or malformed braces stand for, or ""."""
        words = [word for word in re.findall(r"[\w-]+", name) if word in self.types]
        return words[0] if words and not name.replace("-", "").isalnum() else self._type(name)

    def _attributes(self, attributes: Attributes) -> Iterator[tuple[str, str]]:
        for name, value in attributes.pairs.items():
            if name == "knit" and value.lower() not in _TRUTH:
                yield "knit-value", _no_switch(value)
                continue
            bare = name.removeprefix("data-")
            suggestion = bare if bare != name and bare in ("type", "knit") else nearest(name, ("type", "knit"))
            is_typed = RAG_ONLY in attributes.classes or value in self.types
            fits = is_typed if suggestion == "type" else suggestion and value.lower() in _TRUTH
            if fits and name not in self.allowed:
                yield "near-miss", f"unknown attribute {name!r}: did you mean {suggestion!r}?"

    def _type(self, name: str) -> str:
        return (
            "" if name in self.types or name in _OTHERS or name in self.allowed else nearest(name, sorted(self.types))
        )


def _about_nothing(node: TextNode) -> str:
    if node.block is None:
        return AT_END
    bare = node.block.content.strip() if is_text(node.block) else ""
    if bare and re.fullmatch(_UNSEEN, bare):
        return ABOUT_NOTHING
    return UNDERLINED if re.match(_UNDERLINED, bare) else ""


def _unknown(key: str, suggestion: str) -> str:
    return f"unknown key {key!r}: did you mean {suggestion!r}?"


def _no_switch(value: Any) -> str:
    return f"'knit' should be true or false, not {value!r:.40}"


def _is_text(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(isinstance(text, str) for text in values)


def line_of(key: str, source: str) -> int:
    """Return a key's line in its block, from 0."""
    match = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*:", source, re.M)
    return source.count("\n", 0, match.start()) - count_lead(source) if match else 0


def _holds_metadata(source: str) -> bool:
    match = re.search(_CODE, source)
    content = parse_metadata(match["body"]).content if match else None
    return any(key.startswith("~") or key in (*SWITCHES, *TEXTS) for key in content or ())
