"""Make study cards from questions, definitions and exercises."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from operator import itemgetter
from urllib.parse import quote

from ..files.outputs import CSV_HEAD
from ..indexing.passages import Material, Passage, Section, merge, place, split_questions
from ..indexing.statistics import emphasised
from ..markdown.regions import split_fences
from ..models.annotators.prose import leans, split_sentences
from ..models.languages.stemming import Stemmer
from ..retrieve.items import DEFINITION, EXERCISE, TypedPart, find_typed_parts, type_of, without_fences
from ..retrieve.plain_text import plain_title, titles_path
from ..retrieve.ranking.words import asked_words
from ..scan.documents.conditions import CELL_OPTION
from ..scan.knit import slug

MOST_WORDS = 60
_NO_PROSE = ("```", "~~~", "|", "#", "<", "!", ":", "[^", "    ")  # how code, tables, figures and the like begin
_ENDED = re.compile(r"[.!?…。！？][\"'”’»)」』）*_`]*\Z")
_TERM_OF_LIST = re.compile(r"\n+:[ \t]+")
_ITEM = re.compile(r"^[ \t]*(?:[-*+>]|\d+[.)])[ \t]+", re.M)
_FORMULA = re.compile(r"\$\$.*?\$\$(?:\{[^}\n]*\})?", re.S)
_NOTE = re.compile(r"\[\^[^\]\n]+\](?::.*)?|<!--.*?-->", re.S)
# Links within the course and attributes of spans, which are of no use on a card
_LINK = re.compile(r"(?<!!)\[([^\]\n@]+)\](?:\((?!https?:)[^)\n]*\)|\[[^\]\n]*\]|\{[^}\n]*\})")
_CELL = re.compile(r"^([`~]{3,}) *\{(\w+)[^}\n]*\}", re.M)


_stemmer = cache(Stemmer)


def short_answer(question: str, passages: Sequence[Passage], language: str, summary: str) -> str:
    """Return the sentence that shares most words with a question, and a neighbour.

    Emphasised words count twice. Return the summary if it shares more words, and "" if there is no prose."""
    stemmer = _stemmer(language)
    asked = set(stemmer.stems(" ".join(asked_words(question, language))))

    def shared(sentence: str) -> int:
        terms = set(stemmer.stems(" ".join(emphasised(sentence))))
        return len(asked.intersection(stemmer.stems(sentence))) + len(asked & terms)

    texts = [split_sentences(text) for text in _prose(merge(passages))]
    whole = [[*takewhile(_ENDED.search, sentences)] for sentences in texts if not sentences[0][0].islower()]
    places = [(own, at) for own in whole for at in range(len(own))]
    if not places and not summary:  # only lead-ins of formulas and lists
        places = [(own, 0) for own in texts]
    paragraph, at = max(places, key=lambda place: shared(place[0][place[1]]), default=([summary], 0))
    if summary and shared(paragraph[at]) < max(shared(summary), 1):
        return _shorten(summary)
    needs_more = at > 0 and leans(paragraph[at])
    sentences = paragraph[at - needs_more : at + 2 - needs_more]
    return _shorten(" ".join(sentences), paragraph[at])


def _shorten(text: str, instead: str = "") -> str:
    """Return a text or, if it is longer than `MOST_WORDS`, the beginning of `instead`, by default of the same."""
    if len(text.split()) <= MOST_WORDS:
        return text
    words = (instead or text).split()
    return " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")


def _prose(markdown: str) -> Iterator[str]:
    prose = "\n".join(text for is_code, text in split_fences(without_fences(markdown)) if not is_code)
    prose = _LINK.sub(r"\1", _TERM_OF_LIST.sub(": ", _NOTE.sub("", _FORMULA.sub("\n\n", prose))))
    for paragraph in re.split(r"\n\s*\n", prose):
        if not paragraph.lstrip("\n").startswith(_NO_PROSE):
            yield from (" ".join(item.split()) for item in _ITEM.split(paragraph) if item.strip())


def beginning(text: str) -> str:
    """Return the first paragraphs or sentences of a text, at most `MOST_WORDS` words."""
    whole_parts = _within(text.split("\n\n"), "\n\n") or _within(split_sentences(text.split("\n\n")[0]), " ")
    return whole_parts or _shorten(text)


def _within(parts: Sequence[str], between: str) -> str:
    texts = [between.join(parts[:count]) for count in range(len(parts) + 1)]
    return max((text for text in texts if len(text.split()) <= MOST_WORDS), key=len)


def without_options(markdown: str) -> str:
    """Return text without chunk options: ```` ```{r, echo=FALSE} ```` becomes ```` ```r ````."""
    pieces = split_fences(_CELL.sub(r"\1\2", markdown))
    return "".join(CELL_OPTION.sub("", piece) if is_code else piece for is_code, piece in pieces)


# Cards


QUESTION = "question"
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_LICENCE = re.compile(r"(?:licen[cs]e|copying)\b", re.I)
_QUOTED = re.compile(r"[“„«\"]\s?(\w+)\s?[”“»\"]")
_TERM = re.compile(
    r"\s*(?:(?:the|an?|der|die|das|eine?|les?|la|une?|el|los|las|una|il|lo|i|gli|uno)[ ]|l['’])?"
    r"(?P<mark>[*_]{1,2})(?P<term>[^\s*_][^\n*_]{0,80})(?P=mark)",
    re.I,
)
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?[ ]?%?")


@dataclass(frozen=True)
class Card:
    """A study card with markdown on both sides.

    id: hash of document, type and front, which stays the same if the answer changes
    source: place in the notes, for people; link: address of the section, relative to the project
    folder: base of image links"""

    id: str
    type: str
    front: str
    back: str
    tags: tuple[str, ...]
    source: str
    folder: str = ""
    link: str = ""


_Key = tuple[str, str, str]  # document, type and name of a card
_Draft = tuple[tuple[int, int], _Key, Card]  # place in the material, key, and the card without id


def make_cards(material: Material) -> list[Card]:
    """Return cards in document order. The back of an exercise without a solution refers to its section."""
    counts: Counter[_Key] = Counter()
    cards = []
    for _, key, card in sorted(_drafts(material), key=itemgetter(0)):
        counts[key] += 1
        name = "\0".join((*key, str(counts[key]))).encode("utf-8", "surrogatepass")
        cards.append(replace(card, id=hashlib.blake2b(name, digest_size=10).hexdigest()))
    return cards


def _drafts(material: Material) -> Iterator[_Draft]:
    documents = {document.docid: number for number, document in enumerate(material.documents)}
    for section in material.walk():
        for question in section.questions if not _is_licence(section) else ():
            passages = _answers(section, question)
            if passages and not _asks_of_code(question, passages):
                summary = section.summary if passages[0].path == section.path else ""
                if back := short_answer(question, passages, section.language, summary):
                    order = (documents[section.docid], passages[0].sequence)
                    yield order, *_card(QUESTION, question, (question, back), section, passages)
    for item in find_typed_parts(material):
        if item.type in (DEFINITION, EXERCISE) and not _is_licence(item.section):
            yield (documents[item.section.docid], item.passages[0].sequence), *_card_of_item(item)


def _answers(section: Section, question: str) -> list[Passage]:
    """Return the untyped passages annotated with a question, preferring the section's own."""
    answers = [passage for passage in section.all_passages() if not type_of(passage) and _answers_it(passage, question)]
    own = [passage for passage in answers if passage.path == section.path]
    return own or answers


def _is_licence(section: Section) -> bool:
    return bool(_LICENCE.match(section.source.rpartition("/")[2]) or any(map(_LICENCE.match, section.titles)))


def _asks_of_code(question: str, passages: Sequence[Passage]) -> bool:
    quoted = _QUOTED.search(question)
    return quoted is not None and any(f"`{quoted[1]}`" in passage.text for passage in passages)


def _answers_it(passage: Passage, question: str) -> bool:
    return any(question in split_questions(text) for text in passage.questions)


def _card_of_item(item: TypedPart) -> tuple[_Key, Card]:
    name, text = item.title or item.text, without_options(item.text)
    if item.type == DEFINITION:
        term = _TERM.match(item.text)
        front = item.title or (plain_title(term["term"]) if term else "") or plain_title(item.section.title)
        return _card(item.type, name, (front, beginning(text)), item.section, item.passages)
    named = item.title and not item.text.lstrip().startswith(("**", "__"))
    front = f"**{item.title}**\n\n{text}" if named else text
    where = titles_path(item.section.titles)
    no_solution = f"No solution is in the notes. See {where or item.section.source} ({item.section.place})."
    back = without_options(item.solution) or no_solution
    return _card(item.type, name, (front, back), item.section, item.passages)


def _card(
    type: str, name: str, sides: tuple[str, str], section: Section, passages: Sequence[Passage]
) -> tuple[_Key, Card]:
    titles = tuple(map(plain_title, section.titles))
    first, last = min(passage.line_start for passage in passages), max(passage.line_end for passage in passages)
    subject = [re.sub(r"[^\w.-]+", "-", slug(title)) for title in titles[:1]]
    tags = tuple(dict.fromkeys([type, *subject]))
    source = " > ".join([*titles, place(section.source, first, last)])
    link = quote(section.source) + (f"#{section.anchor}" if section.anchor else "")
    card = Card("", type, *sides, tags, source, section.source.rpartition("/")[0], link)
    return (section.docid, type, " ".join(name.casefold().split())), card


# Files


def cards_to_csv(cards: Sequence[Card]) -> str:
    """Return cards as CSV with the file headers of Anki, and every field in quotes."""
    table = io.StringIO()
    writer = csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for card in cards:
        writer.writerow(map(_as_text, [card.id, card.front, card.back, " ".join(card.tags), card.source]))
    return CSV_HEAD + table.getvalue()


def _as_text(cell: str) -> str:
    """Return a cell that no spreadsheet runs as a formula: https://owasp.org/www-community/attacks/CSV_Injection"""
    return f"'{cell}" if cell.startswith(FORMULA_SIGNS) and not _NUMBER.fullmatch(cell) else cell


def cards_to_markdown(cards: Sequence[Card], title: str) -> str:
    """Return cards as a markdown document: the back as a quote, and a rule after each card."""
    parts = [f"# {title}"]
    for card in cards:
        quoted = "\n".join(f"> {line}".rstrip() for line in card.back.split("\n"))
        front = card.front if card.type == EXERCISE else f"**{card.front}**"
        parts += [f"{front}\n\n{quoted}\n\n[{card.source}]({card.link})\n\n***"]
    return "\n\n".join(parts) + "\n"
