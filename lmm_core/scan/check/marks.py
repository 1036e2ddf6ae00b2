"""Lines that look like a mark of ours and are none, so that what they are to leave out would be shown, or what they
ask would not be read. Each kind is a row of `RULES`: the finding, how such a line looks, when it is one, and what to
do. `find_stray_colons`, `find_types_elsewhere` and `find_merge_conflicts` have their own, since they go by words that
differ from document to document, or by lines further up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...markdown.blocks import Block, HeadingBlock, MetadataBlock, is_text, source_line
from ...markdown.metadata.body import looks_like_key, parse_metadata, split_messages
from ...markdown.metadata.keys import ABOUT_TEXT, DECIDING, POSITIONAL, is_block_key
from ...markdown.metadata.lists import listed_tables, may_be_metadata
from ...markdown.parse import DIV_UNDER_TEXT, NOT_CLOSED, is_metadata_div
from ...markdown.regions import without_code
from .finding import Finding
from .texts import CheckedText
from .unreadable import signs_in
from .words import LMM, slips_between

_BEFORE = r"[ \t>]*(?:(?:[-*+]|\(?\w{1,3}[.)])[ \t]+)*"
_KEYS = "|".join(sorted(key for key in ABOUT_TEXT | POSITIONAL if key.isalpha()))
_OPEN = r"\n---[ \t]*\r?\n(?=[ \t]*\S)"
_DIV = r"\n:::[^\n]*lmm"
_COMMENT = r"<!--[ \t]*lmm[ \t]*\r?(?=\n)"
_KEY_LINE = rf"\n[ \t>]*~?(?P<key>{_KEYS})=?[ \t]*"
_KEY = re.compile(rf"~?(?:{_KEYS})=?[ \t]*:")
_YAML = r"\n[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*(?:ya?ml|\{[ \t]*\.ya?ml[ \t]*\})[ \t]*\r?(?=\n)"
_SWITCHED = re.compile(rf"(?:{'|'.join(sorted(DECIDING))}):[ \t]+(?:[\w-]+|\[[\w, -]+\])$")  # `type: exercise`
_RULE = re.compile(
    r"(?:(?P<sign>[-*_=~+\u2010-\u2015\u2212])(?P=sign)*|[-*_](?:[ \t][-*_])+|[-\u2010-\u2015]+|\.\.\.)$"
)
_ENTRY = re.compile(r"[\w~-]+=?[ \t]*[:=]")
_TIGHT = re.compile(r"^(\s*[\w~]+=?):(?=[^\s:/])", re.M)
_CODE_SPAN = re.compile(r"(`+)[^`\n]*\1")
_TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$", re.M)
_LIKE_LMM = r"(?:(?i:lmm|llm|lm|lmmm|lrm)\b[ \t:]*)"

UNDER_TEXT = "a metadata block needs an empty line before it: it is read as text"
NO_COLON = "a question begins with `?:` and a blank; as it stands, it is not read"
LIST = (
    "a YAML list between `---` lines is text, and shown: if it is metadata, write it as a mapping "
    "(`key: value`); if it is a list, leave a line empty below the first `---`"
)
COMMENT_NOT_CLOSED = "a metadata comment starts here and is not closed: add a line `-->`"
COMMENT_UNDER_TEXT = "a metadata comment needs a blank line before it: it is read as text"
COMMENT_INDENTED = "a metadata comment stands at the start of its line (in a list, where the item's text begins)"
NEARLY_COMMENT = (
    "this comment is not read as metadata: write a line `<!-- lmm` and nothing else in it, the YAML below it, and "
    "a line `-->`"
)
IN_FENCE = (
    "this YAML is code, and shown: if it is metadata, put it between two lines `---`, after an empty line, in place "
    "of the fences"
)
EQUALS = "`{key} =` is not read: a key ends with a colon (`{key}: …`)"
NO_BLANK = "`{key}:{rest}` is not read: a blank is needed after the colon (`{key}: {rest}`)"
NO_BLOCK = (
    "`{key}:` stands in no block and is read as text: a block begins with a line `---`, at the start of its line, "
    "after an empty line and with none below it, and ends with a line `---`"
)
ASKED_NOWHERE = (
    "`{sign}:` stands in no block and is read as text: put it between two lines `---`, the first of them after "
    "an empty line and with none below it"
)


class Place(NamedTuple):
    """A line of a text that looks like a mark. allowed: keys that are meant as they stand."""

    text: CheckedText
    at: int
    found: re.Match[str]
    allowed: frozenset[str]

    @property
    def line(self) -> str:
        return self.text.lines[self.at]

    def next(self, is_wanted: Callable[[str], bool]) -> int:
        """Return the next line that is wanted, or the number of lines."""
        lines = self.text.lines
        return next((at for at in range(self.at + 1, len(lines)) if is_wanted(lines[at])), len(lines))


class Rule(NamedTuple):
    """A kind of such lines.

    needle: what a text has that holds one; pattern: of the line, from the line end before it; test: returns the line
    after what is about it, 0 if it is none; advice: with the names of the pattern's groups."""

    code: str
    needle: str
    pattern: re.Pattern[str]
    test: Callable[[Place], int]
    advice: str


def _rule(code: str, needle: str, pattern: str, test: Callable[[Place], int], advice: str) -> Rule:
    return Rule(code, needle, re.compile(pattern), test, advice)


def find_marks(text: CheckedText, allowed: frozenset[str]) -> Iterator[Finding]:
    """Yield what the rules find in a text; each line is reported once, by the first of them."""
    taken: set[int] = set()
    for code, needle, pattern, test, advice in RULES:
        for found in pattern.finditer(text.padded) if needle in text.source else ():
            at = text.number(found.start())
            if at not in taken and (end := test(Place(text, at, found, allowed))):
                taken.update(range(at, end))
                groups = {name: group.strip() for name, group in found.groupdict().items() if group}
                yield Finding(text.first + at, code, advice.format(**groups), signs_in(text.body(at, end)))


# Blocks


def _div_end(place: Place) -> int:
    is_one = place.at in place.text.prose and is_metadata_div(place.line)
    return place.next(lambda line: line.startswith(":::")) + 1 if is_one else 0


def _div_under_text(place: Place) -> int:
    return _div_end(place) if place.text.above(place.at) else 0


def _native_end(place: Place, is_under_text: bool = False) -> int:
    """Return the line that closes a block without a line of text above it; 0 if there is none."""
    if place.at not in place.text.prose or bool(place.text.above(place.at)) != is_under_text:
        return 0
    end = place.next(lambda line: line.rstrip() in ("---", "..."))
    return end if end < len(place.text.lines) else 0


def _native_under_text(place: Place) -> int:
    end = _native_end(place, True)
    return end + 1 if end and _holds_ours(place.text.body(place.at + 1, end)) else 0


def _native_closed(place: Place) -> int:
    return _native_end(place) + 1 if _native_end(place) else 0


def _native_list(place: Place) -> int:
    end = _native_end(place)
    tables = listed_tables(place.text.body(place.at + 1, end)) if end else []
    is_allowed = not place.allowed.isdisjoint(key for table in tables for key in table)
    return end + 1 if may_be_metadata(tables) and not is_allowed else 0


def _native_open(place: Place) -> int:
    """Return where a block ends that is not closed: at the next empty line."""
    if place.at not in place.text.prose or place.text.above(place.at) or _native_end(place):
        return 0
    end = place.next(lambda line: not line.strip())
    return end if looks_like_key(place.text.body(place.at + 1, len(place.text.lines))) else 0


# Comments and code


def _comment_end(place: Place) -> int:
    """Return the line in which a comment ends, which is the number of lines if it is not closed; -1 if it is none."""
    text, at = place.text, place.at
    is_one = (at in text.prose or at in text.comments) and "<!--" in _CODE_SPAN.sub("", place.line)
    return text.comments.get(at, at) if is_one and not text.is_code_in_item(at) else -1


def _comment(place: Place) -> int:
    return _comment_end(place) + 1


def _comment_open(place: Place) -> int:
    end = _comment_end(place)
    return end if end == len(place.text.lines) else 0


def _comment_under_text(place: Place) -> int:
    return _comment(place) if place.text.above(place.at) else 0


def _comment_with_keys(place: Place) -> int:
    """Take a comment that is nearly named `lmm` and holds a key of ours, or holds our keys alone."""
    inside = place.text.padded[place.found.end() :].partition("-->")[0]
    body = re.sub(r"^[ \t>]*", "", inside, flags=re.M).strip() + "\n"
    is_metadata = _holds_ours(body) if place.found["name"] else _are_ours(body)
    return _comment_end(place) + 1 if is_metadata else 0


def _holds_ours(body: str) -> bool:
    parsed = parse_metadata(body)
    return bool(parsed.messages) or any(map(is_block_key, parsed.content or {}))


def _are_ours(body: str) -> bool:
    """Return True if YAML holds keys of ours alone, and one that decides who sees a part."""
    keys = set(parse_metadata(body).content or {}) if any(key in body for key in DECIDING) else set()
    return all(map(is_block_key, keys)) and not DECIDING.isdisjoint(keys)


def _fence_with_keys(place: Place) -> int:
    text, fence = place.text, place.found["fence"]
    is_in_metadata = any(slips_between(word.lower(), LMM) < 2 for word in _WORD.findall(text.above(place.at)))
    if place.at not in text.fences or is_in_metadata or text.is_code_in_item(place.at):
        return 0
    end = place.next(lambda line: line.lstrip("> \t").startswith(fence))
    body = re.sub(r"^[ \t>]*", "", text.body(place.at + 1, end), flags=re.M)
    return end + 1 if end < len(text.lines) and _are_ours(body) else 0


# Keys


class _Lines(NamedTuple):
    """The lines around a key that are neither blank nor rules. above, below: the line before and behind them that is
    not blank, bare."""

    start: int
    end: int
    above: str
    below: str
    is_adjacent: bool
    is_open: bool


def _lines_around(place: Place) -> _Lines | None:
    text, at = place.text, place.at
    if at not in text.prose or place.found["key"] in place.allowed or text.is_indented_code(at):
        return None
    bare, start, end = text.bare, at, at + 1
    while start and bare[start - 1] and not _RULE.match(bare[start - 1]):
        start -= 1
    while end < len(bare) and bare[end] and not _RULE.match(bare[end]):
        end += 1
    above = next((one for one in range(start - 1, -1, -1) if bare[one]), -1)
    below = next((one for one in range(end, len(bare)) if bare[one]), -1)
    is_directly_below = above >= 0 and above == start - 1
    return _Lines(
        start, end, bare[above] if above >= 0 else "", bare[below] if below >= 0 else "",
        is_directly_below or below == end, is_directly_below and bare[above] == "---",
    )  # fmt: skip


def _equals_in_block(place: Place) -> int:
    lines = _lines_around(place)
    if lines is None or not (lines.is_open and _RULE.match(lines.below)):
        return 0
    return lines.end if all(map(_ENTRY.match, place.text.bare[lines.start : lines.end])) else 0


def _between_rules(place: Place) -> int:
    """Take keys between rules of any kind: those that decide who sees a part, others directly below or above one."""
    lines = _lines_around(place)
    if lines is None or not (_RULE.match(lines.above) and _RULE.match(lines.below)):
        return 0
    if not (lines.is_adjacent or place.found["key"] in DECIDING):
        return 0
    body = "\n".join([*place.text.bare[lines.start : lines.end], ""])
    return lines.end if parse_metadata(_TIGHT.sub(r"\1: ", body)).content is not None else 0


def _between_rules_open(place: Place) -> int:
    lines = _lines_around(place)
    return _between_rules(place) if lines is not None and lines.is_open else 0


def _keys_alone(place: Place) -> int:
    """Take a paragraph of nothing but keys of ours, one of which decides who sees a part."""
    lines = _lines_around(place)
    own = place.text.bare[lines.start : lines.end] if lines is not None else []
    is_ours = lines is not None and all(map(_KEY.match, own)) and any(map(_SWITCHED.match, own))
    return lines.end if lines is not None and is_ours else 0


# Questions, messages and edits


def _is_asked(place: Place) -> int:
    """Take a line that begins like a question, message or edit; but not in code spans and tables."""
    text, at = place.text, place.at
    if at not in text.prose or ("|" in place.line and _TABLE.search(text.source)):
        return 0
    return 0 if without_code(text.source)[place.found.start("sign") - 1].isspace() else at + 1


RULES = (
    _rule("no-blank-line", ":::", _DIV, _div_under_text, DIV_UNDER_TEXT),
    _rule("not-closed", ":::", _DIV, _div_end, NOT_CLOSED),
    _rule("no-blank-line", "---", _OPEN, _native_under_text, UNDER_TEXT),
    _rule("no-colon", "---", _OPEN + r"\?:?[^\s:?]", _native_closed, NO_COLON),
    _rule("yaml-list", "---", _OPEN + "- ", _native_list, LIST),
    _rule("unreadable-block", "<!--", _COMMENT, _comment_open, COMMENT_NOT_CLOSED),
    _rule("no-blank-line", "<!--", _COMMENT, _comment_under_text, COMMENT_UNDER_TEXT),
    _rule("no-blank-line", "<!--", _COMMENT, _comment, COMMENT_INDENTED),
    _rule("near-miss", "<!--", rf"<!---*[ \t]*(?P<name>{_LIKE_LMM})?", _comment_with_keys, NEARLY_COMMENT),
    _rule("near-miss", "ml", _YAML, _fence_with_keys, IN_FENCE),
    _rule("near-miss", "", _KEY_LINE + "=", _equals_in_block, EQUALS),
    _rule("near-miss", "", _KEY_LINE + r":(?P<rest>[^\s][^\n]*)", _between_rules_open, NO_BLANK),
    _rule("near-miss", "", _KEY_LINE + ":", _between_rules, NO_BLOCK),
    _rule("near-miss", "", _KEY_LINE + ":", _keys_alone, NO_BLOCK),
    _rule("not-closed", "---", _OPEN, _native_open, NOT_CLOSED),
    _rule("no-block", "", r"\n[ ]{0,3}(?P<sign>[?+=]):(?:[ \t]+\S|[^\W\d_])", _is_asked, ASKED_NOWHERE),
)


def find_no_colons(blocks: Sequence[Block], texts: Sequence[CheckedText]) -> Iterator[Finding]:
    """Yield the lines `? question` of blocks: a key without a value, to YAML."""
    for block in blocks:
        if isinstance(block, MetadataBlock):
            yield from _no_colons_in(block.source, source_line(block))
    for text in texts:
        for at, part, source in text.parts if "?" in text.source else ():
            if part.metadata is not None:
                yield from _no_colons_in(source, text.first + at)


# YAML's `? key`, and in the line below it `: value`
_QUESTION = re.compile(r"^(?P<indent>[ \t]*)\?[ \t]+\S[^\n]*(?P<value>\n[ \t]*:(?:[ \t]|\r?$))?", re.M)
_INDENT = re.compile(r"\s*?^([ \t]*)\S", re.M)


def _no_colons_in(source: str, first: int) -> Iterator[Finding]:
    source = split_messages(source)[1] if "?" in source else ""
    indent = _INDENT.match(source)
    for found in _QUESTION.finditer(source):
        if found["value"] is None and indent and found["indent"] == indent[1]:
            yield Finding(first + source.count("\n", 0, found.start()), "no-colon", NO_COLON, "?")


# Colons

_COLONS = re.compile(rf"\n{_BEFORE}(?P<colons>[:\uff1a]{{2,}})(?P<rest>[^\n]*)")
_WORD = re.compile(r"[\w-]+")
STRAY = (
    "colons that open or close no div, so that what is meant to be left out may be shown: a div needs a blank line "
    "before it, stands at the start of its line (in a list, where the item's text begins), and has one class "
    "(`::: exercise`) or attributes in braces (`::: {.exercise .hard}`)"
)


def find_stray_colons(text: CheckedText, types: frozenset[str]) -> Iterator[Finding]:
    """Yield the lines of colons that open or close no div. types: words that leave a part out."""
    candidates = [*_COLONS.finditer(text.padded)] if "::" in text.source or "\uff1a" in text.source else []
    fences = _fences(text) if candidates else {}
    opened = 0  # stray colons with a word, which the bare colons below them would close
    for found in candidates:
        at, rest = text.number(found.start()), found["rest"]
        if at not in text.prose and at not in fences:
            continue
        if at in fences:
            is_stray = fences[at] and text.is_beside_item(at)
        else:
            is_stray = len(found["colons"]) > 2 or not {"lmm", *types}.isdisjoint(_WORD.findall(rest))
            is_stray = is_stray and not text.is_indented_code(at)
            if is_stray:
                closes = not rest.strip(" \t\r:\uff1a")
                is_stray = not (closes and opened)
                opened = max(0, opened - 1) if closes else opened + 1
        if is_stray:
            yield Finding(text.first + at, "stray-colons", STRAY)


def _fences(text: CheckedText) -> dict[int, bool]:
    """Return the lines on which divs open (True) and close (False)."""
    found: dict[int, bool] = {}
    for line, part, source in text.parts:
        if source.lstrip(" \t").startswith(":::"):
            found[line + len(source.splitlines()) - 1] = False
            found[line] = part.metadata is not None or bool(part.attributes.classes)
    return found


# Types

_BRACES = re.compile(r"\{([^{}\n]{1,500})\}")
_TYPED = re.compile(r"(?:(?<![\w.])\.|\btype=[\"']?)([\w-]+)")
_TAG = re.compile(r"<(?!div\b)[a-z][\w-]*[ \t][^<>]{1,500}>", re.I)
_TAG_WORDS = re.compile(r"\b(?:class|type)=(?:\"([^\"]*)|'([^']*)|([\w-]+))", re.I)
# Code, and the boxes of MyST, MkDocs and Obsidian, with the word that they begin with.
_BOX = re.compile(_BEFORE + r"(?P<opened>(?:`{3,}|~{3,}|!{3}|\?{3}\+?|\[!)[ \t]*\{?(?P<word>[\w-]+)[}\]]?)")
_HEADING_WORD = re.compile(r"#{1,6}[ \t].*(?P<opened>\{(?P<word>[\w-]+)\})[ \t\r]*$", re.M)
ELSEWHERE = (
    "{} leaves nothing out: only a div does. Put the part in one (`::: {{.rag-only type={}}}`), or put a block with "
    "`type:` before it"
)


def find_types_elsewhere(
    blocks: Sequence[Block], texts: Sequence[CheckedText], types: frozenset[str]
) -> Iterator[Finding]:
    """Yield types on headings, spans, code, HTML other than divs, and in the boxes of other programs."""
    words = {word.lower() for word in types}
    for block in blocks:
        if isinstance(block, HeadingBlock) and "{" in block.source:
            yield from _on_others(block.source, block.line, types)
    for text in texts:
        lowered = text.source.lower()
        lines = enumerate(lowered.split("\n")) if any(word in lowered for word in words) else ()
        for at in (at for at, line in lines if any(word in line for word in words)):
            elsewhere = [*_on_others(text.lines[at], text.first + at, types)]
            if elsewhere and (at in text.fences or _is_shown(text, at)):
                yield from elsewhere


def _is_shown(text: CheckedText, at: int) -> bool:
    """Return True for a line of prose that is no div's."""
    colons = _COLONS.match("\n" + text.lines[at])
    return at in text.prose and not text.is_indented_code(at) and not (colons and len(colons["colons"]) > 2)


def _on_others(line: str, number: int, types: frozenset[str]) -> Iterator[Finding]:
    for written, words in _attributes(line):
        if found := types.intersection(words):
            yield Finding(number, "type-elsewhere", ELSEWHERE.format(written, min(found)))


def _attributes(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what a line has of attributes, as written, with the words that may be types."""
    bare = _CODE_SPAN.sub("", line)
    for braces in _BRACES.finditer(bare):
        yield braces[0], _TYPED.findall(braces[1])
    for tag in _TAG.finditer(bare):
        yield tag[0], " ".join(map("".join, _TAG_WORDS.findall(tag[0]))).split()
    if opened := _BOX.match(line) or _HEADING_WORD.search(bare):
        yield opened["opened"], [opened["word"], opened["word"].lower()]


# Merges

_MERGE_MARKS = ("<<<<<<<", "=======", ">>>>>>>")
_MERGE = re.compile(r"(?P<ours><{7}(?: \S|\r?\Z))|(?P<between>={7}\r?\Z)|>{7}(?: \S|\r?\Z)")
MERGE = (
    "two versions of a merge stand here: decide which text stays, and take out the lines <<<<<<<, ======= and >>>>>>>"
)


def find_merge_conflicts(blocks: Sequence[Block], texts: Sequence[CheckedText]) -> Iterator[Finding]:
    """Yield each conflict in a document with its first marker that is left; but not those in code.

    `=======` alone may underline a heading, and `>>>>>>>` alone be a quote."""
    is_open = divided = False
    for line, source in sorted(_lines_of_merges(blocks, texts)):
        found = _MERGE.match(source)
        if found is None:
            continue
        if found["ours"] or (not found["between"] and divided and not is_open):
            yield Finding(line, "merge-conflict", MERGE)
        if found["between"]:
            divided = True
        elif found["ours"] or divided:
            is_open, divided = bool(found["ours"]), False


def _lines_of_merges(blocks: Sequence[Block], texts: Sequence[CheckedText]) -> Iterator[tuple[int, str]]:
    """Yield the lines of texts outside code, and those of metadata blocks, each with its number."""
    for text in texts:
        if any(mark in text.source for mark in _MERGE_MARKS):
            yield from ((text.first + at, text.lines[at]) for at in text.prose)
    for block in blocks:
        is_searched = not (is_text(block) or isinstance(block, HeadingBlock))
        if is_searched and any(mark in block.source for mark in _MERGE_MARKS):
            yield from enumerate(block.source.split("\n"), source_line(block))
