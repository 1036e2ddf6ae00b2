"""Find lines that look like metadata, divs or questions, but are read as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ...markdown.blocks import Block, HeadingBlock
from ...markdown.metadata.body import parse_metadata
from ...markdown.metadata.keys import ABOUT_TEXT, DECIDING, POSITIONAL, is_block_key
from ...markdown.parse import COMMENT_OPEN, DIV_UNDER_TEXT, is_metadata_div
from ...markdown.regions import without_code
from ...markdown.visibility import NOT_CLOSED, KnitRules, parts_and_cuts, types_of
from ...models.languages.words import typing_errors
from .document import CheckedText
from .finding import Finding

_BEFORE = r"[ \t>]*(?:(?:[-*+]|\(?\w{1,3}[.)])[ \t]+)*"
_KEYS = "|".join(sorted(key for key in ABOUT_TEXT | POSITIONAL if key.isalpha()))
_YAML = r"\n[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*(?:ya?ml|\{[ \t]*\.ya?ml[ \t]*\})[ \t]*\r?(?=\n)"
_RULE = re.compile(
    r"(?:(?P<sign>[-*_=~+\u2010-\u2015\u2212])(?P=sign)*|[-*_](?:[ \t][-*_])+|[-\u2010-\u2015]+|\.\.\.)$"
)
_KEY_SIGN = re.compile(rf"^(\s*~{{0,2}}(?:[\w-]+(?=[ \t]*[:=;])|{_KEYS}(?=[ \t])))(?:=?:|[ \t]*[=;]|[ \t])[ \t]*", re.M)
_NO_COLON = r"[ \t]+[\w-]+[ \t]*\r?(?=\n[ \t>]*(?:---|\.\.\.))"  # `type exercise` above a line `---`
_KEY_LINE = rf"\n[ \t>]*~?(?P<key>{_KEYS})(?:=?[ \t]*[:=;]|{_NO_COLON})"
_CODE_SPAN = re.compile(r"(`+)[^`\n]*\1")
_TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$", re.M)
_LIKE_LMM = r"(?:(?i:lmm|llm|lm|lmmm|lrm)\b[ \t:]*)"
_WORD = re.compile(r"[\w-]+")

LMM = "lmm"
UNDER_TEXT = "a metadata block needs an empty line before it: it is read as text"
NO_COMMENT = (
    "this comment is not read as metadata: after an empty line, and where the text around it begins, write a line "
    "`<!-- lmm` and nothing else in it, the YAML below it, and a line `-->`"
)
IN_FENCE = (
    "this YAML is code, and is shown: if it is metadata, replace the fences by two lines `---`, the first of them "
    "after an empty line"
)
NO_BLOCK = (
    "`{key}` is in no block and is read as text: a block begins with a line `---`, at the start of its line, "
    "after an empty line and with none below it, contains `key: value`, and ends with a line `---`"
)
ASKED_NOWHERE = (
    "`{sign}:` is in no block and is read as text: put it between two lines `---`, the first of them after "
    "an empty line and with none below it"
)


class Place(NamedTuple):
    """A line that looks like a mark.

    at: its number in the text, from 0
    allowed: words that are not reported"""

    text: CheckedText
    at: int
    match: re.Match[str]
    allowed: frozenset[str]

    @property
    def line(self) -> str:
        return self.text.lines[self.at]

    def next(self, is_wanted: Callable[[str], bool]) -> int:
        """Return the number of the next line that is wanted, or the number of lines."""
        lines = self.text.lines
        return next((at for at in range(self.at + 1, len(lines)) if is_wanted(lines[at])), len(lines))


def find_marks(text: CheckedText, allowed: frozenset[str]) -> Iterator[Finding]:
    """Yield the findings of all rules, at most one for each line."""
    reported: set[int] = set()
    for code, needle, pattern, test, advice in RULES:
        for match in pattern.finditer(text.padded) if needle in text.source else ():
            at = text.number(match.start())
            if at not in reported and (end := test(Place(text, at, match, allowed))):
                reported.update(range(at, end))
                yield Finding(text.first + at, code, advice.format(**match.groupdict()))


def _div_under_text(place: Place) -> int:
    is_under_text = place.at in place.text.prose and is_metadata_div(place.line) and place.text.above(place.at)
    return place.next(lambda line: line.startswith(":::")) + 1 if is_under_text else 0


def _native_under_text(place: Place) -> int:
    if place.at not in place.text.prose or not place.text.above(place.at):
        return 0
    end = place.next(lambda line: line.rstrip() in ("---", "..."))
    is_ours = end < len(place.text.lines) and _holds_ours(place.text.body(place.at + 1, end))
    return end + 1 if is_ours else 0


def _comment(place: Place) -> int:
    text, at, match = place.text, place.at, place.match
    end = text.padded.find("-->", match.end())
    content = text.padded[match.end() : end if end >= 0 else None]
    if not match["name"] and not any(key in content for key in DECIDING):  # fast path
        return 0
    body = re.sub(r"^[ \t>]*", "", content, flags=re.M).strip() + "\n"
    is_ours = _holds_ours(body) if match["name"] else _are_ours(body)
    is_ours = is_ours or COMMENT_OPEN.match(text.padded, match.start()) is not None
    is_comment = (at in text.prose or at in text.comments) and "<!--" in _CODE_SPAN.sub("", place.line)
    return text.comments.get(at, at) + 1 if is_ours and is_comment and not text.is_code_in_item(at) else 0


def _fence_with_keys(place: Place) -> int:
    text, fence = place.text, place.match["fence"]
    is_in_metadata = any(typing_errors(word.lower(), LMM, 1) < 2 for word in _WORD.findall(text.above(place.at)))
    if place.at not in text.fences or is_in_metadata or text.is_code_in_item(place.at):
        return 0
    end = place.next(lambda line: line.lstrip("> \t").startswith(fence))
    return end + 1 if end < len(text.lines) and _are_ours(text.body(place.at + 1, end)) else 0


def _holds_ours(body: str) -> bool:
    parsed = parse_metadata(body)
    return bool(parsed.messages) or any(map(is_block_key, parsed.content or {}))


def _are_ours(body: str) -> bool:
    keys = set(parse_metadata(body).content or {}) if any(key in body for key in DECIDING) else set()
    return all(map(is_block_key, keys)) and not DECIDING.isdisjoint(keys)


def _keys_in_no_block(place: Place) -> int:
    text, at = place.text, place.at
    if at not in text.prose or place.match["key"] in place.allowed or text.is_code_in_item(at):
        return 0
    bare, start, end = text.bare, at, at + 1
    while start and bare[start - 1] and not _RULE.match(bare[start - 1]):
        start -= 1
    while end < len(bare) and bare[end] and not _RULE.match(bare[end]):
        end += 1
    content = parse_metadata(_KEY_SIGN.sub(r"\1: ", "".join(f"{line}\n" for line in bare[start:end]))).content
    if content is None:
        return 0
    above = next((line for line in range(start - 1, -1, -1) if bare[line]), -1)
    below = next((line for line in range(end, len(bare)) if bare[line]), -1)
    is_between = min(above, below) >= 0 and bool(_RULE.match(bare[above]) and _RULE.match(bare[below]))
    is_adjacent = above == start - 1 or below == end
    decided = (content.get(word) for key in DECIDING for word in (key, f"~{key}"))
    values = [word for value in decided for word in (["false"] if value is False else types_of(value))]
    decides = bool(values) and all(len(value.split()) == 1 for value in values)
    if is_between:
        return end if is_adjacent or decides else 0
    return end if decides and all(map(is_block_key, content)) else 0


def _is_asked(place: Place) -> int:
    text, at = place.text, place.at
    if at not in text.prose or ("|" in place.line and _TABLE.search(text.source)):
        return 0
    return 0 if without_code(text.source)[place.match.start("sign") - 1].isspace() else at + 1


# Code, a text in such lines, their pattern, a test, and advice. The test returns the number of the line after the
# finding, or 0 for a correct line.
RULES = tuple(
    (code, needle, re.compile(pattern), test, advice)
    for code, needle, pattern, test, advice in (
        ("no-blank-line", ":::", r"\n:::[^\n]*lmm", _div_under_text, DIV_UNDER_TEXT),
        ("no-blank-line", "---", r"\n---[ \t]*\r?\n(?=[ \t]*\S)", _native_under_text, UNDER_TEXT),
        ("near-miss", "<!--", rf"<!---*[ \t]*(?P<name>{_LIKE_LMM})?", _comment, NO_COMMENT),
        ("near-miss", "ml", _YAML, _fence_with_keys, IN_FENCE),
        ("near-miss", "", _KEY_LINE, _keys_in_no_block, NO_BLOCK),
        ("no-block", "", r"\n[ ]{0,3}(?P<sign>[?+=]):(?:[ \t]+\S|[^\W\d_])", _is_asked, ASKED_NOWHERE),
    )
)


_COLONS = re.compile(rf"\n{_BEFORE}(?P<colons>[:\uff1a]{{2,}})(?P<rest>[^\n]*)")
STRAY = (
    "colons that open or close no div, so text that should be left out may be shown: a div needs a blank line before "
    "it, begins at the start of its line (in a list, where the item's text begins), has one class "
    "(`::: exercise`) or attributes in braces (`::: {.exercise .hard}`), and is closed by a line `:::`"
)


def find_stray_colons(text: CheckedText, types: frozenset[str], rules: KnitRules) -> Iterator[Finding]:
    """Yield colons that open or close no div; `types` are words that make a div RAG-only."""
    candidates = [*_COLONS.finditer(text.padded)] if "::" in text.source or "\uff1a" in text.source else []
    fences = _fences(text) if candidates else {}
    opened = 0  # stray colons with a word, closed by bare ones
    for match in candidates:
        at, rest = text.number(match.start()), match["rest"]
        if at not in text.prose and at not in fences:
            continue
        if at in fences:
            is_stray = fences[at] and text.is_beside_item(at)
        else:
            is_stray = len(match["colons"]) > 2 or not {"lmm", *types}.isdisjoint(_WORD.findall(rest))
            is_stray = is_stray and not text.is_indented_code(at)
            if is_stray:
                closes = not rest.strip(" \t\r:\uff1a")
                is_stray = not (closes and opened)
                opened = max(0, opened - 1) if closes else opened + 1
        if is_stray:
            is_open = any(cut.is_unclosed and cut.line == at for cut in parts_and_cuts(text.source, rules)[1])
            yield Finding(text.first + at, "stray-colons", NOT_CLOSED if is_open else STRAY)


def _fences(text: CheckedText) -> dict[int, bool]:
    fences: dict[int, bool] = {}
    for line, part, source in text.parts:
        if source.lstrip(" \t").startswith(":::"):
            fences[line + len(source.splitlines()) - 1] = False
            fences[line] = part.metadata is not None or bool(part.attributes.classes)
    return fences


_BRACES = re.compile(r"\{([^{}\n]{1,500})\}")
_TYPED = re.compile(r"(?:(?<![\w.])\.|\btype=[\"']?|\b(?=knit=[\"']?false\b))([\w-]+)")
_TAG = re.compile(r"<(?!div\b)[a-z][\w-]*[ \t][^<>]{1,500}>", re.I)
_TAG_WORDS = re.compile(r"\b(?:class|type)=(?:\"([^\"]*)|'([^']*)|([\w-]+))", re.I)
# Code, and boxes of MyST, MkDocs and Obsidian, with their first word
_BOX = re.compile(_BEFORE + r"(?P<opened>(?:`{3,}|~{3,}|!{3}|\?{3}\+?|\[!)[ \t]*\{?(?P<word>[\w-]+)[}\]]?)")
KNIT = "knit"  # of `knit=false`
ELSEWHERE = (
    "{0} leaves nothing out: only a div does. Put the part in one (`::: {{{2}}}`), or put a block with `{1}` before it"
)


def find_types_elsewhere(
    blocks: Sequence[Block], texts: Sequence[CheckedText], types: frozenset[str]
) -> Iterator[Finding]:
    """Yield types at headings, code and other elements, where they have no effect."""
    types = types | {KNIT}
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
    colons = _COLONS.match("\n" + text.lines[at])
    return at in text.prose and not text.is_indented_code(at) and not (colons and len(colons["colons"]) > 2)


def _on_others(line: str, number: int, types: frozenset[str]) -> Iterator[Finding]:
    for attribute, words in _attributes(line):
        if types_there := types.intersection(words):
            word = min(types_there)
            key, div = ("knit: false", "knit=false") if word == KNIT else ("type:", f".rag-only type={word}")
            yield Finding(number, "type-elsewhere", ELSEWHERE.format(attribute, key, div))


def _attributes(line: str) -> Iterator[tuple[str, list[str]]]:
    bare = _CODE_SPAN.sub("", line)
    for braces in _BRACES.finditer(bare):
        yield braces[0], _TYPED.findall(braces[1])
    for tag in _TAG.finditer(bare):
        yield tag[0], " ".join(map("".join, _TAG_WORDS.findall(tag[0]))).split()
    if opened := _BOX.match(line):
        yield opened["opened"], [opened["word"], opened["word"].lower()]


# Similar words


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the word that an unknown one probably misspells, or "".

    One typing error is allowed (see `typing_errors`), or two in words of eight or more letters.
    """
    distances = [(distance, other) for other in words if (distance := _slips(word, other)) is not None]
    return min(distances)[1] if distances and word not in {other for _, other in distances} else ""


@lru_cache(1000)
def _slips(word: str, candidate: str) -> int | None:
    lower, other = word.lower(), candidate.lower()
    allowed = 0 if len(other) < 4 else 1 if len(other) < 8 else 2
    if abs(len(lower) - len(other)) > allowed:
        return None
    slips = 0 if lower == other else typing_errors(lower, other, allowed)
    return slips if slips <= allowed else None


def is_nearly_lmm(name: str) -> bool:
    """Return True for a misspelled `lmm`. Check the content too, since other short words are as similar."""
    return name != LMM and typing_errors(name[:9].lower(), LMM, 1) <= 1
