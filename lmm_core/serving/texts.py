"""The texts that readers see of the server: the teacher's, and ours in five languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..models.languages.stemming import language_code
from ..settings.project import Project
from ..settings.tables import ServeOptions

OURS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Ask the notes",
        "empty": "The question is empty: say what you want to know.",
        "too_long": "The question is too long: it may have {most} characters.",
        "off_topic": "This is not a subject of this course. Ask about what the notes are about.",
    },
    "de": {
        "title": "Fragen an das Skript",
        "empty": "Die Frage ist leer: Schreiben Sie, was Sie wissen möchten.",
        "too_long": "Die Frage ist zu lang: Sie darf {most} Zeichen haben.",
        "off_topic": "Das ist kein Thema dieses Kurses. Fragen Sie nach dem, wovon das Skript handelt.",
    },
    "fr": {
        "title": "Questions au cours",
        "empty": "La question est vide : écrivez ce que vous voulez savoir.",
        "too_long": "La question est trop longue : {most} caractères au plus.",
        "off_topic": "Ce n’est pas un sujet de ce cours. Demandez ce dont traite le cours.",
    },
    "es": {
        "title": "Preguntas a los apuntes",
        "empty": "La pregunta está vacía: escriba lo que quiere saber.",
        "too_long": "La pregunta es demasiado larga: puede tener {most} caracteres.",
        "off_topic": "No es un tema de este curso. Pregunte por aquello de lo que tratan los apuntes.",
    },
    "it": {
        "title": "Domande agli appunti",
        "empty": "La domanda è vuota: scriva che cosa vuole sapere.",
        "too_long": "La domanda è troppo lunga: può avere {most} caratteri.",
        "off_topic": "Non è un argomento di questo corso. Chieda ciò di cui trattano gli appunti.",
    },
}


@dataclass(frozen=True, slots=True)
class ServedTexts:
    """What readers are told: on the page and in the box, and in place of an answer.

    description and greeting: "" for nothing; language: a code, as of HTML's `lang`."""

    title: str
    description: str
    greeting: str
    empty: str
    too_long: str
    off_topic: str
    language: str


def served_texts(project: Project, language: str = "") -> ServedTexts:
    """Return the texts of a project's server: those of `[serve]`, in place of missing ones ours.

    language: of the course, "" if that is not known; `[serve]` may name another one."""
    options = project.serve
    language = options.language or language or "en"
    ours = OURS.get(language_code(language), OURS["en"])
    too_long = (options.too_long or ours["too_long"]).replace("{most}", str(options.max_question))
    return ServedTexts(
        options.title or ours["title"],
        options.description,
        options.greeting,
        options.empty or ours["empty"],
        too_long,
        options.off_topic or ours["off_topic"],
        language,
    )


def about_data(texts: ServedTexts, options: ServeOptions) -> dict[str, Any]:
    """Return what the server says of itself, to everybody who can reach it."""
    return asdict(texts) | {"record": options.record, "keep_days": options.keep_days, "privacy": options.privacy}
