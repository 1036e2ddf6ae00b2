"""The notes as pages: made when somebody asks for one, and kept until a file changes."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from string import Template

from ...errors import CourseError, LmmError, RenderError
from ...files.walk import is_inside
from ...logging import ListLogger
from ...quarto.ask_box.data import box_data
from ...quarto.ask_box.page_html import read_page
from ...quarto.ask_box.rows import read_rows
from ...quarto.options import read_ask
from ...settings.project import load_project
from ...settings.quarto_project import with_quarto_rules
from ..contents import Entry
from ..frame import contents_list, framed, site_words
from ..links import find_labels, with_references
from ..render import FILES, find_pandoc, render_pages
from ..text import read_page_source
from .addresses import DOWNLOADS, IMAGES, Addresses
from .clean import clean_html
from .documents import ServedCourse, read_course, stamps_of

FOLDER = "text/"  # of the pages, in the server's addresses
LOOK = 2.0  # seconds between looks at the files
LARGEST = 50_000_000  # bytes of a file that is served
LOOKS = [FILES / name for name in ("page.css", "served.css", "served.js")]
_HOME = "index.html"
BODY = "<!--lmm-body-->"  # stands between the contents and the body of a page
LOCKED = '<div class="locked"><noscript>This page needs JavaScript, to send your access token.</noscript></div>'
CHANGED = "the notes have just been changed, and are looked at again in a moment"


@dataclass(frozen=True)
class _Notes:
    """The pages of a course as HTML, by name.

    problems: why others cannot be shown; files: what the pages show or link to, by name, for nothing else is
    served; data: of the ask box, as JSON."""

    course: ServedCourse
    pages: Mapping[str, str]
    problems: Mapping[str, str]
    files: Mapping[str, Path]
    data: bytes


class ServedNotes:
    """The pages of a project's notes, for `lmm serve`. Its methods block: call them in threads. They raise what
    `read_course` raises, and RenderError.

    root: the project's folder; pandoc: its command; tell: is told what goes wrong, for the teacher."""

    def __init__(self, root: Path, pandoc: str, tell: Callable[[str], None]) -> None:
        self.root, self.pandoc, self.tell = root, pandoc, tell
        self._notes: _Notes | None = None
        self._looked = 0.0
        self._lock = threading.Lock()

    def page(self, name: str, indexed: Sequence[str]) -> str | None:
        """Return a page as HTML, None if there is none. indexed: the sources in the index."""
        notes = self._now(indexed)
        if problem := notes.problems.get(name):
            raise RenderError(problem)
        return notes.pages.get(name)

    def contents(self, indexed: Sequence[str]) -> list[tuple[str, str]]:
        """Return the names and titles of the pages."""
        return [(entry.page, entry.title) for entry in self._now(indexed).course.contents if entry.page]

    def file(self, name: str, indexed: Sequence[str]) -> tuple[bytes, str, bool] | None:
        """Return a file that a page shows or links to, its type and whether it is an image; None if no
        page does, or if it has moved out of the folder meanwhile. Raise OSError, too."""
        path = self._now(indexed).files.get(name)
        if path is None or not path.is_file() or not is_inside(path, self.root) or path.stat().st_size > LARGEST:
            return None
        suffix = path.suffix.lower()
        return path.read_bytes(), {**DOWNLOADS, **IMAGES}[suffix], suffix in IMAGES

    def data(self, indexed: Sequence[str]) -> bytes:
        """Return the data of the ask box as JSON: what a site's box would have, of these pages."""
        return self._now(indexed).data

    def locked(self, name: str, title: str, language: str) -> str:
        """Return the page that fetches a page with the reader's token. title, language: the server's."""
        script = f'<script defer src="{"../" * name.count("/")}../box/served.js"></script>\n'
        return self._alone(name, title, language, LOCKED, script)

    def told(self, name: str, title: str, language: str, sentence: str) -> str:
        """Return the page that says why there is none."""
        return self._alone(name, title, language, f"<h1>{html.escape(title)}</h1>\n<p>{html.escape(sentence)}</p>")

    def _alone(self, name: str, title: str, language: str, body: str, script: str = "") -> str:
        """Return a page that shows nothing of the course."""
        up, shown = "../" * name.count("/"), html.escape(title)
        home = f'<a class="home" href="{up}index.html">{shown}</a>'
        text = _open_page(body, language, script)
        for mark, piece in {"window-title": shown, "up": up, "head": home, "pages": "", "turn": ""}.items():
            text = text.replace(f"<!--lmm-{mark}-->", piece)
        return text

    def _now(self, indexed: Sequence[str]) -> _Notes:
        """Return the pages of the notes as they are now, made anew if a file has changed."""
        sources = tuple(sorted(indexed))
        with self._lock:  # who asks meanwhile waits for the same
            notes, now = self._notes, time.monotonic()
            if notes is not None and notes.course.indexed == sources:
                if now - self._looked < LOOK:
                    return notes
                self._looked = now
                if not notes.course.has_changed():
                    return notes
            self._notes = None
            project = with_quarto_rules(load_project(self.root / "-"))
            self._notes = notes = self._make(read_course(project, sources))
            self._looked = now
            return notes

    def _make(self, course: ServedCourse) -> _Notes:
        texts, problems = [], {}
        for name, entry in course.entries.items():
            assert entry.source is not None
            try:
                text = read_page_source(entry.source, course.project, course.settings, ListLogger())
                texts.append((name, entry.title, text))
            except (LmmError, OSError) as error:
                problems[name] = str(error)
        if stamps_of(course.stamps) != course.stamps:  # what is left out may be another part by now
            raise RenderError(CHANGED)
        rendered = render_pages(texts, "served-parts.html", course.language, self.pandoc)
        problems |= {page.name: page.problem for page in rendered if page.problem}
        for name, problem in problems.items():
            self.tell(f"{course.source(name)}: the text is not shown: {problem}")
        pages, files = _finish({page.name: page.html for page in rendered if not page.problem}, course)
        data = _box_data(course, pages)
        if _HOME not in course.entries:
            pages[_HOME] = _home(course)
        return _Notes(course, pages, problems, files, data)


def served_notes(root: Path, tell: Callable[[str], None]) -> ServedNotes | None:
    """Return the notes of a project as pages, None if there is nothing to make them with, which is told."""
    missing = "the package nh3 is missing" if find_spec("nh3") is None else ""
    try:
        if not missing:
            return ServedNotes(root, find_pandoc(), tell)
    except CourseError:
        missing = "there is no pandoc on this machine"
    tell(f"{missing}: sources show their place, and their text is not shown")
    return None


def _finish(rendered: Mapping[str, str], course: ServedCourse) -> tuple[dict[str, str], dict[str, Path]]:
    """Return pages of pandoc's cleaned and in their frame, and the files that they show or link to."""
    labels = find_labels(rendered)
    pages: dict[str, str] = {}
    files: dict[str, Path] = {}
    for name, text in rendered.items():
        entry = course.entries[name]
        assert entry.source is not None
        addresses = Addresses(name, entry.source, course.folder, course.page_of)
        toc, _, body = with_references(text, name, labels, ListLogger()).partition(BODY)
        toc, body = (clean_html(part.strip(), addresses.link, addresses.image) for part in (toc, body))
        pages[name] = _frame(entry, _title(entry, body) + _contents(toc) + body, course)
        files |= addresses.files
    return pages, files


def _home(course: ServedCourse) -> str:
    """Return the contents of a course that has no first page."""
    label = site_words(course.language)["toc"]
    body = f'<header class="title"><h1>{html.escape(course.title)}</h1></header>\n'
    body += f'<nav class="contents" aria-label="{label}">{contents_list(course.contents, "", "")}</nav>'
    return _frame(Entry(course.title, _HOME), body, course)


def _title(entry: Entry, body: str) -> str:
    """Return the title of a page, unless it begins with it."""
    if body.lstrip().startswith("<h1"):
        return ""
    return f'<header class="title"><h1>{html.escape(entry.title)}</h1></header>\n'


def _contents(toc: str) -> str:
    """Return the contents of a page, between the marks by which its frame knows them."""
    inner = (
        f'<nav id="TOC" class="toc" aria-labelledby="lmm-toc"><p id="lmm-toc"><!--lmm-toc-title--></p>\n{toc}\n</nav>\n'
    )
    return f"<!--lmm-toc-start-->\n{inner}<!--lmm-toc-end-->\n" if toc else ""


def _frame(entry: Entry, body: str, course: ServedCourse) -> str:
    contents = course.contents if entry in course.contents else [*course.contents, entry]
    return framed(_open_page(body, course.language), entry, course.title, contents, site_words(course.language))


def _open_page(body: str, language: str, script: str = "") -> str:
    """Return a page whose frame is still open."""
    template = Template((FILES / "served.html").read_text(encoding="utf-8"))
    label = site_words(language)["pages"]
    return template.substitute(language=html.escape(language), script=script, body=body, pages=label)


def _box_data(course: ServedCourse, pages: Mapping[str, str]) -> bytes:
    """Return the data that the ask box of a site would have of these pages by their names, as JSON."""
    ask = read_ask(course.folder)
    rules = course.project.rules
    project = replace(course.project, rules=replace(rules, keep=rules.keep | ask.include)) if ask else course.project
    documents = [replace(page, page=FOLDER + page.page) for page in course.pages if page.page in pages]
    shown = {FOLDER + name: read_page(text) for name, text in pages.items()}
    rows = read_rows(documents, shown, project, course.settings, ListLogger())
    newest = datetime.fromtimestamp(max((stamp for stamp, _ in course.stamps.values()), default=0) / 1e9, UTC)
    data = box_data(rows, course.language, project.synonyms, newest)
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), text) for name, text in data.texts.items())
