"""Annotations without a language model, taken from the text itself.

This stand-in needs no key and no network. The summary consists of the first sentence and
the sentence with the most key terms (the lead and frequency heuristics of H. P. Luhn, "The
Automatic Creation of Literature Abstracts", 1958). The questions ask about terms that the
text defines ("X is a …") and about its key terms. Nothing is understood, and what is written
is marked with the stand-in's name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..sources import STAND_IN_NAME
from ..stopwords import STOPWORDS
from .annotator import Annotation, AnnotatorSection
from .prose import plain_text, split_sentences

SUMMARY_CHARACTERS = 400
MOST_QUESTIONS = 3


@dataclass(frozen=True)
class _Phrases:
    """The wording of questions in one language.

    definition: matches a sentence that defines a `term` by a `verb` (its groups); what: the
    question about such a term, by verb; about: the question about a title; terms, joiner: the
    question about several terms."""

    definition: re.Pattern[str]
    what: dict[str, str]
    about: str
    terms: str
    joiner: str


_TERM = r"(?P<term>(?:[\w'’-]+ ){0,3}?[\w'’-]+)"
_PHRASES = {
    "en": _Phrases(
        re.compile(rf"^(?:(?:An?|The) )?{_TERM} (?P<verb>is|are) (?:an?|the|defined|called|that|those) "),
        {"is": "What is {article}{term}?", "are": "What are {term}?"},
        "What does the text say about “{title}”?", "How are {terms} related?", " and ",
    ),
    "de": _Phrases(
        re.compile(rf"^(?:(?:Eine?|Der|Die|Das) )?{_TERM} (?P<verb>ist|sind) (?:eine?|der|die|das|jene|definiert) "),
        {"ist": "Was ist {term}?", "sind": "Was sind {term}?"},
        "Was sagt der Text über „{title}“?", "Wie hängen {terms} zusammen?", " und ",
    ),
    "fr": _Phrases(
        re.compile(rf"^(?:Une? |Les? |La |L['’])?{_TERM} (?P<verb>est|sont) (?:une?|les?|la|l['’]|définie?s?) "),
        {"est": "Que signifie « {term} » ?", "sont": "Que signifie « {term} » ?"},
        "Que dit le texte de « {title} » ?", "Comment {terms} sont-ils liés ?", " et ",
    ),
    "es": _Phrases(
        re.compile(rf"^(?:(?:Una?|El|La|Los|Las) )?{_TERM} (?P<verb>es|son) (?:una?|el|la|los|las) "),
        {"es": "¿Qué es {term}?", "son": "¿Qué son {term}?"},
        "¿Qué dice el texto sobre «{title}»?", "¿Cómo se relacionan {terms}?", " y ",
    ),
    "it": _Phrases(
        re.compile(rf"^(?:(?:Una?|Il|Lo|La|I|Gli|Le) )?{_TERM} (?P<verb>è|sono) (?:una?|il|lo|la|i|gli|le) "),
        {"è": "Che cos’è {term}?", "sono": "Che cosa sono {term}?"},
        "Che cosa dice il testo su «{title}»?", "Come sono collegati {terms}?", " e ",
    ),
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_][\w'’-]*[^\W_]", re.U)


class ExtractiveAnnotator:
    """The annotator that needs no model. A section takes it milliseconds."""

    name = STAND_IN_NAME
    stopped = None

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`."""
        return extract(section)

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return 0

    async def close(self) -> None:
        """See `Annotator`."""


def extract(section: AnnotatorSection) -> Annotation:
    """Return at most 3 questions and a summary of at most 400 characters.

    Both are empty if the text holds no sentence."""
    language = section.language.lower()[:2]
    sentences = split_sentences(plain_text(section.text))
    terms = key_terms(" ".join([*sentences, *section.summaries]), language)
    summary = _summarize(sentences, section.summaries, terms)
    questions = _ask(section, sentences, terms, _PHRASES.get(language, _PHRASES["en"]))
    return Annotation(questions if summary else [], summary)


def key_terms(text: str, language: str, most: int = 4) -> list[str]:
    """Return the most frequent words, without stop words, each in the form that occurs first.

    Of words that occur equally often, the longer come first. A word has to occur twice."""
    stop = STOPWORDS.get(language, STOPWORDS["en"])
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for word in _WORD.findall(text):
        low = word.lower()
        if len(low) > 3 and low not in stop and low.split("'")[0].split("’")[0] not in stop:
            stem = low[:-1] if low.endswith("s") and not low.endswith("ss") else low
            first.setdefault(stem, word)
            counts[stem] += 1
    ranked = sorted(counts, key=lambda stem: (-counts[stem], -len(stem), stem))
    return [first[stem] for stem in ranked[:most] if counts[stem] > 1]


def _summarize(sentences: list[str], summaries: tuple[str, ...], terms: list[str]) -> str:
    lead = [_cut(sentence) for sentence in sentences[:1]]
    best = max(sentences[1:], key=lambda s: _score(s, terms), default="")
    chosen = [*lead, *([best] if best and _score(best, terms) > 0 else [])]
    chosen += [split_sentences(summary)[0] for summary in summaries if split_sentences(summary)]
    return _fit(chosen)


def _score(sentence: str, terms: list[str]) -> float:
    low = sentence.lower()
    return sum(term.lower() in low for term in terms) / (1 + abs(len(sentence) - 120) / 120)


def _cut(sentence: str) -> str:
    """Return a sentence, cut at a word and ended with `…` if it is too long for a summary."""
    if len(sentence) <= SUMMARY_CHARACTERS:
        return sentence
    return sentence[: SUMMARY_CHARACTERS - 2].rsplit(" ", 1)[0] + " …"


def _fit(sentences: list[str]) -> str:
    """Return as many whole sentences as fit into a summary, in order and without repetition."""
    taken: list[str] = []
    for sentence in dict.fromkeys(sentences):
        if len(" ".join([*taken, sentence])) <= SUMMARY_CHARACTERS:
            taken.append(sentence)
    return " ".join(taken)


def _ask(section: AnnotatorSection, sentences: list[str], terms: list[str], phrases: _Phrases) -> list[str]:
    title = plain_text(section.titles[-1]).replace("\n", " ") if section.titles else ""
    questions = [title] if title.endswith("?") else []
    if title and not questions:
        questions.append(phrases.about.format(title=title))
    stop = frozenset().union(*STOPWORDS.values())
    prose = " ".join(sentences)
    questions += [q for sentence in sentences if (q := _define(sentence, prose, phrases, stop))][:2]
    if len(terms) > 1:
        joined = ", ".join(terms[:-1][:2]) + phrases.joiner + terms[:3][-1]
        questions.append(phrases.terms.format(terms=joined))
    return list({question.casefold(): question for question in reversed(questions)}.values())[::-1][:MOST_QUESTIONS]


def _define(sentence: str, prose: str, phrases: _Phrases, stop: frozenset[str]) -> str | None:
    """Return the question that a defining sentence answers, or None for other sentences.

    A capital at the start of a sentence is dropped if the prose has the term without it."""
    found = phrases.definition.match(sentence)
    if not found:
        return None
    term, first = found["term"], found["term"].split()[0]
    if first.lower() in stop or len(first) < 3 or not first.isalpha():
        return None
    if re.search(rf"\b{re.escape(term[0].lower() + term[1:])}\b", prose):
        term = term[0].lower() + term[1:]
    article = re.match(r"(An?|The) ", sentence)
    return phrases.what[found["verb"].lower()].format(term=term, article=article[0].lower() if article else "")
