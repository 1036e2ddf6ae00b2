"""Convert markdown to plain text as rendered, for the ask box and best matches."""

from __future__ import annotations

import html
import re
import string
from collections.abc import Collection, Mapping

from ..logging import printable
from ..markdown.formulas import readable_math
from ..markdown.regions import split_fences
from ..scan.knit import LEFT_OUT, is_cross_reference
from .items import join_blank_lines, without_fences

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*\n?", re.M)
_FENCE_OPEN = re.compile(r"[ \t]*(`{3,}|~{3,})")
CELL_OPTION = re.compile(r"^[ \t]*(?:#|//|--|%%?)\|[ \t]?(.*)\n?", re.M)
_LINE = re.compile(r"^(?=[^\n])", re.M)
_COLUMNS = re.compile(r"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*")  # the rule of a simple table
_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_RAW = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?:\{=|\{?\.?(?:mermaid|dot|graphviz|plantuml)\b)")  # also of diagrams
_SOFT_BREAK = re.compile(r"(?=[ \t\n])(?<=\S)[ \t]*\n(?=[^\s\-*+>|:#\[]|[*_]{1,2}\w)(?!\d+[.)])")
_ITEM_BREAK = re.compile(  # in an item, before an indented line that continues it
    r"(^[ ]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]+[^\n]*(?:\n[ ]{2,}(?![-*+|:>#][ \t]|\d+[.)])\S[^\n]*)+)", re.M
)
_FOOTNOTE = re.compile(r"^ {0,3}\[\^[^\]\n]+\]:([^\n]*(?:\n(?: {2,}|\t)[^\s`~][^\n]*)*)", re.M)
# Invisible parts: rules and separators, marks of captions, link definitions, citations, shortcodes, raw text. (First
# their possible beginnings, for speed.)
_NOT_READ = re.compile(
    r"(?=[ \t|+:\-=*_T\[{`])(?=^|(?<![ \t])[ \t]*\[|[\[{`])(?:"
    r"^[ \t]*(?:[|+][ \t]*)?:?[-=]{2,}[-=:|+ \t]*(?:\n|\Z)|^[ \t]*([*_-])(?:[ \t]*\1){2,}[ \t]*$|"
    r"^[ \t]*(?:Table)?:[ \t]+|^[ \t]*\[[^\[\]^][^\[\]]*\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?$|"
    r"[ \t]*(?<!!)\[[^\[\]]*@[\w:.-][^\[\]]*\](?!\()|`[^`\n]*`\{=\w+\})",
    re.M,
)
# Parts rendered differently: code and spans with attributes, link attributes, shortcodes, inline notes, entities; not
# in formulas
_ATTRIBUTES = r"\{[ ]*(?:[.#][\w:-]|[\w:-]+=)[^{}\n]*\}"
_SHOWN = re.compile(
    rf"(?P<code>`[^`\n]+`)(?:{_ATTRIBUTES})?|(?P<math>\$\$[^$]+\$\$|(?<![\\$])\$(?=[^\s$])[^$\n]+(?<=\S)\$(?!\d))"
    rf"|\[(?P<span>(?:`[^`\n]*`|[^\[\]`\n]|\[[^\[\]\n]*\])*)\]{_ATTRIBUTES}"
    rf"|(?<=[)>]){_ATTRIBUTES}|\{{\{{<.*?>\}}\}}|\^\[(?P<note>(?:`[^`\n]*`|[^\[\]`]|\[[^\[\]]*\])*)\]|(?P<entity>&(?:\#\d{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[A-Za-z]\w{{1,31}});)"
)
_ADMONITION = re.compile(r'^ *(?:(?:!!!|\?\?\?\+?)[ ]+[\w-]+(?:[ ]+[\w-]+)*|===[+!]?)(?:[ ]+"([^"\n]*)")?[ \t]*$', re.M)
_INCLUDED = re.compile(  # files that mdBook includes
    r"^[ \t]*(?<!\\)\{\{#(?:include|rustdoc_include|playground|playpen|title)[ ][^{}\n]*\}\}[ \t]*(?:\n|\Z)", re.M
)
_BULLET = re.compile(r"^([ \t]*)[*+](?=[ \t]+\S)", re.M)
_ICON = re.compile(r":[a-z]+(?:-[a-z0-9]+)+:(?:\{[^{}\n]*\})?[ ]?")  # of Material for MkDocs and others
_NO_WORDS = re.compile(r"!\[\](?:\[[^\[\]\n]*\]|\([^()\n]*\))(?:\{[^{}\n]*\})?|^\{:[^{}\n]*\}[ \t]*\n?", re.M)
_DEFINED = re.compile(r"^[ \t]*\[([^\[\]\n^]+)\]:[ \t]*\S", re.M)  # a link's label
_FORMULA = re.compile(r"\$\$(?:[^$\n]|\n(?!\n))+\$\$")  # on one line or several
_QUOTED = re.compile(r"^ {0,3}(?:>[ \t]?)+", re.M)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)(?:\n|\Z)", re.M)
_HARD_BREAK = re.compile(r"\\\n")
_LINK = re.compile(  # not inside code and formulas, matched by the first group; links may contain code
    r"(`[^`\n]*`|\$[^$\n]+\$)|(?<![^\W_])(?<!\])!?\[([^\[\]^][^\[\]]*)\](?:\[[^\[\]^]*\]|\([^()\s]*\))"
)
_SHORTCUT = re.compile(r"(?<![\w\]!])\[([^\[\]^]{1,200})\](?![\[({:])")  # a link that is its own label
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]+|[\w.+-]+@[\w.-]+)>")
_REFERENCE = re.compile(r"(`[^`\n]+`)|(?<![\w@\\])(-?)@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))")
_AUTHOR = re.compile(r"([^\W\d_]{2,})[\W_]*((?:1[5-9]|20)\d\d)[a-z]?")
_MATH = re.compile(r"(`[^`\n]+`)|\$\$([^$]+)\$\$|(?<![\\$])\$(?=[^\s$])([^$\n]+)(?<=\S)\$(?!\d)")
_NO_MARKUP = re.compile(r"(\$[^$]+\$|`[^`]+`)")  # without markup
_TITLE_ATTRIBUTES = re.compile(r"\s*\{[^{}]*\}\s*$")
_TITLE_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\{[^{}]*\})")
_MARK = re.compile(  # first possible beginnings, for speed
    r"(?=[*_~\\\[<])(?:(?<![^\W぀-ヿ㐀-鿿])(?<!\\)([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?![^\W぀-ヿ㐀-鿿])"
    r"|~~(.+?)~~|\\([^\w\s])|\[\^[^\]]*\]|</?[A-Za-z][^<>]*>)"
)
_MAY_BE_MARK = re.compile(r"[*_~\\\[<]")
_SIGNS_OF_MARKUP = re.compile(r"([\\`*_\[\]<|~$@^]|^[>#])", re.M)

# Delimiters of a formula: start of Unicode, start of TeX (inline, displayed), end
_BEGIN, _INLINE, _DISPLAYED, _END = "\ue000\ue001\ue002\ue003"
_SIGNS = f"{_BEGIN}{_INLINE}{_DISPLAYED}{_END}"
_MARKED = re.compile(f"{_BEGIN}([^{_SIGNS}]*)[{_INLINE}{_DISPLAYED}][^{_SIGNS}]*{_END}")


def plain_text(markdown: str, words: Mapping[str, str] | None = None, links: Collection[str] = ()) -> str:
    """Return markdown as plain text, without fences, attributes, citations, link targets and markup.

    Formulas are in Unicode and TeX (see `in_unicode`); code is indented by four spaces.

    words: rendered texts of labels
    links: labels of links that the document defines elsewhere (`link_labels`)"""
    if not markdown:
        return ""
    text = _INCLUDED.sub("", _without_admonitions(_without_signs(markdown)))
    pieces = split_fences(without_fences(text))
    unquoted = "".join(piece if is_code else _QUOTED.sub("", piece) for is_code, piece in pieces)
    parts = []
    for is_code, piece in split_fences(unquoted):
        if is_code:
            parts.append("" if _RAW.match(piece) else _LINE.sub("    ", _FENCE.sub("", CELL_OPTION.sub("", piece))))
        else:
            parts.append("\n".join(map(plain_title, _plain_lines(piece, words or {}, links))) + "\n")
    return join_blank_lines("".join(parts)).strip("\n").rstrip()


def plain_line(markdown: str) -> str:
    """Return a title as plain text, with formulas as in `plain_text`."""
    return plain_title(_MATH.sub(_formula_span, _as_shown(_without_signs(markdown))))


def escape(text: str) -> str:
    """Escape plain text as markdown."""
    return _SIGNS_OF_MARKUP.sub(r"\\\1", text)


def in_unicode(text: str) -> str:
    """Return the result of `plain_text` without the TeX of its formulas."""
    return _MARKED.sub(r"\1", text) if _BEGIN in text else text


def _without_signs(text: str) -> str:
    for sign in _SIGNS:  # faster than `translate`
        text = text.replace(sign, "")
    return text


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
    """Return the fence that is open after a line, "" for none. fence: open before it; opening: the line's fence."""
    if not fence:
        return opening[1] if opening else ""
    is_close = opening is not None and line.strip() == opening[1] and opening[1].startswith(fence)
    return "" if is_close else fence


def link_labels(markdown: str) -> set[str]:
    """Return the labels that a text defines as links, without case."""
    return {label.casefold() for label in _DEFINED.findall(markdown)} if "]:" in markdown else set()


def _plain_lines(text: str, words: Mapping[str, str], links: Collection[str]) -> list[str]:
    """Return a text's lines without code blocks, with soft line breaks joined."""
    text = _FORMULA.sub(lambda match: " ".join(match[0].split()), text)
    text = _FOOTNOTE.sub(lambda note: " ".join(note[1].split()) + "\n", text) if "[^" in text else text
    text = "\n\n".join(map(_with_rows, text.split("\n\n")))
    labels = link_labels(text).union(links)
    text = _as_shown(_NOT_READ.sub("", _NO_WORDS.sub("", text)))
    text = _ICON.sub("", text) if "-" in text else text
    if labels:
        text = _SHORTCUT.sub(lambda link: link[1] if " ".join(link[1].split()).casefold() in labels else link[0], text)
    text = _LINK.sub(lambda match: match[1] or match[2], text) if "[" in text else text
    text = _with_words(_AUTOLINK.sub(r"\1", text), words)
    text = _HARD_BREAK.sub("\n\n", _HEADING.sub(r"\1\n\n", text))
    text = _ITEM_BREAK.sub(lambda item: re.sub(r"[ \t]*\n[ ]+", " ", item[1]), text)
    return _SOFT_BREAK.sub(" ", _BULLET.sub(r"\1-", text)).split("\n")


def _as_shown(text: str) -> str:
    """Remove attributes and shortcodes, decode entities, and put inline notes in brackets."""

    def shown(match: re.Match[str]) -> str:
        if match["entity"]:
            sign = html.unescape(match["entity"])
            return _span(sign) if sign in string.punctuation else sign  # escape markup
        if match["note"] is not None:
            return f" ({_as_shown(match['note'])})"
        return match["code"] or match["math"] or _as_shown(match["span"] or "")

    return _SHOWN.sub(shown, text)


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


def _with_words(text: str, words: Mapping[str, str]) -> str:
    """Replace references and formulas by rendered text in code spans, safe from markup. words: by label."""

    def reference(match: re.Match[str]) -> str:
        label = match[3] or match[4] or ""
        rendered = words.get(label, LEFT_OUT if is_cross_reference(label) else _author(label))
        return _span(rendered) if rendered else match[0]

    text = _MATH.sub(_formula_span, text) if "$" in text else text
    return _REFERENCE.sub(reference, text) if "@" in text else text


def _author(label: str) -> str:
    """Return the author and year in a citation key, or ""."""
    parts = _AUTHOR.fullmatch(label)
    return f"{parts[1].title()} ({parts[2]})" if parts else ""


def _formula_span(match: re.Match[str]) -> str:
    """Return a formula in Unicode and TeX as a code span, or nothing if its Unicode is empty. Code stays."""
    if match[1]:
        return match[1]
    tex = match[2] or match[3]
    readable, kind = readable_math(tex), _DISPLAYED if match[2] else _INLINE
    return _span(f"{_BEGIN}{readable}{kind}{' '.join(tex.split())}{_END}") if readable else ""


def _span(text: str) -> str:
    plain = " ".join(text.replace("`", "").split())
    return f"`{plain}`" if plain else ""


def plain_title(title: str) -> str:
    """Return a title without markup, attributes and control characters. Formulas stay."""
    title = " ".join(title.split())
    parts = _NO_MARKUP.split(_TITLE_ATTRIBUTES.sub("", title) if title.endswith("}") else title)
    plain_parts = [part.strip("`") if at % 2 else _without_marks(part) for at, part in enumerate(parts)]
    return printable("".join(plain_parts)).strip()


def _without_marks(text: str) -> str:
    text = _TITLE_LINK.sub(r"\1", text) if "[" in text else text
    for _ in range(3 if _MAY_BE_MARK.search(text) else 0):  # nested marks, as in bold italics
        text, count = _MARK.subn(lambda match: match[2] or match[3] or match[4] or "", text)
        if not count:
            break
    return text
