"""Assemble typed parts of the material: exercises with solutions, definitions, topics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..indexing.passages import Material, Passage, Section, merge, place
from ..markdown.regions import split_fences, without_comments
from ..markdown.visibility import DEFINITION as DEFINITION
from ..markdown.visibility import may_be_quoted

EXERCISE, SOLUTION = "exercise", "solution"
# Words with which headings of solutions begin, in the languages with word lists and some more
_WORD = (
    r"(?:solutions?|answers?|lösung(?:en|sweg)?|antwort(?:en)?|corrigés?|réponses?|soluzion[ei]|rispost[ae]"
    r"|soluci(?:ón|ones)|respuestas?|resolução|soluç(?:ão|ões)|oplossing(?:en)?|lösning(?:ar)?|rozwiązani[ea])"
)
# Not compiled, since that is slow and rarely needed
_SOLUTION = rf"(?i:(?:\w+ )?{_WORD}(?: (?:to|of|for|zu[rm]?|der|de|du|à|a|al|di|del)\b.*| ?[(\d].*|[:.].*)?)"
_SOLUTION_DIV = re.compile(rf"[ \t]*(?::{{3,}}[ \t]*(?:\{{[^\n]*?\.)?|<(?:div|section)\b[^\n>]*?[\"' ]){_WORD}\b", re.I)
_SOLUTION_LINE = (
    rf"(?im)^(?:{_SOLUTION_DIV.pattern}|[ ]{{0,3}}(?:\#{{1,6}}[ ]+(?P<title>[^\n]+)"
    rf"|(?P<mark>\*\*|__|\*|_)(?P<lead>[^\n*_]+?)(?P=mark)|{_WORD} ?\d*:))"
)
_LEAD = re.compile(r"\s*(\*\*|__)(?P<lead>[^\n]{1,200}?)\1")
_FENCE_LINE = re.compile(r"^[ \t]*(?::{3,}[^\n]*|</?(?:div|section)\b[^<>\n]*>[ \t]*)(?:\n|\Z)", re.M | re.I)
_BLANK_LINES = re.compile(r"\n{3,}")
_OPENS = re.compile(r"\s*(?::{3,}[ \t]*[^\s:]|<(?:div|section)\b)", re.I)


@dataclass(frozen=True)
class TypedPart:
    """An exercise, a definition, a topic, or another typed part.

    title: its name, or the term that it defines; "" if it has none
    text, solution: markdown without the fences of divs; passages: of both"""

    type: str
    title: str
    text: str
    solution: str
    section: Section
    passages: tuple[Passage, ...]

    @property
    def place(self) -> str:
        """The place as `file:line-line`, solution included."""
        lines = [passage.line_start for passage in self.passages] + [passage.line_end for passage in self.passages]
        return place(self.section.source, min(lines), max(lines))


def find_typed_parts(material: Material) -> list[TypedPart]:
    """Return the typed parts of a material in order, with all typed passages except summaries."""
    return [item for document in material.documents for item in typed_parts_under(document)]


def typed_parts_under(section: Section) -> list[TypedPart]:
    """Return the typed parts of a section and its subsections, in order."""
    own, used_ids = _own_typed_parts(section), {id(part) for part in _parts(section)}
    rest = [item for child in section.children if id(child) not in used_ids for item in typed_parts_under(child)]
    return [*own, *rest]


def is_solution(title: str) -> bool:
    """Return True if a title names a solution, in one of several languages."""
    return re.fullmatch(_SOLUTION, title.strip(" \t*_.:")) is not None


def type_of(passage: Passage) -> str:
    """Return a passage's first type, "" for plain text. A div of class `solution` is always a solution."""
    if not passage.types:
        return SOLUTION if _SOLUTION_DIV.match(passage.text) else ""
    return passage.types[0]


def may_be_shown(passage: Passage, requested: str = "") -> bool:
    """Return True if students may see a passage. requested: type of material, or ""."""
    type = type_of(passage)
    return may_be_quoted(passage.types or ([type] if type else []), requested)


def without_fences(text: str) -> str:
    """Return a text without comments and fences of divs; code stays as it is."""
    cleaned = (
        piece if is_code else join_blank_lines(without_comments(_FENCE_LINE.sub("", piece)))
        for is_code, piece in split_fences(text)
    )
    return "".join(cleaned).strip("\n")


def join_blank_lines(text: str) -> str:
    """Return a text with at most one blank line in a row."""
    return _BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text


def lead_of(text: str) -> str:
    """Return the bold words with which a text begins, without a full stop, or ""."""
    match = _LEAD.match(text)
    return match["lead"].strip().rstrip(".:").strip() if match else ""


def _own_typed_parts(section: Section) -> list[TypedPart]:
    """Return the typed parts in a section's own passages, with subsections that belong to them."""
    groups, parts = list(_groups(section.passages)), _parts(section)
    items = [_item(section, type, group, len(groups) == 1) for type, group in groups]
    exercises = [at for at, item in enumerate(items) if item.type == EXERCISE]
    unsolved = [at for at in exercises if not items[at].solution] or exercises[-1:]
    for part in parts:
        for at in unsolved if is_solution(part.title) else exercises[-1:]:
            items[at] = _with_part(items[at], part)
    return items


def _with_part(item: TypedPart, part: Section) -> TypedPart:
    """Return an exercise extended by a subsection: its solution, or a part of the question."""
    text, solution = item.text, item.solution
    if is_solution(part.title):
        own = [_clean(part.passages), *(_with_titles(child) for child in part.children)]
        solution = "\n\n".join(filter(None, [solution, *own]))
    else:
        text = f"{text}\n\n{_with_titles(part)}"
    return replace(item, text=text, solution=solution, passages=(*item.passages, *part.all_passages()))


def _parts(section: Section) -> list[Section]:
    """Return an exercise's subsections: solutions and, if there are any, parts of the question."""
    if not any(type_of(passage) == EXERCISE for passage in section.passages):
        return []
    solutions = [child for child in section.children if is_solution(child.title)]
    typed = [child for child in section.children if _is_part(child)] if solutions else []
    return [child for child in section.children if child in solutions or child in typed]


def _is_part(section: Section) -> bool:
    passages = section.all_passages()
    solved = any(is_solution(part.title) for child in section.children for part in child.walk())
    return not solved and all(type_of(passage) == EXERCISE for passage in passages)


def _groups(passages: Sequence[Passage]) -> Iterator[tuple[str, list[Passage]]]:
    """Yield each typed part's type and passages. A div, or bold words that head no solution, begin a part."""
    type, group, is_cut = "", list[Passage](), False
    for passage in passages:
        own, added = type_of(passage), _added_lines(passage)
        same = bool(group) and (own == type or (type == EXERCISE and own == SOLUTION))
        goes_on = same and ((is_cut and added > 0) or not _begins(passage))
        if group and not goes_on:
            yield type, group
        type, group = (type, [*group, passage]) if goes_on else (own, [passage] if own else [])
        # each piece of a cut div repeats its first and last line, but the last piece only the first
        is_cut = added > 1 if goes_on else added > 0
    if group:
        yield type, group


def _added_lines(passage: Passage) -> int:
    """Return how many lines of a cut div a piece repeats: its first, and maybe its last."""
    own = passage.line_end - passage.line_start + 1
    return passage.text.count("\n") + 1 - own if _OPENS.match(passage.text) else 0


def _begins(passage: Passage) -> bool:
    if type_of(passage) == SOLUTION or _SOLUTION_DIV.match(passage.text):
        return False
    lead = lead_of(without_fences(passage.text))
    return not is_solution(lead) and bool(lead or _OPENS.match(passage.text))


def _item(section: Section, type: str, group: list[Passage], alone: bool) -> TypedPart:
    """Return passages as a typed part. alone: it is the section's only one, and may have its title."""
    solved = [passage for passage in group if type == EXERCISE and type_of(passage) == SOLUTION]
    text = merge([passage for passage in group if passage not in solved])
    text, inside = cut_solution(text) if type == EXERCISE else (text, "")
    text, inside = without_fences(text), without_fences(inside)
    is_named = alone and section.titles and all(map(type_of, section.passages))
    title = lead_of(text) or (section.titles[-1] if is_named else "")
    solution = "\n\n".join(filter(None, [inside, _clean(solved)]))
    return TypedPart(type, title, text, solution, section, tuple(group))


def _clean(passages: Sequence[Passage]) -> str:
    return without_fences(merge(passages))


def _with_titles(section: Section) -> str:
    """Return a section's text with all titles in bold."""
    return "\n\n".join(f"**{part.title}**\n\n{_clean(part.passages)}".strip() for part in section.walk())


def cut_solution(text: str) -> tuple[str, str]:
    """Return an exercise, and its solution from the first div, heading or paragraph so named (**Solution.**), or ""."""
    at = 0
    for is_code, piece in split_fences(text):
        for match in [] if is_code else re.finditer(_SOLUTION_LINE, piece):
            label = match["title"] or match["lead"]
            if (not label or is_solution(label)) and text[: at + match.start()].strip():
                return text[: at + match.start()].rstrip(), text[at + match.start() :]
        at += len(piece)
    return text, ""
