"""Near misses: words that are nearly keys, classes or attributes of ours, so that a part meant to
be left out would be shown.

The keys of metadata blocks, the classes and attributes of divs, and the header's keys for the whole
page are compared. One slip counts as near (a letter too many, too few, another one, two that have
changed places), two in a word of eight letters or more, and letter case does not count. A key has
to have a value that fits, so that `unit: cm` is not taken for `knit`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from ...markdown.blocks import (
    Attributes,
    Block,
    HeaderBlock,
    MetadataBlock,
    TextBlock,
    count_lead,
    header_content,
    is_text,
    source_line,
)
from ...markdown.divs import Part
from ...markdown.metadata.body import parse_metadata
from ...markdown.metadata.keys import SWITCHES, TEXTS
from ...markdown.metadata.lists import listed_tables, may_be_metadata
from ...markdown.metadata.lmm_options import OPTIONS, options_in
from ...markdown.metadata.ownership import find_key
from ...markdown.originals import restore_originals
from ...markdown.parse import NATIVE_CLOSE, NATIVE_OPEN
from ...markdown.tree import HeaderNode, TextNode, blocks_to_tree, traverse
from ...markdown.visibility import (
    ALL,
    RAG_ONLY,
    KnitRules,
    div_properties,
    header_rules,
    in_notes,
    types_of,
)
from .comment_marks import find_comment_marks
from .false_blocks import find_false_blocks
from .finding import Finding
from .stray_marks import ReadParts, explain_misplaced, find_stray_marks, read_parts
from .unread_messages import find_unread_messages

LMM = "lmm"
# Known classes, which are no slips whatever types a project has: those of Pandoc, Quarto,
# bookdown, reveal.js, Bootstrap and the Carpentries' lessons.
_OTHERS = frozenset(
    """notes column columns card cards cell cells code fragment fragments footer header hidden hidden-content
    incremental nonincremental aside panel proof tip warning caution important info danger row rows tab tabs
    table tables figure figures grid list references refs abstract landscape layout questions""".split()
)
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*ya?ml[^\n]*\n(?P<body>.*?)^[ \t]*\1", re.S | re.M)
_TRUTH = ("true", "false")


def find_near_misses(
    blocks: Sequence[Block], rules: KnitRules, read: ReadParts | None = None
) -> list[Finding]:  # fmt: skip
    """Return the words that are nearly keys, classes or attributes of ours, each with its line.

    `rules` name the types of the project; those of the document itself count as well. A part with
    `knit: true` of its own is not compared, nor are the words that the rules allow.
    """
    tree = blocks_to_tree(restore_originals(blocks).blocks)
    if tree is None:
        return []
    rules, read = header_rules(header_content(blocks), rules), read or cache(read_parts)
    finder = _NearMissFinder(rules, rules.div_types | rules.types | types_in(blocks, read), read)
    found: list[Finding] = []
    for node in traverse(tree):
        if isinstance(node, HeaderNode):
            found += finder.header(node)
            continue
        for block in node.metadata:
            found += finder.block(block.content, block.source, block.line, node.get("knit") is True)
        if isinstance(node, TextNode) and is_text(node.block):
            found += finder.text(node.block, node.get("knit") is True)
            if node.metadata and in_notes(node, rules) is False and (why := explain_misplaced(node.block.content)):
                found.append(Finding(node.metadata[-1].line, "about-nothing", why))
    found += [*find_stray_marks(blocks, finder.types, read), *find_comment_marks(blocks, read)]
    found += find_false_blocks(blocks, rules.allowed, read)
    found += [one for one in find_unread_messages(blocks, read) if one.code == "no-blank-line"]
    return sorted(found, key=lambda one: one.line)


def types_in(blocks: Iterable[Block], read: ReadParts = read_parts) -> frozenset[str]:
    """Return the types that the parts of a document have by its blocks and `.rag-only` divs."""
    return frozenset(word for _, word in typed_parts(blocks, read))


def typed_parts(blocks: Iterable[Block], read: ReadParts = read_parts) -> Iterator[tuple[int, str]]:
    """Yield each type that a part of a document has by its block or `.rag-only` div, with its line."""
    for block in blocks:
        if isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock):
            yield from ((block.line + line_of("type", block.source), word) for word in _types(block.content))
        elif isinstance(block, TextBlock):
            first = source_line(block)
            for line, part, source in read(block.source):
                yield from ((first + line + line_of("type", source), word) for word in _types(part.metadata or {}))
                if RAG_ONLY in part.attributes.classes:
                    yield from ((first + line, word) for word in types_of(part.attributes.pairs.get("type")))


def check_kept_types(keep: Iterable[str], types: Iterable[str]) -> list[str]:
    """Return a sentence for each word of `keep` that is the type of no part."""
    known = sorted({*types} - {RAG_ONLY, ALL})
    return [_no_type(word, known) for word in keep if word not in (*known, RAG_ONLY, ALL)]


def _no_type(word: str, known: Sequence[str]) -> str:
    near = nearest(word, known)
    meant = f"; did you mean {near!r}?" if near else ""
    return f"no part has the type {word!r}{meant} (types here: {', '.join(known)}; {ALL} for all)"


def _types(metadata: Mapping[str, Any]) -> list[str]:
    key = find_key(metadata, "type")
    return types_of(metadata[key]) if key else []


class _NearMissFinder:
    """Finds near misses in the parts of a document. `types` are the words that leave a part out, or would."""

    def __init__(self, rules: KnitRules, types: frozenset[str], read: ReadParts) -> None:
        self.rules = rules
        self.read = read
        self.types = types - rules.allowed
        self.allowed = rules.allowed
        self.reported: set[str] = set()  # types used as classes, each reported once

    # Blocks

    def block(self, content: Mapping[str, Any], source: str, line: int, is_kept: bool) -> Iterator[Finding]:
        """Yield near misses among the keys of a block; `is_kept` says that the block keeps its part in the notes."""
        for key, value in content.items() if not is_kept else ():
            if found := self._block_key(key, value):
                yield Finding(line + line_of(key, source), *found)

    def _block_key(self, key: str, value: Any) -> tuple[str, str] | None:
        """Return code and message about a key of a block; None if it is nearly none of ours."""
        if key == "knit" and not isinstance(value, bool):
            return "knit-value", _no_switch(value)
        if key in self.types and value is True:
            return "near-miss", f"unknown key {key!r}: did you mean `type: {key}`?"
        meant = self._key(key, value)
        return ("near-miss", _unknown(key, meant)) if meant else None

    def _key(self, key: str, value: Any) -> str:
        """Return the key of ours that an unknown key is meant for; "" for none."""
        name = key.lstrip("~").removesuffix("=")
        if name in self.allowed:
            return ""
        return nearest(name, SWITCHES if isinstance(value, bool) else TEXTS if _is_text(value) else ())

    def header(self, node: HeaderNode) -> Iterator[Finding]:
        """Yield the keys of the header that are meant for the whole page and have no effect there."""
        if not node.metadata:
            return
        block = node.metadata[0]
        for key, value in block.content.items():
            if key in self.allowed:
                continue
            if found := self._header_key(key, value) or self._header_type(key, value, node):
                yield Finding(block.line + line_of(key, block.source), *found)
        for name in options_in(block.content):
            if name not in OPTIONS and (meant := nearest(name, sorted(OPTIONS))):
                yield Finding(
                    block.line + line_of(name, block.source), "near-miss", _unknown(f"lmm.{name}", f"lmm.{meant}")
                )

    def _header_key(self, key: str, value: Any) -> tuple[str, str] | None:
        """Return code and message about a key of the header; None if it is nearly none of ours."""
        if isinstance(value, bool) and nearest(key, ("knit",)):
            return "near-miss", _unknown(key, "knit")
        if isinstance(value, Mapping) and _is_nearly_lmm(key) and not OPTIONS.isdisjoint(options_in({LMM: value})):
            return "near-miss", _unknown(key, LMM)
        # R Markdown has a key of that name as well, whose value is a function
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

    # Texts

    def text(self, block: TextBlock, is_kept: bool) -> Iterator[Finding]:
        """Yield near misses in the divs and blocks of a text, and the text itself if it is a list
        that looks like metadata."""
        if self._is_list(block.content):
            yield Finding(block.line, "yaml-list", _LIST)
        lines = block.source.split("\n")
        first = source_line(block)
        kept_from = 0 if is_kept else len(lines)  # after a block that keeps the next part
        for line, part, source in self.read(block.source):
            if part.metadata is not None:
                keeps = part.metadata.get("knit") is True
                yield from self.block(part.metadata, source, first + line, keeps)
                kept_from = line + len(source.splitlines()) if keeps else kept_from
            elif not part.error:
                kept = kept_from <= line and not "".join(lines[kept_from:line]).strip("> \t\r\ufeff")
                yield from (Finding(first + line, *found) for found in self._div(part, source, kept))

    def _is_list(self, text: str) -> bool:
        opened = NATIVE_OPEN.match(text)
        closed = NATIVE_CLOSE.search(text, opened.end() - 1) if opened else None
        tables = listed_tables(text[opened.end() : closed.start() + 1]) if opened and closed else []
        return may_be_metadata(tables) and self.allowed.isdisjoint(key for table in tables for key in table)

    def _div(self, part: Part, source: str, is_kept: bool) -> Iterator[tuple[str, str]]:
        attributes = part.attributes
        yield from self._attributes(attributes)
        if is_kept or in_notes(div_properties(attributes, self.rules), self.rules) is not None:
            return
        for name in attributes.classes:
            if name in self.allowed:
                continue
            if name in self.types:
                yield from self._no_div_type(name)
            elif meant := self._class(name) or (LMM if _is_nearly_lmm(name) and _holds_metadata(source) else ""):
                yield "near-miss", f"unknown class {name!r}: did you mean {meant!r}?"
        named = attributes.pairs.get("type", "")
        if named in self.types:
            yield from self._no_div_type(named)
        elif meant := self._type(named):
            yield "near-miss", f"unknown type {named!r}: did you mean {meant!r}?"

    def _no_div_type(self, name: str) -> Iterator[tuple[str, str]]:
        if name not in self.reported:
            self.reported.add(name)
            yield (
                "type-elsewhere",
                f"{name!r} is a type here, but a div of this class or type is not left out: "
                f"write ::: {{.{RAG_ONLY} type={name}}}, or name the class in [knit] div_types",
            )

    def _class(self, name: str) -> str:
        """Return the type that a class is meant for; "" for none. Braces that Pandoc cannot read are a class to it."""
        words = [word for word in re.findall(r"[\w-]+", name) if word in self.types]
        return words[0] if words and not name.replace("-", "").isalnum() else self._type(name)

    def _attributes(self, attributes: Attributes) -> Iterator[tuple[str, str]]:
        for name, value in attributes.pairs.items():
            if name == "knit" and value.lower() not in _TRUTH:
                yield "knit-value", _no_switch(value)
                continue
            meant = "" if name in self.allowed else nearest(name, ("type", "knit"))
            is_typed = RAG_ONLY in attributes.classes or value in self.types
            if is_typed if meant == "type" else meant and value.lower() in _TRUTH:
                yield "near-miss", f"unknown attribute {name!r}: did you mean {meant!r}?"

    def _type(self, name: str) -> str:
        """Return the type that a word is nearly; "" if it is a type itself, or near none."""
        return (
            "" if name in self.types or name in _OTHERS or name in self.allowed else nearest(name, sorted(self.types))
        )


_LIST = (
    "a YAML list between `---` lines is text, and shown: if it is metadata, write it as a mapping "
    "(`key: value`); if it is a list, leave a line empty below the first `---`"
)


def _unknown(key: str, meant: str) -> str:
    return f"unknown key {key!r}: did you mean {meant!r}?"


def _no_switch(value: Any) -> str:
    return f"'knit' should be true or false, not {value!r:.40}"


def _is_text(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and all(isinstance(one, str) for one in values)


def line_of(key: str, source: str) -> int:
    """Return the line of a key in a block, from 0."""
    found = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*:", source, re.M)
    return source.count("\n", 0, found.start()) - count_lead(source) if found else 0


def _is_nearly_lmm(name: str) -> bool:
    """Return True if a name is nearly `lmm`. For so short a name, the content has to be checked as well."""
    return name != LMM and slips_between(name[:9].lower(), LMM) <= 1


def _holds_metadata(source: str) -> bool:
    """Return True if a div holds a code block of YAML with a key of ours."""
    found = _CODE.search(source)
    content = parse_metadata(found["body"]).content if found else None
    return any(key.startswith("~") or key in (*SWITCHES, *TEXTS) for key in content or ())


# Words


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is nearest to another word and not equal to it; "" for none."""
    found = [(distance, one) for one in known if (distance := _slips(word, one)) is not None]
    return min(found)[1] if found and word not in {one for _, one in found} else ""


@lru_cache(1000)
def _slips(word: str, known: str) -> int | None:
    """Return the number of slips between two words; None if it is more than such a word allows."""
    one, other = word.lower(), known.lower()
    allowed = 0 if len(other) < 4 else 1 if len(other) < 8 else 2
    if abs(len(one) - len(other)) > allowed:
        return None
    found = 0 if one == other else slips_between(one, other)
    return found if found <= allowed else None


def slips_between(one: str, other: str) -> int:
    """Return the number of slips that lead from one word to another (letters too many, too few,
    replaced, or swapped with their neighbours): the optimal string alignment distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, sign in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != wanted))
            if i > 1 and j > 1 and sign == other[j - 2] and one[i - 2] == wanted:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]
