"""The wording of each language: by what its definitions, and sentences that stand by themselves, are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

EMPHASIS = "\ue000"  # stands before and after emphasised words
_LISTS = Path(__file__).parent / "words"
_WORD = rf"{EMPHASIS}?[^\W\d_][\w'’+#-]*{EMPHASIS}?"


@dataclass(frozen=True)
class Grammar:
    """The sentences of a language that define something, and the questions about it.

    defined: a sentence that says what something is, with the groups `article`, `term`, `verb` and
    `what`; general: a `what` that says it in general, with the group `kind`; named: words before an
    emphasised name, with the group `term`; questions: those about a term, by article and verb, or
    by verb, or by "" (of a term that stands alone); verbs: singular and plural; ended: what
    follows a noun phrase that has ended; capitals: nouns have them."""

    defined: re.Pattern[str]
    general: re.Pattern[str]
    named: re.Pattern[str]
    questions: Mapping[str, str]
    verbs: tuple[str, str]
    ended: str = ""
    capitals: bool = False


@dataclass(frozen=True)
class WordLists:
    """The lists of words of a language, in lower case; `words/*.toml` says what each is."""

    asks: frozenset[str]
    no_term: frozenset[str]
    no_kind: frozenset[str]
    leans: frozenset[str]
    counts: frozenset[str]
    counted: frozenset[str]
    no_summary: frozenset[str]
    points: frozenset[str]
    indefinite: frozenset[str]
    pronouns: frozenset[str]


@dataclass(frozen=True)
class Wording:
    """The wording of a language."""

    grammar: Grammar
    lists: WordLists

    def leans_on(self, words: Sequence[str]) -> bool:
        """Return True if a sentence of these words begins as one that needs the sentence before it."""
        counts = not self.lists.counts.isdisjoint(words[:1]) and not self.lists.counted.isdisjoint(words[1:3])
        return counts or _begins(words, self.lists.leans)

    def may_sum_up(self, words: Sequence[str]) -> bool:
        """Return True if a summary may begin with a sentence of these words."""
        return not self.leans_on(words) and not _begins(words, self.lists.no_summary)

    def points_out(self, words: Sequence[str]) -> bool:
        """Return True if one of the words points out of the sentence."""
        return not self.lists.points.isdisjoint(words)

    def stands_for(self, words: Sequence[str]) -> bool:
        """Return True if one of the words stands for something that is named elsewhere."""
        return not self.lists.pronouns.isdisjoint(words)


def _begins(words: Sequence[str], phrases: frozenset[str]) -> bool:
    return any(" ".join(words[:count]) in phrases for count in (1, 2, 3))


@cache
def wording_of(language: str) -> Wording | None:
    """Return the wording of a language with a two-letter code, or None."""
    import tomllib

    if language not in GRAMMARS:
        return None
    read = tomllib.loads((_LISTS / f"{language}.toml").read_text(encoding="utf-8"))
    lists = {
        one.name: frozenset(" ".join(phrase.split()) for phrase in read[one.name].split(","))
        for one in fields(WordLists)
    }
    return Wording(GRAMMARS[language](), WordLists(**lists))


def _defined(articles: str, verbs: tuple[str, str]) -> re.Pattern[str]:
    term, verb = rf"(?P<term>(?:{_WORD} ){{0,4}}?{_WORD})", "|".join(verbs)
    return re.compile(rf"(?:(?P<article>{articles}))?{term}(?: \([^()]{{1,40}}\))? (?P<verb>{verb}) (?P<what>.+)")


def _general(kinds: str, links: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{kinds})(?P<kind>(?:[\w'’+#,-]+ ){{1,7}}?)(?:{links})")


def _named(before: str) -> re.Pattern[str]:
    return re.compile(rf"\b{before}{EMPHASIS}(?P<term>[^{EMPHASIS}]{{3,50}}){EMPHASIS}")


# Made when a text is in the language: the patterns take long to compile
GRAMMARS: dict[str, Callable[[], Grammar]] = {
    "en": lambda: Grammar(
        _defined(r"(?:An?|The) ", ("is", "are")),
        _general(
            r"(?:an?|the|any) |one of the ",
            "that |which |whose |who |where |of |for |used |in |with |without |between |from |to |made |defined "
            "|consisting |containing |by |on |at |when |if |obtained |given |designed |, ",
        ),
        _named(
            r"(?:(?P<verb>is|are)(?: often| usually| also| commonly| then| sometimes)? (?:called|known as|termed|named)"
            r"|we call(?: it| them| these| this)?) (?:(?P<article>an?|the) |its )?"
        ),
        {"is": "What is {}?", "are": "What are {}?", "": "What does “{}” mean?"},
        ("is", "are"),
        ended=r"[.,;:)]| (?:is|to|that|which|of|in|on|and|or|for|with|can|has|from|as|by|at|when|must|will|allows)\b",
    ),
    "de": lambda: Grammar(
        _defined(r"(?:Eine?|Der|Die|Das) ", ("ist", "sind")),
        _general(
            r"(?:eine?|der|die|das|jene[rs]?) ",
            "der |die |das |dem |den |dessen |deren |des |von |zwischen |zu |mit |aus |in |für |zur |zum |bei "
            "|eine[rs] |, ",
        ),
        _named(
            r"(?:heißt|heißen|nennt man|nennen wir|genannt|bezeichnet man als)(?: auch| man)?"
            r"(?: (?:eine?n?|der|die|das|den|ihre?|seine?))? "
        ),
        {"ist": "Was ist {}?", "sind": "Was sind {}?", "": "Was bedeutet „{}“?"},
        ("ist", "sind"),
        ended=r"[.,;:)]| [a-zäöü]",
        capitals=True,
    ),
    "fr": lambda: Grammar(
        _defined(r"(?:Une?|Les?|La|Des) |L['’]", ("est", "sont")),
        _general(
            r"(?:une?|les?|la|des) |l['’]",
            "qui |que |qu['’]|dont |de |d['’]|du |des |entre |où |par |à |pour |permettant |utilisé|, |en |dans |sur ",
        ),
        _named(
            r"(?:s['’]appelle|s['’]appellent|est appelée?|sont appelée?s|est dite?|on appelle|nommée?) "
            r"(?:(?P<article>une?|les?|la) )?"
        ),
        {
            "Un est": "Qu’est-ce qu’un {} ?", "Une est": "Qu’est-ce qu’une {} ?", "Le est": "Qu’est-ce que le {} ?",
            "La est": "Qu’est-ce que la {} ?", "L’ est": "Qu’est-ce que l’{} ?", "L' est": "Qu’est-ce que l’{} ?",
            "Les sont": "Que sont les {} ?", "Des sont": "Que sont les {} ?", "est": "Qu’est-ce que {} ?",
            "sont": "Que sont {} ?", "": "Que signifie « {} » ?",
        },
        ("est", "sont"),
    ),
    "es": lambda: Grammar(
        _defined(r"(?:Una?|El|La|Los|Las) ", ("es", "son")),
        _general(
            r"(?:una?|el|la|los|las) |aquell?[oa] ",
            "que |de |del |entre |cuy[oa]s? |donde |en |para |con |por |a |utilizad|, ",
        ),
        _named(
            r"(?:se llama|se llaman|se denomina|se denominan|llamad[oa]s?|se conoce como|llamamos) "
            r"(?:(?P<article>una?|el|la) )?"
        ),
        {"es": "¿Qué es {}?", "son": "¿Qué son {}?", "": "¿Qué significa «{}»?"},
        ("es", "son"),
    ),
    "it": lambda: Grammar(
        _defined(r"(?:Un[oa]?|Il|Lo|La|I|Gli|Le) |L['’]|Un['’]", ("è", "sono")),
        _general(
            r"(?:un[oa]?|il|lo|la|i|gli|le) |l['’]|un['’]",
            "che |di |d['’]|del |dello |della |dell['’]|dei |delle |degli |tra |fra |cui |dove |in |per |con |da |a "
            "|usat|, ",
        ),
        _named(
            r"(?:si chiama|si chiamano|è chiamat[oa]|sono chiamat[ie]|è dett[oa]|sono dett[ie]|chiamiamo) "
            r"(?:(?P<article>un[oa]?|il|lo|la) )?"
        ),
        {"è": "Che cos’è {}?", "sono": "Che cosa sono {}?", "": "Che cosa significa «{}»?"},
        ("è", "sono"),
    ),
}  # fmt: skip
