"""Markdown as it is quoted: without marks that are no words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..markdown.formulas import readable_math
from ..markdown.regions import split_fences
from ..models.annotators.prose import extract_prose
from ..scan.references import LEFT_OUT, is_cross_reference
from .items import without_fences

_GROUP = re.compile(r"[ ]?(?<!!)\[[^\[\]@]*@[^\[\]]*\](?![(\[{:])")
_CITED = re.compile(r"(?<![\w@\\])-?@(?:\{([^{}\n]+)\}|([A-Za-z](?:[\w:.-]*\w)?))(?: \[[^\[\]\n]*\])?")
_YEAR = re.compile(r"([^\W\d_]{2,})[\W_]*((?:1[5-9]|20)\d\d)[a-z]?")
_NOTE_TEXT = re.compile(r"^\[\^[^\]\n]+\]:[ \t]*((?:[^\n]+(?:\n|\Z))+)", re.M)
_NOTE = re.compile(r"\[\^[^\]\n]+\]")
_TERM = re.compile(r"^(\S[^\n]{0,80})\n+:[ \t]{1,3}(?=\S)", re.M)  # of a definition list
_MORE_MEANINGS = re.compile(r"^:[ \t]{3}(?=\S)", re.M)
_DISPLAYED = re.compile(r"\s*\$\$((?:[^$\n]|\n(?!\n))+)\$\$(?:[ \t]*\{[^}\n]*\})?\s*")
_INLINE = re.compile(r"(`[^`\n]+`)|(?<![\\$])\$(?=[^\s$])([^$\n]+)(?<=\S)\$(?!\d)")
_ENDED = re.compile(r"[.!?…][\"”’»)*_]*\s*\Z")
# A paragraph that is a table, a figure, or the caption of one.
_APART = re.compile(
    r"^[ \t]*(?:[|+][^\n]*[|+][ \t]*$|-{2,}(?:[ \t]+-{2,})*[ \t]*$)"
    r"|\A[ \t]*!\[[^\n]*\Z|\A[ \t]*(?:Table)?:[ \t](?![ \t])",
    re.M,
)
_GAP = "\ue000"  # stands where something was left out
_HIDDEN = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~$@^"})


def with_references(markdown: str, titles: Mapping[str, str]) -> str:
    """Return a markdown text in which citations and cross-references are words, or left out.

    titles: those of sections by their anchors, as markdown. A source that is named in a sentence
    (`@fisher1935`) stays as a name, as far as its key holds one."""
    made = []
    for is_code, piece in split_fences(markdown):
        made.append(piece if is_code else _CITED.sub(lambda found: _named(found, titles), _GROUP.sub("", piece)))
    return "".join(made)


def _named(found: re.Match[str], titles: Mapping[str, str]) -> str:
    label = found[1] or found[2]
    if is_cross_reference(label):
        title = extract_prose(titles.get(label, ""))
        return f"“{title}”" if title else LEFT_OUT
    parts = _YEAR.fullmatch(label)
    return f"{parts[1].title()} ({parts[2]})" if parts else label


def readable_paragraphs(markdown: str, titles: Mapping[str, str]) -> list[str]:
    """Return the paragraphs of running text of a markdown text as plain text.

    Formulas are in Unicode; one that stands apart is part of the sentence that it stands in.
    A definition list comes as `term: meaning`. Where code, a table or a figure is left out, there
    is an empty paragraph."""
    text = "".join(f"\n\n{_GAP}\n\n" if code else piece for code, piece in split_fences(without_fences(markdown)))
    text = "\n\n".join(_GAP if _APART.search(part) else part for part in re.split(r"\n[ \t]*\n", text))
    text = with_references(_NOTE.sub("", _NOTE_TEXT.sub(rf"{_GAP}\n\n\1\n\n{_GAP}\n\n", text)), titles)
    text = _MORE_MEANINGS.sub("", _TERM.sub(r"\1: ", text))
    text = _INLINE.sub(lambda found: found[1] or _shown(found[2]), _with_formulas(text))
    return [paragraph.replace(_GAP, "") for paragraph in extract_prose(text).split("\n") if paragraph]


def _with_formulas(text: str) -> str:
    """Return a text with displayed formulas in the sentences that they belong to."""
    parts = _DISPLAYED.split(text)  # every second is a formula
    made = parts[0]
    for formula, after in zip(parts[1::2], parts[2::2], strict=True):
        inside = bool(made.strip()) and not _ENDED.search(made)
        goes_on = inside and (after[:1].islower() or after[:1] in ",;")
        made += f"{' ' if inside else chr(10) * 2}{_shown(formula)}{' ' if goes_on else chr(10) * 2}{after}"
    return made


def _shown(tex: str) -> str:
    return readable_math(tex).replace(" ,", ",").replace(" .", ".").translate(_HIDDEN)
