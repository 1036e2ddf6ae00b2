"""The notes as pages: made when they are asked for, kept until their files change."""

from __future__ import annotations

import html
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
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
from ..frame import framed, site_words
from ..links import Labels, find_labels, with_references
from ..render import FILES, find_pandoc, render_pages
from ..text import PageSource, read_page_source
from .addresses import DOWNLOADS, IMAGES, Addresses
from .clean import clean_html
from .documents import ServedCourse, read_course, stamps_of

FOLDER = "text/"  # of the pages, in the server's addresses
LOOK = 2.0  # seconds between looks at the files
AT_ONCE = 2  # pages that pandoc makes at the same time
KEPT = 2_000  # pages of pandoc's that are kept
LARGEST = 50_000_000  # bytes of a file that is served
LOOKS = [FILES / name for name in ("page.css", "served.css", "served.js")]
_HOME = "index.html"
BODY = "<!--lmm-body-->"  # stands between the contents and the body of a page
LOCKED = '<div class="locked"><noscript>This page needs JavaScript, to send your access token.</noscript></div>'


@dataclass(frozen=True, slots=True)
class Made:
    """What pandoc has made of a page, not cleaned yet: its contents and body; problem: why there is none."""

    toc: str = ""
    body: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around each page: the title of the course, its pages, its language."""

    title: str
    contents: Sequence[Entry] = ()
    language: str = "en"


@dataclass
class _State:
    """The course as it is now, and what was made of it."""

    course: ServedCourse
    indexed: tuple[str, ...]
    made: dict[str, Made] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    data: bytes = b""
    making: threading.Lock = field(default_factory=threading.Lock)


class ServedNotes:
    """The pages of a project's notes, for `lmm serve`. Its methods block: call them in threads.

    root: the project's folder; pandoc: its command; tell: is told what goes wrong, for the teacher."""

    def __init__(self, root: Path, pandoc: str, tell: Callable[[str], None]) -> None:
        self.root, self.pandoc, self.tell = root, pandoc, tell
        self._state: _State | None = None
        self._looked = 0.0
        self._changing = threading.Lock()
        self._kept: OrderedDict[bytes, Made] = OrderedDict()
        self._workers = ThreadPoolExecutor(AT_ONCE, "pandoc")

    # What is served

    def page(self, name: str, indexed: Sequence[str]) -> str | None:
        """Return a page as HTML, None if there is none. indexed: the sources in the index. Raise
        RenderError if pandoc cannot make it, and what `read_course` raises."""
        state = self._now(indexed)
        if name == _HOME and name not in state.course.entries:
            return self._home(state.course)
        if name not in state.course.entries:
            return None
        if name not in state.pages:
            made = self._make(state, name)
            if made.problem:
                raise RenderError(made.problem)
            text = self._finished(state, name, made, _labels(state.made))
            if len(state.made) == len(state.course.entries):  # the names of figures on other pages are known
                state.pages[name] = text
            return text
        return state.pages[name]

    def contents(self, indexed: Sequence[str]) -> list[tuple[str, str]]:
        """Return the names and titles of the pages. Raise what `read_course` raises."""
        return [(entry.page, entry.title) for entry in self._now(indexed).course.contents if entry.page]

    def file(self, name: str, indexed: Sequence[str]) -> tuple[bytes, str, bool] | None:
        """Return a file that a page shows or links to, its type and whether it is an image; None if no
        page does, or if it has moved out of the folder meanwhile. Raise OSError and what `page` does."""
        state = self._now(indexed)
        if name not in state.files:
            self._make_all(state)
        path = state.files.get(name)
        if path is None or not path.is_file() or not is_inside(path, self.root) or path.stat().st_size > LARGEST:
            return None
        suffix = path.suffix.lower()
        return path.read_bytes(), {**DOWNLOADS, **IMAGES}[suffix], suffix in IMAGES

    def data(self, indexed: Sequence[str]) -> bytes:
        """Return the data of the ask box as JSON: what a site's box would have, of these pages."""
        state = self._now(indexed)
        with state.making:  # who asks meanwhile waits for the same
            if not state.data:
                self._make_all(state)
                state.data = _box_data(state)
        return state.data

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
        text = _page(body, language, script)
        for mark, piece in {"window-title": shown, "up": up, "head": home, "pages": "", "turn": ""}.items():
            text = text.replace(f"<!--lmm-{mark}-->", piece)
        return text

    # How it is made

    def _now(self, indexed: Sequence[str]) -> _State:
        """Return the state of the files, read anew if they have changed."""
        sources = tuple(sorted(indexed))
        with self._changing:
            state, now = self._state, time.monotonic()
            if state is not None and state.indexed == sources and now - self._looked < LOOK:
                return state
            self._looked = now
            if state is None or state.indexed != sources or _has_changed(state.course):
                project = with_quarto_rules(load_project(self.root / "-"))
                self._state = state = _State(read_course(project, sources), sources)
            return state

    def _make_all(self, state: _State) -> None:
        list(self._workers.map(lambda name: self._make(state, name), state.course.entries))
        labels = _labels(state.made)
        for name, made in list(state.made.items()):
            if not made.problem and name not in state.pages:
                state.pages[name] = self._finished(state, name, made, labels)

    def _make(self, state: _State, name: str) -> Made:
        """Return what pandoc makes of a page, by its content from what was made before."""
        if name not in state.made:
            course, source = state.course, state.course.entries[name].source
            assert source is not None
            files = [source, *course.included.get(source, ())]
            try:
                text = read_page_source(source, course.project, course.settings, ListLogger())
                if any(now != course.stamps.get(path) for path, now in stamps_of(files).items()):
                    raise RenderError("it has just been changed, and is looked at again in a moment")
                state.made[name] = self._made(text, course.language)
            except (LmmError, OSError) as error:
                self.tell(f"{source.relative_to(course.folder)}: the text is not shown: {error}")
                state.made[name] = Made(problem=str(error))
        return state.made[name]

    def _made(self, text: PageSource, language: str) -> Made:
        works = stamps_of(map(Path, (*text.works, text.style)))
        key = blake2b(repr((text, works, language)).encode("utf-8", "replace")).digest()
        if key not in self._kept:
            (rendered,) = render_pages([("page", "-", text)], "served-parts.html", language, self.pandoc)
            if rendered.problem:
                raise RenderError(rendered.problem)
            toc, _, body = rendered.html.partition(BODY)
            self._kept[key] = Made(toc.strip(), body.strip())
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]

    def _finished(self, state: _State, name: str, made: Made, labels: Labels) -> str:
        """Return a page with its references, cleaned, in its frame. labels: those of all pages."""
        course, entry = state.course, state.course.entries[name]
        assert entry.source is not None
        addresses = Addresses(name, entry.source, course.folder, course.page_of)
        body = clean_html(with_references(made.body, name, labels, ListLogger()), addresses.link, addresses.image)
        toc = clean_html(made.toc, addresses.link, addresses.image)
        state.files.update(addresses.files)
        return _frame(entry, _title(entry, body) + _contents(toc) + body, _frame_of(course))

    def _home(self, course: ServedCourse) -> str:
        """Return the contents of a course that has no first page."""
        lines = [
            f'<li class="depth-{min(one.depth, 3)}"><a href="{html.escape(one.page)}">{html.escape(one.title)}</a></li>'
            if one.page else f"<li><span>{html.escape(one.title)}</span></li>"
            for one in course.contents
        ]  # fmt: skip
        words = site_words(course.language)
        body = f'<header class="title"><h1>{html.escape(course.title)}</h1></header>\n'
        body += f'<nav class="contents" aria-label="{words["toc"]}"><ul>'
        return _frame(Entry(course.title, _HOME), body + "\n".join(lines) + "</ul></nav>", _frame_of(course))


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


def _has_changed(course: ServedCourse) -> bool:
    return not course.is_settled or stamps_of(course.stamps) != course.stamps


def _frame_of(course: ServedCourse) -> Frame:
    return Frame(course.title, course.contents, course.language)


def _labels(made: Mapping[str, Made]) -> Labels:
    return find_labels({page: one.body for page, one in made.items()})


def _title(entry: Entry, body: str) -> str:
    """Return the title of a page, unless it begins with it."""
    return (
        ""
        if body.lstrip().startswith("<h1")
        else f'<header class="title"><h1>{html.escape(entry.title)}</h1></header>\n'
    )


def _contents(toc: str) -> str:
    """Return the contents of a page, between the marks by which its frame knows them."""
    inner = (
        f'<nav id="TOC" class="toc" aria-labelledby="lmm-toc"><p id="lmm-toc"><!--lmm-toc-title--></p>\n{toc}\n</nav>\n'
    )
    return f"<!--lmm-toc-start-->\n{inner}<!--lmm-toc-end-->\n" if toc else ""


def _frame(entry: Entry, body: str, frame: Frame) -> str:
    contents = frame.contents if entry in frame.contents else [*frame.contents, entry]
    return framed(_page(body, frame.language), entry, frame.title, contents, site_words(frame.language))


def _page(body: str, language: str, script: str = "") -> str:
    """Return a page whose frame is still open."""
    template = Template((FILES / "served.html").read_text(encoding="utf-8"))
    pages = site_words(language)["pages"]
    return template.substitute(language=html.escape(language), script=script, body=body, pages=pages)


def _box_data(state: _State) -> bytes:
    """Return the data that the ask box of a site would have of these pages by their names, as JSON."""
    course = state.course
    ask = read_ask(course.folder)
    rules = course.project.rules
    project = replace(course.project, rules=replace(rules, keep=rules.keep | ask.include)) if ask else course.project
    pages = [replace(page, page=FOLDER + page.page) for page in course.pages if page.page in state.pages]
    shown = {FOLDER + name: read_page(text) for name, text in state.pages.items()}
    rows = read_rows(pages, shown, project, course.settings, ListLogger())
    newest = datetime.fromtimestamp(max((stamp for stamp, _ in course.stamps.values()), default=0) / 1e9, UTC)
    data = box_data(rows, course.language, project.synonyms, newest)
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), text) for name, text in data.texts.items())
