"""Regions of a text that are never split: code, comments, HTML, LaTeX, fenced divs, front matter.

All lookups together take linear time: failures are cached, and pairs are matched once.

Rules: CommonMark 0.31 for fences and HTML, Pandoc's manual for divs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .blocks import ATTRIBUTES, Attributes, parse_attributes

# Indentation and list markers. Possessive runs of blanks prevent backtracking; possessive groups would keep captures
# of failed matches before Python 3.11.5.
_PREFIX = r"[ \t]*+(?:(?:[-*+]|\(?[@#]?\w{0,9}+[.)])[ \t]++)*"
_FENCE = re.compile(rf"(?P<prefix>{_PREFIX})(?P<fence>`{{3,}}(?!`)(?=[^`\n]*(?:\n|\Z))|~{{3,}})")
_HTML = re.compile(
    r"[ ]{0,3}<(?:(?P<verbatim>script|pre|style|textarea)(?=[ \t>\r\n]|\Z)"
    r"|(?P<mark>!--|\?|!\[CDATA\[|![A-Za-z])"
    r"|(?P<tag>[A-Za-z]+)(?=[ \t/>\r\n]|\Z))",
    re.I,
)
_BEGIN = re.compile(r"[ ]{0,3}\\begin\{(?P<name>[A-Za-z]+\*?)\}")
_MARK_ENDS = {"!--": "-->", "?": "?>", "![CDATA[": "]]>"}
CONTAINERS = frozenset(
    """address article aside blockquote center details dialog div dl fieldset figure footer form header iframe main
    menu nav ol section table ul""".split()
)
_HTML_LINE = re.compile(rf"^(?:{_PREFIX}<[^\n]*|[^\n]*</[A-Za-z]+>[ \t]*\r?$)", re.M)  # also an end behind words
_TAG = re.compile(r"<(/?)([A-Za-z]+)(?=[\s/>])[^<>\n]*?(/?)>")
_ENVIRONMENT = re.compile(r"^[ \t]*\\(begin|end)\{([A-Za-z]+\*?)\}", re.M)
_TICKS = re.compile("`+|~~~+")
_TICKS_OR_COMMENT = re.compile("`+|~~~+|<!--")
_CODE = re.compile(r"[ ]{4}|[ ]{0,3}\t")  # the indent of code outside of list items

DIV_OPEN = re.compile(
    rf":{{3,}}[ \t]*+(?P<attributes>{ATTRIBUTES}|(?!{ATTRIBUTES})[^\s:]\S*+)[ \t]*+:*+[ \t]*+\r?(?=\n|\Z)"
)
DIV_CLOSE = re.compile(r":{3,}[ \t]*\r?(?=\n|\Z)")
SPECIAL = re.compile(rf"{_PREFIX}(?:```|~~~|<[!?A-Za-z]|\\begin\{{)")
BLANKS = re.compile(r"(?:[ \t]*+\r?\n)*(?:[ \t]*+\r?\Z)?")
# a paragraph's end with blank lines, or a line that may open a region
_STOP = re.compile(rf"\n(?:(?P<end>[ \t]*+\r?(?:\n{BLANKS.pattern}|\Z))|(?={SPECIAL.pattern}))")
_IN_DIV = re.compile(rf"\n(?=:::|{SPECIAL.pattern})")
_HEADING_LINE = re.compile(r"#{1,6}(?:[ \t]|\r?\n)")
_CONTAINER = re.compile(  # first line of a quote or line block (short), item, footnote or definition
    r"[ ]{0,3}(?:(?P<short>>|\|[ ])|[ ]|\t"
    r"|(?:[-*+:~]|(?:\d{1,9}|\#|[a-z]|[ivxlcdm]+)[.)]|\((?:@\w*|\#|\w{1,4})\)|[A-Z][.)][ ]|\[\^[^\]\s]+\]:)[ \t])"
)
_DEFINED = re.compile(r"\n[ ]{0,2}[:~][ \t]")
_TIGHT = re.compile(r"\n(?=[^ \t\r\n])")


@lru_cache(maxsize=128)
def _fence_close(fence: str, indented: bool) -> re.Pattern[str]:
    indent = "[ \t]+" if indented else "[ ]{0,3}"
    return re.compile(rf"\n{indent}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\r?(?=\n|\Z)")


def without_code(text: str) -> str:
    """Return a text with code spans blanked out."""
    parts, at = list[str](), 0
    for start, end in sorted(_code_ends(text).items()):
        if start >= at:
            parts += [text[at:start], " " * (end - start)]
            at = end
    return "".join([*parts, text[at:]])


def _code_ends(text: str) -> dict[int, int]:
    ends: dict[int, int] = {}
    closing: dict[str, int] = {}  # end of the next run
    for ticks in reversed([*_TICKS.finditer(text)]):
        if ticks[0] in closing:
            ends[ticks.start()] = closing[ticks[0]]
        closing[ticks[0]] = ticks.end()
    return ends


def without_comments(text: str) -> str:
    """Return a text without closed HTML comments, but with their line ends. Comments in code stay."""
    parts, at = list[str](), 0
    if "<!--" not in text:
        return text
    ends, code_end = _code_ends(text), 0
    for mark in _TICKS_OR_COMMENT.finditer(text):
        start = mark.start()
        if start < max(at, code_end):
            continue
        if mark[0] != "<!--":
            code_end = ends.get(start, mark.end())
        elif (end := text.find("-->", start)) >= 0:
            parts += [text[at:start], "\n" * text.count("\n", start, end)]
            at = end + 3
        else:
            break
    return "".join([*parts, text[at:]])


def div_attributes(line: str) -> Attributes:
    """Return the attributes of a div's opening line."""
    opening = DIV_OPEN.match(line)
    return parse_attributes(opening["attributes"]) if opening else Attributes()


class Forward:
    """A regex search with a cached match, cheap for increasing positions."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self.pattern = pattern
        self.text = text
        self._from = self._start = -1
        self._match: re.Match[str] | None = None

    def search(self, pos: int) -> re.Match[str] | None:
        """Return the first match at or after `pos`."""
        if not (0 <= self._from <= pos <= self._start):
            self._match = self.pattern.search(self.text, pos)
            self._from, self._start = pos, self._match.start() if self._match else len(self.text)
        return self._match


class Regions:
    """The ends of regions; positions are character offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unclosed: dict[int, str] = {}
        self._dead: dict[str, list[tuple[int, int]]] = {}
        self._has_comments = "<!--" in text
        self._tight = Forward(_TIGHT, text)
        self._divs: dict[int, int | None] = {}
        self._html: dict[int, int] | None = None
        self._environments: dict[int, int] | None = None

    def line_end(self, pos: int) -> int:
        """Return the position after the line that contains `pos`."""
        at = self.text.find("\n", pos)
        return len(self.text) if at < 0 else at + 1

    def end(self, pos: int) -> int | None:
        """Return the end of the region opened at `pos` (no fenced div), or None."""
        if found := _FENCE.match(self.text, pos):
            return self._fence_end(pos, found)
        if found := _HTML.match(self.text, pos):
            return self._html_end(pos, found)
        if found := _BEGIN.match(self.text, pos):
            return self._environment_ends().get(pos)
        return None

    def next_end(self, pos: int, stop: int) -> tuple[int, int, bool]:
        """Return start and end of the first region in the paragraph at `pos`, and True.

        Without one, return the ends of the paragraph and of its trailing blank lines, and False. A fenced div is
        recognized only at `pos` itself.
        """
        text = self.text
        if text.startswith(":::", pos) and self._opens_div(pos) and (end := self.div_end(pos)):
            return pos, end, True
        if SPECIAL.match(text, pos) and (end := self.end(pos)):
            return pos, end, True
        match = _STOP.search(text, pos, stop)
        while match and match["end"] is None:
            if end := self.end(match.end()):
                return match.end(), end, True
            match = _STOP.search(text, match.end(), stop)
        at, after = (match.start() + 1, match.end()) if match else (stop, stop)
        if self._has_comments and (end := self._comment_end(pos, at)):
            return at, end, True
        return at, after, False

    def _opens_div(self, pos: int) -> bool:
        return (pos == 0 or self.text[pos - 1] == "\n") and DIV_OPEN.match(self.text, pos) is not None

    def _fence_end(self, pos: int, opening: re.Match[str]) -> int | None:
        fence, prefix = opening["fence"], opening["prefix"]
        in_list = bool(prefix.strip())
        if not in_list and (len(prefix) > 3 or "\t" in prefix):
            return None
        close = self.fence_close(fence, self.line_end(pos) - 1, in_list)
        return self.line_end(close.end()) if close else self._note(pos, "code fence")

    def fence_close(self, fence: str, after: int, in_list: bool = False) -> re.Match[str] | None:
        """Return the closing line of a code fence, searched from `after`, or None.

        A list item ends with the first unindented line.
        """
        item_end = self._tight.search(after) if in_list else None
        stop = item_end.start() if item_end else len(self.text)
        key = f"{fence[0]}{in_list}{stop}"
        if self._is_dead(key, after, len(fence)):
            return None
        close = _fence_close(fence, in_list).search(self.text, after, stop)
        if close is None:
            self._bury(key, after, len(fence))
        return close

    def _is_dead(self, key: str, pos: int, length: int = 0) -> bool:
        """Return True if an equivalent search failed before; positions may decrease."""
        failures = self._dead.get(key)
        return failures is not None and any(pos >= at and length >= least for at, least in failures)

    def _bury(self, key: str, pos: int, length: int = 0) -> None:
        failures = self._dead.get(key, [])
        remaining = [(at, least) for at, least in failures if not (at >= pos and least >= length)]
        self._dead[key] = [*remaining, (pos, length)]

    def _note(self, pos: int, kind: str) -> int | None:
        self.unclosed[pos] = kind
        return None

    def _find(self, needle: str, pos: int, kind: str, start: int) -> int | None:
        if self._is_dead(needle, start):
            return self._note(pos, kind)
        at = self.text.find(needle, start)
        if at < 0:
            self._bury(needle, start)
            return self._note(pos, kind)
        return self.line_end(at + len(needle) - 1)

    def _html_end(self, pos: int, match: re.Match[str]) -> int | None:
        if mark := match["mark"]:
            kind = "comment" if mark == "!--" else f"<{mark}"
            return self._find(_MARK_ENDS.get(mark, ">"), pos, kind, match.end())
        if match["verbatim"]:
            return self._verbatim_end(pos, match)
        if match["tag"].lower() in CONTAINERS:
            return self._html_ends().get(pos)
        return None

    def _verbatim_end(self, pos: int, opening: re.Match[str]) -> int | None:
        close = None
        if not self._is_dead("</", pos):
            close = re.compile(r"</(?:script|pre|style|textarea)>", re.I).search(self.text, opening.end())
        if close is None:
            self._bury("</", pos)
            return self._note(pos, f"<{opening['verbatim']}>")
        return self.line_end(close.end() - 1)

    def _html_ends(self) -> dict[int, int]:
        if self._html is None:
            self._html = {}
            open_tags: dict[str, list[int]] = {}
            for line in _HTML_LINE.finditer(self.text):
                first = line[0].find("<")
                for tag in _TAG.finditer(line[0]):
                    self._count_tag(open_tags, line, tag, tag.start() == first)
        return self._html

    def _count_tag(self, open_tags: dict[str, list[int]], line: re.Match[str], tag: re.Match[str], first: bool) -> None:
        assert self._html is not None
        name = tag[2].lower()
        stack = open_tags.setdefault(name, [])
        if not tag[1] and not tag[3]:
            stack.append(line.start() if first else -1)
        elif tag[1] and stack and (at := stack.pop()) >= 0:
            self._html[at] = self.line_end(line.end())

    def _environment_ends(self) -> dict[int, int]:
        if self._environments is None:
            self._environments = {}
            stacks: dict[str, list[int]] = {}
            for match in _ENVIRONMENT.finditer(self.text):
                stack = stacks.setdefault(match[2], [])
                if match[1] == "begin":
                    stack.append(match.start())
                    line_end = self.line_end(match.end())
                    if self.text.find(f"\\end{{{match[2]}}}", match.end(), line_end) >= 0:
                        self._environments[stack.pop()] = line_end
                elif stack:
                    self._environments[stack.pop()] = self.line_end(match.end())
        return self._environments

    def _comment_end(self, pos: int, stop: int) -> int | None:
        """Return the end of a comment that begins in the paragraph and ends after it."""
        if self.text.find("<!--", pos, stop) < 0 or self._is_dead("-->", stop):
            return None
        prose = without_code(self.text[pos:stop])
        at = prose.rfind("<!--")
        if at < 0 or prose.find("-->", at) >= 0:
            return None
        end = self.text.find("-->", stop)
        if end < 0:
            self._bury("-->", stop)
        if end < 0 or self._leaves_container(pos, stop, end):
            return None if _CODE.match(self.text, pos) else self._note(pos, "comment")
        return end + 3

    def _leaves_container(self, pos: int, stop: int, end: int) -> bool:
        container = _CONTAINER.match(self.text, pos)
        if container is None and not _DEFINED.search(self.text, pos, stop):
            return False
        if container is not None and container["short"]:
            return True
        below = self._tight.search(stop)
        return below is not None and below.start() < end

    def div_end(self, pos: int) -> int | None:
        """Return the end of the fenced div opened at `pos`, or None."""
        if pos not in self._divs:
            self._pair_divs(pos)
        end = self._divs[pos]
        return self._note(pos, "fenced div") if end is None else end

    def _pair_divs(self, pos: int) -> None:
        stack = [pos]
        region = after = self.line_end(pos)
        while stack and (match := _IN_DIV.search(self.text, after - 1)):
            at = match.end()
            after = self.line_end(at)
            if self.text.startswith(":::", at):
                self._count_div(stack, at, after, region)
            elif end := self.end(at):
                after = region = end
        for start in stack:
            self._divs[start] = None

    def _count_div(self, stack: list[int], at: int, after: int, region: int) -> None:
        if DIV_CLOSE.match(self.text, at):
            self._divs[stack.pop()] = after
        elif DIV_OPEN.match(self.text, at) and (at == region or self.open_line(at)):
            stack.append(at)

    def open_line(self, at: int) -> bool:
        """Return True if a div can start at `at`: not directly under a paragraph."""
        line_start = self.text.rfind("\n", 0, at - 1) + 1 if at else 0
        line = self.text[line_start:at]
        return not line.strip() or bool(_HEADING_LINE.match(line)) or line.startswith(":::")


def split_fences(text: str) -> list[tuple[bool, str]]:
    """Return a text's parts, each with a flag for fenced code."""
    if "```" not in text and "~~~" not in text:  # fast path
        return [(False, text)] if text else []
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if fence:
            parts[-1][1].append(line)
            if bare.startswith(fence) and not bare.strip(fence[0]):
                parts.append((False, []))
                fence = ""
        elif opening := _FENCE.match(line):
            fence = opening["fence"]
            parts.append((True, [line]))
        else:
            parts[-1][1].append(line)
    return [(code, "".join(lines)) for code, lines in parts if lines]


# Proposed edits (`markdown.edits`)

EDIT_MARKER = re.compile(
    r"^######[ \t]+(?:old text|new text|end of edit)[ \t]+\{#lmm-(?P<kind>old|new|end)-(?P<id>[0-9a-z]+)\}[ \t]*\r?$",
    re.M,
)


def edit_regions(text: str) -> dict[int, int]:
    """Return the ends of the edits whose markers are complete, by start."""
    by_id: dict[str, list[re.Match[str]]] = {}
    for marker in EDIT_MARKER.finditer(text) if "{#lmm-" in text else ():
        by_id.setdefault(marker["id"], []).append(marker)
    complete = (["old", "new", "end"], ["new", "end"])
    edits = (markers for markers in by_id.values() if [marker["kind"] for marker in markers] in complete)
    return {markers[0].start(): markers[-1].end() for markers in edits}


# Front matter (few documents need these patterns: compiled on first use)

_TOML = r"\+\+\+[ \t]*\r?\n(?:[^\n]*\n)*?\+\+\+[ \t]*\r?(?:\n|\Z)"  # Hugo, Zola
# https://pandoc.org/MANUAL.html#extension-pandoc_title_block
_TITLE_BLOCK = r"%[^\n]*(?:\n|\Z)(?:(?:%|[ \t]+\S)[^\n]*(?:\n|\Z))*"
# MultiMarkdown, Pelican and MkDocs: `Title: …`
_FIELD = r"(?:[A-Za-z][\w -]*:[^\n]*|[ \t]+\S[^\n]*)(?:\n|\Z)"
_FIELDS = (
    rf"(?i)(?=(?:{_FIELD})*?title:)(?:title|author|date|category|slug|layout|template|status|tags):[ \t]*\S[^\n]*"
    rf"(?:\n|\Z)(?:{_FIELD})+(?=[ \t]*\r?(?:\n|\Z))"
)
_FRONT_MATTER = (("TOML", _TOML), ("Pandoc title block", _TITLE_BLOCK), ("`Title: …`", _FIELDS))


def match_front_matter(text: str, pos: int) -> tuple[str, int] | None:
    """Return language and end of non-YAML front matter at `pos`, or None."""
    if text[pos] in "#-<:":  # usual documents
        return None
    for language, pattern in _FRONT_MATTER:
        if match := re.compile(pattern).match(text, pos):
            return language, match.end()
    return None
