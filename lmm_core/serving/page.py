"""Render the server's own page, and supply its texts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from starlette.responses import HTMLResponse, Response

from ..indexing.passages import Material
from ..models.languages.stemming import language_code
from ..retrieve.plain_text import plain_title
from ..settings.tables import ServeOptions
from .access import SITE

TYPES = {".js": "text/javascript", ".css": "text/css"}
HEADERS = {"Cache-Control": "no-cache"}
EXAMPLES = 3  # questions
_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class ServedSite:
    """A course's site. box: path of its ask box."""

    folder: Path
    box: str

    def page_of(self, source: str) -> str:
        """Return the URL of a document's page, or ""."""
        page = Path(source).with_suffix(".html").as_posix()
        return f"{SITE[1:]}/{quote(page)}" if (self.folder / page).is_file() else ""

    @property
    def has_data(self) -> bool:
        return (self.folder / self.box / "data.js").is_file()


@cache
def _all_texts() -> dict[str, dict[str, str]]:
    return tomllib.loads((_FOLDER / "texts.toml").read_text(encoding="utf-8"))


def our_texts(language: str) -> dict[str, str]:
    """Return our texts in a language, by default English."""
    return _all_texts().get(language_code(language), _all_texts()["en"])


def with_our_texts(options: ServeOptions, language: str = "", course: str = "") -> ServeOptions:
    """Return options completed with our texts. language: the course's, if they name none; course: default title."""
    language = options.language or language or "en"
    ours = our_texts(language)
    return replace(
        options,
        title=options.title or course or ours["title"],
        empty=ours["empty"],
        too_long=ours["too_long"].replace("{most}", str(options.max_question)),
        language=language,
    )


def box_files(files: Mapping[str, bytes], style: Path) -> dict[str, Response]:
    """Return files of box and page by path, loaded in advance. style: style sheet of the pages."""
    own = {path.name: path.read_bytes() for path in (style, _FOLDER / "home.js", _FOLDER / "home.css")}
    return {
        f"/box/{name}": Response(content, 200, HEADERS, TYPES[Path(name).suffix])
        for name, content in {**files, **own}.items()
        if Path(name).suffix in TYPES
    }


def home_page(options: ServeOptions, material: Material | None, site: ServedSite | None) -> Response:
    """Return the page, with relative links for proxies. material: None to hide the notes."""
    ours = our_texts(options.language)
    values = {name: escape(getattr(options, name)) for name in ("title", "language")}
    values |= {"greeting": escape(options.greeting or ours["greeting"]), "ask": escape(ours["ask"])}
    values["examples"] = _list(ours["examples"], map(_button, example_questions(material)), "examples")
    documents = material.documents if material else []
    links = [
        _link(site.page_of(document.source) if site else "", plain_title(document.title)) for document in documents
    ]
    values["contents"] = _list(ours["contents"], links, "contents")
    values["box"] = f'{SITE[1:]}/{site.box}/ask.js" data-page="' if site and site.has_data else "box/ask.js"
    page = Template((_FOLDER / "page.html").read_text(encoding="utf-8")).substitute(values)
    return HTMLResponse(page, 200, HEADERS)


def example_questions(material: Material | None) -> list[str]:
    """Return annotated questions from across the course."""
    if material is None:
        return []
    asked = [
        next((section.questions[0] for section in doc.walk() if section.questions), "") for doc in material.documents
    ]
    asked = list(filter(None, asked))
    return asked[:: max(len(asked) // EXAMPLES, 1)][:EXAMPLES]


def _list(title: str, entries: Iterable[str], name: str) -> str:
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    return f'<section class="{name}"><h2>{escape(title)}</h2><ul>{items}</ul></section>' if items else ""


def _button(question: str) -> str:
    return f'<button type="button" class="lmm-example">{escape(question)}</button>'


def _link(page: str, title: str) -> str:
    return f'<a href="{escape(page)}">{escape(title)}</a>' if page else escape(title)
