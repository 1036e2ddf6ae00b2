"""Questions about a section: which of those that a model asks are any."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import GateError
from ..annotators.annotator import AnnotatorSection
from ..replies import one_line
from .echoes import echo_in
from .languages import all_frequent_words, is_other_language, languages_of
from .repeats import repeated_in
from .words import Subject, fold, lettered, quoted_words, scripts_in, words_in

MOST_CHARACTERS = 600
_AFTER = 60  # characters that may follow a question mark: points, a source, "Explain."
_MARK = re.compile("[?？؟⁇‽⸮՞፧;\u037e]")
_SIGNS = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|[^\w\s])*\s*\Z")  # brackets and other signs alone
# Scripts in which questions need no mark: Thai to Khmer, Tibetan; and the endings that ask in Han scripts.
_NO_MARK = re.compile("[\u0e00-\u109f\u1780-\u17ff]")
_ASKING_END = re.compile("[か吗嗎呢么]\\s*[。．.]?\\W*\\Z")
_NUMBER = re.compile(r"[\W\d_]*(?:[A-Za-z]?[\W\d_]*)\Z")
_PLACEHOLDER = re.compile(
    r"\W*(?:(?:your|next|another|first|second|third|example|sample|any|insert|the)\s+)?"
    r"(?:question|frage|pregunta|domanda|вопрос|q)s?\s*(?:n[o°º]?\.?\s*)?(?:\d+|[a-z]|one|two|three|here|text)?\W*\Z|"
    r"\W*(?:n/?a|none|null|todo|tbd|string|lorem ipsum.*)\W*\Z",
    re.I,
)  # fmt: skip
# Tasks instead of questions, which students search for as well.
_TASK = re.compile(
    r"\W*(?:explain|describe|compare|defin[ei]|list|name|show|calculate|compute|give|discuss|derive|prove|state|outline|"
    r"sketch|summari[sz]e|distinguish|justify|identify|interpret|illustrate|find|write|tell|"
    r"erklär|erläuter|beschreib|nenn|vergleich|definier|berechn|zeig|begründ|gib|leit|beweis|skizzier|bestimm|"
    r"unterscheid|interpretier|diskutier|expli[qc]|décri|compar|défini|donne|calcul|montre|énonce|cite|démontre|justifi|"
    r"précise|interprét|descri|enumer|demuestr|mencion|nombr|demostr|indi[cq]|muestr|spieg|elenc|confront|dimostr|"
    r"объясн|опиш|сравн|назов|определ|докаж|εξηγ|περιγρ)\w*[\s,:]+(?:(?:\S+\s+){2}|(?:\S+\s+)?\S+[^\W\d_][.!]\W*\Z)",
    re.I,
)
_ASKING_WORD = re.compile(
    r"\W*(?:what|which|who|whom|whose|when|where|why|how|was|welche[rsnm]?|wer|wen|wann|wo|warum|weshalb|wieso|wie|"
    r"wozu|wofür|womit|woran|wodurch|que|quoi|quel(?:le)?s?|qui|où|quand|comment|pourquoi|combien|qu['’]est-ce|qué|cuál|"
    r"cuáles|quién|cómo|cuándo|dónde|cuánt[oa]s?|che|cosa|quale|quali|chi|come|perché|что|как|какой|какая|какие|почему|"
    r"когда|где|зачем|τι|πώς|γιατί|ποια|ποιος|πότε)\b\s+(?:\S+\s+){2}",
    re.I,
)
# Words that name no subject but the text itself.
_GENERAL = frozenset(
    """about above according answered article author chapter content contents describe described discuss discussed
    document explain explained following heading idea main mentioned page paragraph part passage question questions
    reader say said says section sections subject subsection summary text texts title titles topic topics
    abschnitt aussage autor autorin behandelt beschreibt dokument frage fragen geht genannt hauptaussage inhalt kapitel
    sagt text textes thema themen titel uberschrift verfasser zusammenfassung
    auteur chapitre contenu extrait idee idees principale principal question resume section sujet texte theme titre
    autor capitulo contenido documento idea pregunta principal resumen seccion texto tema titulo trata
    argomento autore capitolo contenuto domanda riassunto sezione testo titolo""".split()
)

_NAME = re.compile(r"(?<=[^\s.?!:]\s)[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω]\w{2,}")  # a word with a capital inside a sentence


class UnsureError(GateError):
    """A question that shares no word with its section, and may be good all the same."""


class QuestionGate:
    """The check of questions about one section."""

    def __init__(self, section: AnnotatorSection) -> None:
        texts = (*section.titles, section.text, *section.summaries)
        self._source, self._language = section.source, section.language
        self._subject = Subject(texts)
        titles = set(words_in(fold(" ".join(section.titles))))
        self._frequent = all_frequent_words(self._source, section.language)
        self._general = {word for word in _GENERAL if word not in titles} | self._frequent
        self._kept: list[str] = []

    def check(self, question: str) -> str:
        """Return a question on one line. Raise GateError, which says why, if it is none of the section.

        An UnsureError says that it shares no word with the section, which good ones with other words
        for the same things do not either."""
        question = one_line(question)
        if why := self._fault(question):
            raise GateError(why, question)
        self._kept.append(question)
        if not self._shares(question):
            names = self._foreign_name(question) or not self._content(question)
            raise (GateError if names else UnsureError)("names nothing that the section is about", question)
        return question

    def _fault(self, question: str) -> str:
        """Return what is wrong with a question, or ""."""
        if not question:
            return "is empty"
        if len(question) > MOST_CHARACTERS:
            return f"has {len(question):,} characters"
        if not lettered(question) or _NUMBER.match(question):
            return "is a number or a sign, not a question"
        if is_other_language(question, self._source, self._language):
            return echo_in(question, self._source) or "is not in the language of the text"
        return echo_in(question, self._source) or self._form_fault(question)

    def _form_fault(self, question: str) -> str:
        if _PLACEHOLDER.match(question):
            return "is a placeholder, not a question"
        if not is_question(question):
            return "is not a question"
        if len(lettered(question)) < 2 and not _is_unspaced(question):
            return "is one word, not a whole question"
        if repeated_in(question) or _stutters(question):
            return "repeats itself"
        return "stands there already" if _bare(question) in map(_bare, self._kept) else ""

    def _shares(self, question: str) -> bool:
        """Return True if a question shares a word with the section that says what it is about."""
        subject = self._subject
        return bool(subject.shared(question, self._general) or subject.shared(quoted_words(question)))

    def _content(self, question: str) -> bool:
        """Return True if a question has words that could say what it is about."""
        return bool(set(words_in(fold(question))) - self._general)

    def _foreign_name(self, question: str) -> bool:
        """Return True if a question has a name that the section has not. German writes all nouns as names."""
        if "de" in languages_of(self._source, self._language):
            return False
        return any(not self._subject.shared(name) for name in _NAME.findall(question))


def is_question(text: str) -> bool:
    """Return True if a text ends as questions do, or sets a task ("Explain why …")."""
    marks = [found for found in _MARK.finditer(text) if _asks(found[0], text)]
    if marks:
        after = text[marks[-1].end() :]
        return len(after) <= _AFTER or bool(_SIGNS.match(after))
    unmarked = _ASKING_END.search(text) or (_NO_MARK.search(text) and len(lettered(text)) > 0)
    return bool(unmarked or _TASK.match(text) or _ASKING_WORD.match(text))


def _asks(mark: str, text: str) -> bool:
    """Return True if a mark asks: the semicolon does so in Greek alone."""
    return mark not in ";\u037e" or bool(scripts_in(text)["Greek"])


def _is_unspaced(text: str) -> bool:
    return bool(scripts_in(text)["Han"] or _NO_MARK.search(text)) and len(text) >= 4


def _stutters(text: str) -> bool:
    words = words_in(fold(text))
    return len(words) >= 12 and len(set(words)) * 3 < len(words)


def _bare(question: str) -> str:
    return " ".join(words_in(fold(question))) or question


def check_questions(questions: Sequence[str], section: AnnotatorSection) -> tuple[list[str], list[GateError]]:
    """Return the questions that are good, each once, and what is wrong with the others.

    Those that share no word with the section pass if most of the others do share one: then the
    model has understood what it is about, and says it in other words."""
    gate = QuestionGate(section)
    checked = [_checked(gate, question) for question in questions]
    sure = sum(isinstance(one, str) for one in checked)
    unsure = sum(isinstance(one, UnsureError) for one in checked)
    kept, faults = [], []
    for one in checked:
        if isinstance(one, UnsureError) and sure > max(unsure, 1):
            kept.append(one.said)
        elif isinstance(one, GateError):
            faults.append(one)
        else:
            kept.append(one)
    return kept, faults


def _checked(gate: QuestionGate, question: str) -> str | GateError:
    try:
        return gate.check(question)
    except GateError as error:
        return error
