"""The sentences of running prose: paragraphs only, without what stands in lists, quotes, divs and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...markdown.regions import split_fences
from .prose import MOST_CHARACTERS, extract_prose, whole_sentences, without_comments
from .wording import EMPHASIS

LOST = "\ue001"  # stands where an image, a citation or an address was
_DIV = re.compile(r"^:{3,}[ \t]*(?P<opens>[^\s:][^\n]*)?$")
_NO_PROSE = re.compile(r"[ \t]{0,3}(?:[-*+>|#~:<=]|\d{1,3}[.)][ \t]|\(@|#\.|!\[|\\|\[\^|\$\$|\{\{|\{%|@@|[ \t])")
_RULE = re.compile(r"[ \t]*[-=*_ \t]{3,}$")
_ITEM = re.compile(r"\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_ENDS = re.compile(rf"[.!?…”\"’)]{EMPHASIS}?$")


@dataclass(frozen=True)
class Sentence:
    """A sentence of running prose, with its emphasis marked; `opens` says that it begins its paragraph."""

    marked: str
    opens: bool

    @property
    def text(self) -> str:
        """The sentence as it is shown."""
        return self.marked.replace(EMPHASIS, "")

    @property
    def words(self) -> list[str]:
        """Its words in lower case, with straight apostrophes."""
        return words_of(self.text)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, with straight apostrophes."""
    return [word.lower().replace("’", "'") for word in re.findall(r"[¿]?[^\W_]+(?:['’-][^\W_]+)*", text)]


def beginning_of(word: str) -> str:
    """Return the beginning of a word, which it shares with its other forms and, unlike a stem, with kindred words."""
    return word.removesuffix("s")[:5]


def find_sentences(markdown: str) -> list[Sentence]:
    """Return the whole sentences of the running prose of a markdown text, in their order."""
    found = []
    for paragraph in extract_prose("\n\n".join(_paragraphs(markdown)), LOST, EMPHASIS).split("\n"):
        sentences = [one.strip() for one in whole_sentences(paragraph) if _ENDS.search(one)]
        found += [Sentence(one, paragraph.startswith(one)) for one in sentences]
    return found


def _paragraphs(markdown: str) -> list[str]:
    """Return the paragraphs of running prose of a text, each up to a list in it; those in divs are left out."""
    text = "".join("\n\n" if code else part for code, part in split_fences(markdown.replace("\r\n", "\n")))
    depth, kept = 0, []
    for line in without_comments(text[:MOST_CHARACTERS]).split("\n"):
        div = _DIV.match(line)
        if div:
            depth = depth + 1 if div["opens"] else max(depth - 1, 0)
        kept.append("" if div or depth or line.startswith("#") else line)
    parts = (_before_list(part.strip("\n")) for part in re.split(r"\n[ \t]*\n", "\n".join(kept)))
    return [part for part in parts if _is_prose(part)]


def _before_list(paragraph: str) -> str:
    found = _ITEM.search(paragraph)
    return paragraph[: found.start()] if found else paragraph


def _is_prose(paragraph: str) -> bool:
    emphasised = re.match(r"[*_]{1,3}[^\s*_]", paragraph) is not None
    ruled = any(map(_RULE.match, paragraph.split("\n")[1:]))
    return bool(paragraph.strip()) and (emphasised or not _NO_PROSE.match(paragraph)) and not ruled
