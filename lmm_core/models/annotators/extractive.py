"""The extractive stand-in: annotations without a language model.

It needs no key and no network. Its summary is made of sentences of the text
itself: the first one and the one that holds most of the key terms (the lead and
frequency heuristics of H. P. Luhn, "The Automatic Creation of Literature
Abstracts", 1958). Its questions ask for what the text defines ("X is a …") and
for its key terms. It understands nothing, and what it writes is marked with its
name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...markdown.regions import split_fences
from ..sources import STAND_IN_NAME
from ..stopwords import STOPWORDS
from .annotator import Annotation, AnnotatorSection

SUMMARY_CHARACTERS = 400
MOST_QUESTIONS = 3
MOST_CHARACTERS = 100_000


@dataclass(frozen=True)
class _Phrases:
    """How questions are asked in a language. `definition` finds what is defined:
    its groups are `term` and `verb`; `what` asks for it, by verb."""

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
_REMOVED = (
    re.compile(r"<!--.*?-->", re.S),
    re.compile(r"\$\$.*?\$\$(?:[ \t]*\{[^}\n]*\})?", re.S),
    re.compile(r"^[ \t]*\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.M | re.S),
    re.compile(r"^(?: {4}|\t).*$", re.M),
    re.compile(r"^:{3,}.*$", re.M),
    re.compile(r"^[ \t]*[|+].*$", re.M),
    re.compile(r"^[ \t]*[-=*_:| \t+]{3,}$", re.M),
    re.compile(r"^[ \t]*(?::|Table:)[ \t].*$", re.M),
    re.compile(r"^\[\^?[^\]\n]+\]:.*$", re.M),
    re.compile(r"^#{1,6}[ \t].*$", re.M),
    re.compile(r"\{\{<.*?>\}\}", re.S),
    re.compile(r"</?[A-Za-z][^<>\n]*>"),
    re.compile(r"!\[[^\]]*\](?:\([^)\n]*\)|\[[^\]]*\])?(?:\{[^}\n]*\})?"),
    re.compile(r"\[\^[^\]]+\]|\^\[[^\]]*\]"),
    re.compile(r"[ ]?\[[^\]\[]*?-?@[\w][^\]]*\]"),
)
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()\n]*(?:\([^()]*\)[^()\n]*)*\)|\[[^\]\n]*\])?(?:\{[^}\n]*\})?")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3})(?=\S)(.{1,400}?)(?<=\S)\1(?![\w*])", re.S)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.{1,400}?)(?<!`)\1(?!`)(?:\{[^}\n]*\})?", re.S)
_ITEM = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,3}[.)]|#\.|\(@\w*\))[ \t]+(?:\[[ xX]\][ \t]+)?", re.M)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.M)
_HIDE = {ord(sign): 0xF0000 + ord(sign) for sign in "[]*_\\`<>$#|:!~"}
_SHOW = {hidden: sign for sign, hidden in _HIDE.items()}
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’»)\]]?\s+(?=[\"“„«(\[¿¡]?[A-ZÀ-ÖØ-Þ\d])")
_ABBREVIATION = re.compile(
    r"\b(?:[A-Za-z]|e\.g|i\.e|cf|vs|etc|Dr|Prof|Mr|Mrs|Fig|Eq|No|Nr|vol|pp|approx|bzw|ca|vgl|usw|d\.h|z\.\s?B)\.$"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*[^\W_]", re.U)


class ExtractiveAnnotator:
    """The annotator that needs no model. One call takes milliseconds."""

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
    """At most 3 questions, a summary of at most 400 characters. Nothing where the text
    holds no sentence."""
    language = section.language.lower()[:2]
    sentences = split_sentences(plain_text(section.text))
    terms = key_terms(" ".join([*sentences, *section.summaries]), language)
    summary = _summarize(sentences, section.summaries, terms)
    questions = _ask(section, sentences, terms, _PHRASES.get(language, _PHRASES["en"]))
    return Annotation(questions if summary else [], summary)


def plain_text(markdown: str) -> str:
    """The prose of a markdown text (of its first 100,000 characters): one paragraph a
    line, without code, equations, tables, markup and notes."""
    prose = "".join("\n" if code else part for code, part in split_fences(markdown.replace("\r\n", "\n")))
    text = _ESCAPE.sub(lambda m: m[1].translate(_HIDE), prose[:MOST_CHARACTERS])
    for pattern in _REMOVED:
        text = pattern.sub("", text)
    text = _ITEM.sub("\n\n", _QUOTE.sub("", text))
    text = _CODE.sub(lambda m: m[2].strip().translate(_HIDE), text)
    text = _LINK.sub(lambda m: m[1], text)
    for _ in range(3):
        text = _EMPHASIS.sub(lambda m: m[2], text)
    text = _CONTROL.sub(" ", text.translate(_SHOW))
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n".join(part for part in paragraphs if part)


def split_sentences(text: str) -> list[str]:
    """The sentences of a plain text, one paragraph a line; fragments that end in no
    full stop (items of lists, labels) are left out where there are sentences."""
    found: list[str] = []
    for paragraph in text.split("\n"):
        open_parts: list[str] = []
        for part in _SENTENCE_END.split(paragraph):
            open_parts.append(part)
            if not _ABBREVIATION.search(part[-12:]):
                found.append(" ".join(open_parts))
                open_parts = []
        found += [" ".join(open_parts)] if open_parts else []
    whole = [s for s in found if s[-1:] in ".!?…”" and not s[:1].islower() and len(s.split()) > 3]
    return whole or [s for s in found if len(s.split()) > 3]


def key_terms(text: str, language: str, most: int = 4) -> list[str]:
    """The words that occur most often, stop words left out, the longer first among
    equals; each in the form in which it occurs first."""
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
    """A sentence that is longer than the summary may be ends at a word, with `…`."""
    if len(sentence) <= SUMMARY_CHARACTERS:
        return sentence
    return sentence[: SUMMARY_CHARACTERS - 2].rsplit(" ", 1)[0] + " …"


def _fit(sentences: list[str]) -> str:
    """As many whole sentences as fit, in their order, none twice."""
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
    """The question that a defining sentence answers, None for any other sentence.
    A term loses the capital of its sentence's start where the prose has it without."""
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
