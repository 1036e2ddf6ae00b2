"""Extract annotations from the text without a language model.

A question is a heading that asks it, or asks for a term that the text defines. A summary is a section's first
sentence if it names the title and needs no context. In doubt, nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from ...markdown.regions import split_fences, without_comments
from ..languages.frequent import naming_words
from ..languages.recognize import recognize_language
from ..languages.stemming import language_code
from ..languages.words import count_words, find_words
from ..sources import STAND_IN_NAME
from .annotator import Annotation, Annotator, AnnotatorSection
from .prose import MOST_CHARACTERS, extract_prose, leans, whole_sentences

MOST_QUESTIONS = 12
LEAST_WORDS = 4  # words in a title that is a question
SUMMARY_CHARACTERS = 400
SHORTEST, LONGEST = 7, 45  # words in a summary
OPENING_CHARACTERS = 60  # searched in a paragraph for its first words
NAMED_WITHIN = 3  # words from the start of a sentence about the title
MOST_IN_TERM = 5  # words
TERM_CHARACTERS = 80  # searched before its verb
NO_ANSWERS = frozenset({"exercise", "solution"})  # section types that do not answer their questions
DEFINITION = "definition"
# Other languages get no question about a term.
_QUESTIONS = {
    "en": "What does “{}” mean?", "de": "Was bedeutet „{}“?", "fr": "Que signifie « {} » ?",
    "es": "¿Qué significa «{}»?", "it": "Che cosa significa «{}»?", "nl": "Wat betekent „{}”?",
    "pt": "O que significa “{}”?",
}  # fmt: skip
_BOLD, _LOST = "\ue000", "\ue001"  # mark emphasis, and lost images and the like
_ARTICLE = "an?|the|any|eine?r?|der|die|das|une?|l[ae]s?|des|una?|el|los|uno|il|lo|gli|een|het|de|uma?|os?|as?"
_VERB = "is|are|ist|sind|est|sont|es|son|è|sono|zijn|é|são"
_INDEFINITE = "an?|eine?|une?|una|uno|een|uma?"
# "A *residual* is the distance …"
_DEFINED = re.compile(
    rf"(?:(?:(?P<any>{_INDEFINITE})|{_ARTICLE}) )?"
    rf"(?:{_BOLD}(?P<bold>[^{_BOLD}]{{3,50}}){_BOLD}|(?P<plain>[^\W\d_][\w-]*(?: [\w-]+){{0,4}}?)) "
    rf"(?:{_VERB}) (?:(?:{_ARTICLE}) |l['’])",
    re.I,
)
_IS_A = re.compile(rf"\s(?:{_VERB})\s+(?:(?:{_ARTICLE})\s|l['’])")
_LISTED = re.compile(r"\n[ ]{0,3}[:~][ \t]")
_LIST = re.compile(r"(?:^|\n[ \t]*\n)(?P<term>[^\s:|+=>#<!-][^\n]{0,120})\n(?:[ \t]*\n)?[ ]{0,3}[:~][ \t]+\S")
_LEAD = re.compile(r"\s*(\*\*|__)(?P<lead>[^\n*_]{2,80})\1")
_NUMBERED = re.compile(r"\w+[\s\d.:]*")  # "Definition 2.1", in any language
_NO_PROSE = re.compile(r"[ \t]{0,3}(?:[-*+][ \t]|[|>#~:<=\\ \t]|\d{1,3}[.)][ \t]|\(@|!\[|\[\^|\$\$|\{[{%])")
_LIST_ITEM = re.compile(r"\n[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]")
_HEADING = re.compile(r"^#.*", re.M)
_LETTERS = re.compile(r"[^\W_]+")
_VERBATIM = re.compile(r"^[ ]{0,3}<(pre|script|style|textarea)\b.*?(?:</\1>|\Z)", re.I | re.M | re.S)
_DIV = re.compile(r"^:{3,}[ \t]*(?P<opens>[^\s:][^\n]*)?$")
_UNFIT = re.compile(rf"[{_LOST}\\@^{{}}|~$]|https?:|www\.|\]\(|\*\*|``|::|\w_\w|\bTODO\b")


class ExtractiveAnnotator(Annotator):
    """The annotator without a model."""

    name = STAND_IN_NAME

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        return extract(section)


def extract(section: AnnotatorSection) -> Annotation:
    """Return at most 12 questions and a summary of at most 400 characters."""
    if NO_ANSWERS & set(section.types):
        return Annotation()
    own = _without_code(section.text if section.lead is None else section.lead)
    title = " ".join(extract_prose(section.titles[-1]).split()) if section.titles else ""
    opening, sentences = _telling_sentences(own, title)
    terms = list(_terms(own, opening, sentences, title, section.types))
    asks = _asks(title)
    language = (language_code(section.language) or recognize_language(own)) if terms or asks else ""
    questions = [title] if asks and _names_subject(title, language) else []
    terms = [term for term in terms if naming_words(term, language) and not (questions and _is_in(term, title))]
    question = _QUESTIONS.get(language, "")
    questions += [question.format(term) for term in dict.fromkeys(terms) if question]
    return Annotation(questions[:MOST_QUESTIONS], _summary(opening, title))


def _without_code(markdown: str) -> str:
    text = without_comments(markdown.replace("\r\n", "\n"))
    text = "".join("\n\n" if code else part for code, part in split_fences(text))[:MOST_CHARACTERS]
    return _VERBATIM.sub("", text) if "<" in text else text


# Questions


def _asks(title: str) -> bool:
    if leans(title.split()[-1].strip("?？؟").capitalize() if title else ""):
        return False
    return title.endswith(("?", "？", "؟")) and (len(title.split()) >= LEAST_WORDS or count_words(title) > LEAST_WORDS)


def _names_subject(title: str, language: str) -> bool:
    """Return True if a title's question has a word that may name a subject ("Was ist hier los?" has none)."""
    naming = naming_words(title, language)
    if language != "de":
        return bool(naming)
    nouns = {word.lower() for word in _LETTERS.findall(title.partition(" ")[2]) if not word[0].islower()}
    return not nouns.isdisjoint(naming)


def _terms(text: str, opening: str, sentences: Sequence[str], title: str, types: Sequence[str]) -> Iterator[str]:
    """Yield the terms that a section defines, as written.

    A term in a sentence is emphasised, in the title, or begins the section ("A residual is …")."""
    if DEFINITION in types:
        lead = _LEAD.match(text)
        term = extract_prose(lead["lead"]) if lead and _NUMBERED.fullmatch(title) else title
        yield from [term.strip(" .:")] if _is_term(term) else []
    for item in _LIST.finditer(text) if _LISTED.search(text) else ():
        if "  " not in item["term"] and _is_term(term := extract_prose(item["term"])):
            yield term
    for sentence in sentences:
        if defined := _DEFINED.match(sentence):
            term, opens = defined["bold"] or defined["plain"], defined["any"] and sentence is opening
            if _is_term(term) and (defined["bold"] or opens or _is_in(term, title)):
                yield term


def _is_term(term: str) -> bool:
    return 0 < len(term.split()) <= MOST_IN_TERM and not re.search(rf"[.!?:;\d\"“”«»{_LOST}{_BOLD}]", term.strip(" .:"))


def _is_in(term: str, title: str) -> bool:
    return set(map(_beginning, find_words(term))) <= set(map(_beginning, find_words(title)))


def _beginning(word: str) -> str:
    return word.removesuffix("s")[:5]


# Summaries


def _summary(opening: str, title: str) -> str:
    first = opening.replace(_BOLD, "")
    if not first:
        return ""
    words = find_words(first)
    is_whole = SHORTEST <= len(words) <= LONGEST and first.endswith(".") and first[0].isalpha()
    if not is_whole or len(first) > SUMMARY_CHARACTERS or _UNFIT.search(first) or leans(first):
        return ""
    return first if _subject(title) & set(map(_beginning, words[:NAMED_WITHIN])) else ""


def _subject(title: str) -> set[str]:
    return {_beginning(word) for word in find_words(title) if len(word) > 3}


def _telling_sentences(markdown: str, title: str) -> tuple[str, list[str]]:
    """Return the first sentence if it may be about the title, and sentences that may define a term, with marked
    emphasis. Other paragraphs are skipped, since splitting them is slow."""
    opening, sentences, subject = "", [], _subject(title)
    for number, paragraph in enumerate(_paragraphs(markdown)):
        lower = paragraph.lower()
        begins = number == 0 and any(word in lower[:OPENING_CHARACTERS] for word in subject) and not leans(paragraph)
        if begins or _may_define(lower, subject, opens=number == 0):
            prose = extract_prose(paragraph, _LOST, _BOLD)
            complete = [sentence for part in prose.split("\n") for sentence in whole_sentences(part)]
            opening = complete[0] if number == 0 and complete else opening
            sentences += complete
    return opening, sentences


def _may_define(paragraph: str, subject: AbstractSet[str], opens: bool) -> bool:
    """Return True if "is a" stands near emphasis, a title's word, or the section's start."""
    for verb in _IS_A.finditer(paragraph):
        start = max(0, verb.start() - TERM_CHARACTERS)
        term = paragraph[start : verb.start()]
        if (opens and not start) or "*" in term or "_" in term or any(word in term for word in subject):
            return True
    return False


def _paragraphs(markdown: str) -> Iterator[str]:
    text = _HEADING.sub("", markdown) if "#" in markdown else markdown
    for part in re.split(r"\n[ \t]*\n", _without_divs(text) if ":::" in text else text):
        paragraph = _LIST_ITEM.split(part.strip("\n"), maxsplit=1)[0]
        if paragraph.strip() and not _NO_PROSE.match(paragraph) and "\n---" not in paragraph:
            yield paragraph


def _without_divs(text: str) -> str:
    depth, lines = 0, []
    for line in text.split("\n"):
        if div := _DIV.match(line):
            depth = depth + 1 if div["opens"] else max(depth - 1, 0)
        lines.append("" if div or depth else line)
    return "\n".join(lines)
