"""Terms that a text defines, and the questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .prose import extract_prose
from .sentences import LOST, Sentence, beginning_of, words_of
from .wording import EMPHASIS, Wording

DEFINITION = "definition"
MOST_WORDS = 5  # of a term
_LIST = re.compile(r"(?:^|\n[ \t]*\n)(?P<term>[^\s:|+=>#<!-][^\n]{0,120})\n(?:[ \t]*\n)?[ ]{0,3}[:~][ \t]+\S")
_LEAD = re.compile(r"\s*(\*\*|__)(?P<lead>[^\n*_]{2,80})\1")
_GENERIC = re.compile(r"(?:definitions?|définitions?|definición|definiciones|definizion[ei])\b[\s\d.:]*", re.I)


@dataclass(frozen=True)
class Definitions:
    """The questions about the terms that a section defines, and the sentences that do so."""

    questions: list[str]
    sentences: list[Sentence]


def find_definitions(
    text: str, sentences: Sequence[Sentence], titles: Sequence[str], kinds: Sequence[str], wording: Wording
) -> Definitions:
    """Return the definitions of a section, in their order.

    kinds: the section's types; one of type `definition` defines its title."""
    title = titles[-1] if titles else ""
    asked = [(one, term, question) for one in sentences for term, question in _defined(one, title, text, wording)]
    found = [(term.casefold(), question) for _, term, question in asked]
    alone = [*_of_definition(text, title, kinds), *_listed(text)]
    known = {term for term, _ in found}
    found += [(term.casefold(), _ask_alone(term, text, wording)) for term in alone
              if term.casefold() not in known and _may_be_named(term)]  # fmt: skip
    return Definitions(list(dict(found[::-1]).values())[::-1], [one for one, _, _ in asked])


def _of_definition(text: str, title: str, kinds: Sequence[str]) -> Iterator[str]:
    """Yield the term of a section of type `definition`: its title, or the bold words that it begins with."""
    if DEFINITION not in kinds:
        return
    lead = _LEAD.match(text)
    named = _GENERIC.sub("", title, count=1).strip(" ().:–-") if _GENERIC.match(title) else title
    term = named or (extract_prose(lead["lead"]) if lead else "")
    yield from [term.strip(" .:")] if term else []


def _listed(text: str) -> Iterator[str]:
    """Yield the terms of definition lists; two blanks stand in a row of a table, before its caption."""
    yield from (extract_prose(found["term"]) for found in _LIST.finditer(text) if "  " not in found["term"])


def _may_be_named(term: str) -> bool:
    return 0 < len(term.split()) <= MOST_WORDS and not re.search(rf"[.!?:;\"“”«»{LOST}]", term)


def _ask_alone(term: str, text: str, wording: Wording) -> str:
    return wording.grammar.questions[""].format(_as_inside(term, text, wording))


def _as_inside(term: str, text: str, wording: Wording) -> str:
    """Return a term without the capital of a beginning if the text has its first word without."""
    small = term[:1].lower() + term[1:]
    if wording.grammar.capitals:  # only an adjective has lost its small letter
        return small if re.match(r"\w+e [A-ZÄÖÜ]", term) else term
    return small if re.search(rf"\b{re.escape(small.split()[0])}", text) else term


def _defined(sentence: Sentence, title: str, text: str, wording: Wording) -> Iterator[tuple[str, str]]:
    """Yield the terms that a sentence defines, each with its question."""
    if not sentence.text.endswith((".", "!", ")")) or LOST in sentence.text:
        return
    found = wording.grammar.defined.match(sentence.marked)
    if found and _is_definition(found, title, wording):
        term = found["term"].replace(EMPHASIS, "")
        yield term, _ask(found["article"] or "", found["verb"], term, text, wording)
        return
    named = wording.grammar.named.search(sentence.marked)
    if named and _is_term(named["term"], wording) and _ends(sentence.marked[named.end() :], wording):
        yield named["term"], _ask_named(named, text, wording)


def _ends(rest: str, wording: Wording) -> bool:
    """Return True if a name ends where its emphasis does, and is not the beginning of a longer one."""
    return not rest or not wording.grammar.ended or re.match(wording.grammar.ended, rest) is not None


def _ask_named(found: re.Match[str], text: str, wording: Wording) -> str:
    """Return the question about a term after "is called": with its article, or as of a word."""
    groups = found.groupdict()
    article, verb = groups.get("article"), groups.get("verb") or wording.grammar.verbs[0]
    if article and verb in wording.grammar.questions:
        return _ask(f"{article} ", verb, found["term"], text, wording)
    if verb == wording.grammar.verbs[1] and not article and found["term"].endswith("s"):
        return _ask("", verb, found["term"], text, wording)
    return _ask_alone(found["term"], text, wording)


def _is_definition(found: re.Match[str], title: str, wording: Wording) -> bool:
    """Return True if a sentence says in general what a term is.

    Its term is emphasised or in the title, unless an indefinite article says that it is general."""
    term = found["term"].replace(EMPHASIS, "")
    general = wording.grammar.general.match(found["what"].replace(EMPHASIS, ""))
    if not general or not _is_term(term, wording) or wording.lists.no_kind & set(words_of(general["kind"])):
        return False
    if wording.points_out(words_of(re.split(r"[,;:(]", found["what"])[0])):
        return False
    article = (found["article"] or "").strip().lower()
    if article in wording.lists.indefinite and found["verb"] != wording.grammar.verbs[0]:
        return False
    is_emphasised = found["term"].startswith(EMPHASIS) or found["term"].endswith(EMPHASIS)
    return is_emphasised or article in wording.lists.indefinite or _is_in(term, title)


def _is_term(term: str, wording: Wording) -> bool:
    words = words_of(term)
    whole = len(term) > 2 and not re.search(r"['’]s\b|[\"“”«»„]", term)
    return bool(words) and len(words) <= MOST_WORDS and whole and not wording.lists.no_term & set(words)


def _is_in(term: str, title: str) -> bool:
    """Return True if a title names a term, in the singular or plural."""
    named = {beginning_of(word) for word in words_of(title)}
    return all(beginning_of(word) in named for word in words_of(term))


def _ask(article: str, verb: str, term: str, text: str, wording: Wording) -> str:
    """Return the question about a term that stands after an article, or alone if that is ""."""
    known = wording.grammar.questions.get(f"{article.strip().capitalize()} {verb}") if article else None
    if known:
        return known.format(term)
    if article:
        return wording.grammar.questions[verb].format(article[:1].lower() + article[1:] + term)
    return wording.grammar.questions[verb].format(_with_its_article(term, verb, text, wording))


def _with_its_article(term: str, verb: str, text: str, wording: Wording) -> str:
    """Return a bare singular term with the article that it has elsewhere in the text: a mutex is no substance."""
    if verb != wording.grammar.verbs[0] or not wording.grammar.ended:
        return _as_inside(term, text, wording)
    articles = "|".join(sorted(wording.lists.indefinite))
    used = re.search(rf"\b(?P<article>{articles}) {re.escape(term)}(?={wording.grammar.ended})", text, re.I)
    shown = term if wording.grammar.capitals else term.lower()
    return f"{used['article'].lower()} {shown}" if used else _as_inside(term, text, wording)
