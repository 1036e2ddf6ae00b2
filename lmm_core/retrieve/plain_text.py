"""Convert markdown to plain text as rendered, for the ask box and best matches."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from ..indexing.passages import Material
from ..logging import printable
from ..markdown.formulas import readable_math
from ..markdown.regions import split_fences, without_comments
from ..scan.documents.conditions import CELL_OPTION
from ..scan.knit import LEFT_OUT, is_cross_reference
from .items import join_blank_lines, without_fences

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*\n?", re.M)
_FENCE_OPEN = re.compile(r"[ \t]*(`{3,}|~{3,})")
_LINE = re.compile(r"^(?=[^\n])", re.M)
_COLUMNS = re.compile(r"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*")  # the rule of a simple table
_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_RAW = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?:\{=|\{?\.?(?:mermaid|dot|graphviz|plantuml)\b)")  # also of diagrams
_SOFT_BREAK = re.compile(r"(?=[ \t\n])(?<=\S)[ \t]*\n(?=[^\s>|:#])(?!(?:[-*+]|\d+[.)])(?:\s|\Z))")
_ITEM_BREAK = re.compile(  # in an item, before an indented line that continues it
    r"(^[ ]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+[^\n]*(?:\n[ ]{2,}(?![-*+|:>#][ \t]|\d+[.)])\S[^\n]*)+)", re.M
)
_FOOTNOTE = re.compile(r"^ {0,3}\[\^[^\]\n]+\]:([^\n]*(?:\n(?: {2,}|\t)[^\s`~][^\n]*)*)", re.M)
_ATTRIBUTES = r"\{(?:-|:?[ ]*(?:[.#][\w:-]|[\w:-]+=)[^{}\n]*)\}"
# Lines that are not shown: rules and separators, marks of captions, definitions of links and in TeX, empty items,
# attributes. (First their possible beginnings, for speed.)
_NOT_READ = re.compile(
    r"^(?=[ \t|+:\-=*_T\[\d{\\])(?:[ \t]*(?:[|+][ \t]*)?:?[-=]{2,}[-=:|+ \t]*(?:\n|\Z)"
    r"|[ \t]*([*_-])(?:[ \t]*\1){2,}[ \t]*$"
    r"|[ \t]*(?:Table)?:[ \t]+|[ \t]*\[[^\[\]^][^\[\]]*\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?$|[ \t]*(?:[-*+]|\d+[.)])[ \t]*$"
    rf"|[ \t]*{_ATTRIBUTES}[ \t]*$|[ \t]*\\(?:newpage|(?:re)?newcommand\b.*)$)",
    re.M,
)
_ADMONITION = re.compile(r'^ *(?:(?:!!!|\?\?\?\+?)[ ]+[\w-]+(?:[ ]+[\w-]+)*|===[+!]?)(?:[ ]+"([^"\n]*)")?[ \t]*$', re.M)
_VERBATIM = re.compile(r"\{%-?[ ]*(?:end)?raw[ ]*-?%\}")  # Liquid's tags around templates shown as they are
_INCLUDED = re.compile(  # files that mdBook includes
    r"^[ \t]*(?<!\\)\{\{#(?:include|rustdoc_include|playground|playpen|title)[ ][^{}\n]*\}\}[ \t]*(?:\n|\Z)", re.M
)
_BULLET = re.compile(r"^([ \t]*)[*+](?=[ \t]+\S)", re.M)
_DEFINED = re.compile(r"^[ \t]*\[([^\[\]\n^]+)\]:[ \t]*\S", re.M)  # a link's label
# on one line or several, also without delimiters
_FORMULA = re.compile(r"\$\$(?:[^$\n]|\n(?!\n))+\$\$|^[ \t]*(\\begin\{(\w+\*?)\}[^$]*?\\end\{\2\})", re.M)
_QUOTED = re.compile(r"^ {0,3}(?:>[ \t]?)+", re.M)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)(?:\n|\Z)", re.M)
_HARD_BREAK = re.compile(r"\\\n")
# Parts of a line that hold no other markup: escapes, code, formulas, shortcodes and tags of templates, values that only
# the site's generator knows, addresses, HTML, entities, icons (of Material for MkDocs and others), attributes
_PARTS = re.compile(
    r"(?=[\\`$<&{: ])(?:\\(?P<escaped>[!-/:-@\[-`{-~])"
    rf"|(?<!`)(?P<ticks>`++)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)(?:(?P<raw>\{{=\w+\}})|{_ATTRIBUTES})?"
    rf"|\$\$(?P<displayed>[^$]+)\$\$(?:[ ]?{_ATTRIBUTES})?|(?<!\$)\$(?=[^\s$])(?P<inline>[^$]+)(?<=\S)\$(?!\d)"
    r"|\{%[^{}]*%\}|\{\{[<%][^{}]*[>%]\}\}|(?P<value>\{\{(?!#)[^{}]*\}\})"
    r"|<(?P<address>(?:https?|mailto):[^<>\s]+|[\w.+-]+@[\w.-]+)>|</?[A-Za-z][^<>]*>"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});)"
    rf"|:[a-z]+(?:-[a-z0-9]+)+:(?:\{{[^{{}}]*\}})?[ ]?|[ ]?{_ATTRIBUTES}$)"
)
_BRACKETS = re.compile(
    r"(?P<before>[ ]?[!^]?)\[(?P<text>[^\[\]]*)\](?P<target>\((?:[^()]|\([^()]*\))*\)|\[[^\[\]^]*\])?"
    rf"(?P<attributes>{_ATTRIBUTES})?"
)
_CITATION = re.compile(r"(?:.*[\s;-])?@\w.*|\^\S.*")  # in brackets, or the sign of a footnote
_REFERENCE = re.compile(r"(?<![\w@])-?@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))")
_AUTHOR = re.compile(r"([^\W\d_]{2,})[\W_]*((?:1[5-9]|20)\d\d)[a-z]?")
_EMPHASIS = re.compile(r"\*+|_+|~~+")
_IN_WORD = re.compile(r"[^\W_぀-ヿ㐀-鿿]")
_MARKUP = re.compile(r"[\\`$<&{*_~\[@]|:[a-z]")
_DEEPEST = 20  # nesting of brackets
_SIGNS_OF_MARKUP = re.compile(r"([\\`*_\[\]<|~$@^]|^[>#])", re.M)

# Delimiters of a formula: start of Unicode, start of TeX (inline, displayed), end; of a part's number; brackets of text
_BEGIN, _INLINE, _DISPLAYED, _END, _PART, _PART_END, _OPEN, _CLOSE = map(chr, range(0xE000, 0xE008))
_SIGNS = f"{_BEGIN}{_INLINE}{_DISPLAYED}{_END}"
_OUR_SIGNS = re.compile(f"[{_BEGIN}-{_CLOSE}]")
_NUMBER = re.compile(f"{_PART}([0-9]+){_PART_END}")
_MARKED = re.compile(f"{_BEGIN}([^{_SIGNS}]*)[{_INLINE}{_DISPLAYED}][^{_SIGNS}]*{_END}")


def plain_text(markdown: str, words: Mapping[str, str] | None = None, links: Collection[str] = ()) -> str:
    """Return markdown as plain text, without fences, attributes, citations, link targets and markup.

    Formulas are in Unicode and TeX (see `in_unicode`); code is indented by four spaces.
    words: rendered texts of labels; links: labels that the document defines elsewhere (`link_labels`)"""
    if not markdown:
        return ""
    text = _INCLUDED.sub("", _without_admonitions(_without_signs(markdown)))
    pieces = split_fences(without_fences(text))
    unquoted = "".join(piece if is_code else _QUOTED.sub("", piece) for is_code, piece in pieces)
    labels = link_labels(text).union(links)
    parts = []
    for is_code, piece in split_fences(unquoted):
        if is_code:
            parts.append("" if _RAW.match(piece) else _LINE.sub("    ", _FENCE.sub("", CELL_OPTION.sub("", piece))))
        else:
            lines = (_Line(words or {}, labels).plain(line) for line in _paragraphs(piece).split("\n"))
            parts.append("\n".join(lines) + "\n")
    return join_blank_lines("".join(parts)).strip("\n").rstrip()


def plain_line(markdown: str) -> str:
    """Return a title as plain text, with formulas as in `plain_text`."""
    return _Line({}, ()).plain(without_comments(_without_signs(markdown)))


def plain_title(markdown: str) -> str:
    """Return a title as plain text, with formulas in Unicode."""
    return in_unicode(plain_line(markdown))


def titles_path(titles: Iterable[str], separator: str = " > ") -> str:
    """Return titles as one line of plain text."""
    return separator.join(filter(None, map(plain_title, titles)))


def escape(text: str) -> str:
    """Escape plain text as markdown."""
    return _SIGNS_OF_MARKUP.sub(r"\\\1", text)


def in_unicode(text: str) -> str:
    """Return the result of `plain_text` without the TeX of its formulas."""
    return _MARKED.sub(r"\1", text) if _BEGIN in text else text


def _without_signs(text: str) -> str:
    return _VERBATIM.sub("", _OUR_SIGNS.sub("", text))


def _without_admonitions(text: str) -> str:
    """Replace admonitions and tabs (Python-Markdown) by title lines and dedented text; code keeps them.

    An indented beginning is the rest of an admonition."""
    if not _ADMONITION.search(text):
        return text
    lines, fence = list[str](), ""  # fence: of open code
    margins = [0] if text.startswith("    ") else []  # of open admonitions
    for line in text.split("\n"):
        margin = len(line) - len(line.lstrip(" "))
        while line.strip() and margins and not fence and margin < margins[-1] + 4:
            margins.pop()
        text_of_line = line[4 * len(margins) :]
        opening = _FENCE_OPEN.match(text_of_line)
        if fence or opening:
            fence = _open_fence(fence, text_of_line, opening)
        elif head := _ADMONITION.fullmatch(line):
            margins.append(margin)
            text_of_line = f"{text_of_line[: len(text_of_line) - len(text_of_line.lstrip())]}{head[1] or ''}\n"
        lines.append(text_of_line)
    return "\n".join(lines)


def _open_fence(fence: str, line: str, opening: re.Match[str] | None) -> str:
    """Return the fence open after a line, or "". fence: open before it; opening: the line's fence."""
    if not fence:
        return opening[1] if opening else ""
    is_close = opening is not None and line.strip() == opening[1] and opening[1].startswith(fence)
    return "" if is_close else fence


def link_labels(markdown: str) -> set[str]:
    """Return the labels that a text defines as links, without case and ticks."""
    return {label.casefold().replace("`", "") for label in _DEFINED.findall(markdown)} if "]:" in markdown else set()


def labels_in(material: Material) -> tuple[dict[str, str], set[str]]:
    """Return the texts for sections' labels, and the labels of links, with titles as in Pandoc."""
    titles = {label: plain_title(title) for label, title in material.titles.items()}
    links = set(map(str.casefold, titles.values()))
    links.update(*(link_labels(passage.text) for passage in material.passages.values()))
    return {label: f"“{title}”" for label, title in titles.items()}, links


def _paragraphs(text: str) -> str:
    """Return a text without code blocks with each paragraph, item and row on one line."""
    text = _FORMULA.sub(lambda match: " ".join((f"$${match[1]}$$" if match[1] else match[0]).split()), text)
    text = _FOOTNOTE.sub(lambda note: " ".join(note[1].split()) + "\n", text) if "[^" in text else text
    text = _NOT_READ.sub("", "\n\n".join(map(_with_rows, text.split("\n\n"))))
    text = _HARD_BREAK.sub("\n\n", _HEADING.sub(r"\1\n\n", text))
    text = _ITEM_BREAK.sub(lambda item: re.sub(r"[ \t]*\n[ ]+", " ", item[1]), text)
    return _SOFT_BREAK.sub(" ", _BULLET.sub(r"\1-", text))


def _with_rows(paragraph: str) -> str:
    """Add column bars to a simple table, and separate its caption."""
    lines = paragraph.split("\n")
    if not any(map(_COLUMNS.fullmatch, lines)):
        return paragraph
    return "\n".join(map(_row, lines))


def _row(line: str) -> str:
    if not line.strip() or _COLUMNS.fullmatch(line):
        return line
    if line.lstrip().startswith((":", "Table:")):
        return f"\n{line}\n"
    return f"| {_GAP.sub(' | ', line.strip())} |"


class _Line:
    """A reader of a line's markup. words, labels: see `plain_text`."""

    def __init__(self, words: Mapping[str, str], labels: Collection[str]) -> None:
        self.words, self.labels = words, labels
        self.parts: list[str] = []  # rendered; numbers replace them until the end

    def plain(self, markdown: str) -> str:
        """Return a line without markup and control characters."""
        text = " ".join(markdown.split())
        if _MARKUP.search(text):
            text = _PARTS.sub(lambda part: self._keep(_shown(part)), text)
            for _ in range(_DEEPEST if "[" in text else 0):
                text, count = _BRACKETS.subn(self._bracketed, text)
                if not count:
                    break
            text = _REFERENCE.sub(self._reference, text) if "@" in text else text
            text = self._restore(_without_emphasis(text)).replace(_OPEN, "[").replace(_CLOSE, "]")
        return printable(" ".join(text.split()))

    def _keep(self, shown: str) -> str:
        self.parts.append(shown)
        return f"{_PART}{len(self.parts) - 1}{_PART_END}" if shown else ""

    def _restore(self, text: str) -> str:
        return _NUMBER.sub(lambda number: self.parts[int(number[1])], text)

    def _bracketed(self, match: re.Match[str]) -> str:
        """Return the text in brackets of a note, link, image or span; of citations nothing."""
        before, text = match["before"], match["text"]
        if before.endswith("^"):
            return f" ({text.strip()})"
        if match["target"] or match["attributes"] or self._restore(text).casefold() in self.labels:
            return before.removesuffix("!") + text
        return "" if _CITATION.fullmatch(text) else f"{before}{_OPEN}{text}{_CLOSE}"

    def _reference(self, match: re.Match[str]) -> str:
        label = match[1] or match[2]
        rendered = self.words.get(label, LEFT_OUT if is_cross_reference(label) else _author(label))
        return self._keep(rendered) if rendered else match[0]


def _shown(part: re.Match[str]) -> str:
    if part["code"]:
        return "" if part["raw"] else part["code"].strip()
    if tex := part["displayed"] or part["inline"]:
        readable, kind = readable_math(tex), _DISPLAYED if part["displayed"] else _INLINE
        return f"{_BEGIN}{readable}{kind}{tex.strip()}{_END}" if readable else ""
    if part["value"]:
        return LEFT_OUT
    if part[0].startswith("<br"):
        return " "
    return part["escaped"] or part["address"] or html.unescape(part["entity"] or "")


def _without_emphasis(text: str) -> str:
    """Remove delimiters of emphasis and strikeout; these have text inside and, if underscores, no word outside."""
    text = f" {text} "
    runs = list(_EMPHASIS.finditer(text))
    counts, opened = [len(run[0]) for run in runs], defaultdict[str, list[int]](list)  # delimiters left; runs
    for at, run in enumerate(runs):
        sign, before, after = run[0][0], text[run.start() - 1], text[run.end()]
        opens = not (after.isspace() or (sign == "_" and _IN_WORD.match(before)))
        closes = not (before.isspace() or (sign == "_" and _IN_WORD.match(after)))
        last = opened[sign][-1:]
        if closes and last and (not opens or counts[at] == counts[last[0]]):
            _pair(counts, opened[sign], at)
        elif opens:
            opened[sign].append(at)
    left = iter(counts)
    return _EMPHASIS.sub(lambda run: run[0][: next(left)], text)


def _pair(counts: list[int], opened: list[int], at: int) -> None:
    """Take paired delimiters from a closing run and the last opened ones. counts: delimiters by run"""
    while counts[at] and opened:
        paired = min(counts[at], counts[opened[-1]])
        counts[at] -= paired
        counts[opened[-1]] -= paired
        if not counts[opened[-1]]:
            opened.pop()


def _author(label: str) -> str:
    parts = _AUTHOR.fullmatch(label)
    return f"{parts[1].title()} ({parts[2]})" if parts else ""
