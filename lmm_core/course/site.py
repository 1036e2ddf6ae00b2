"""Write a static site with pandoc: a page for each document, with links, navigation and the ask box."""

from __future__ import annotations

import html
import json
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path, PurePosixPath
from threading import Timer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from ..errors import CourseError, LmmError, RenderError
from ..files.walk import RENDERED, SUFFIXES, is_document, is_inside
from ..indexing.documents import language_of
from ..installation import packaged_pandoc
from ..logging import LoggerBase, Progress, in_file
from ..models.languages.recognize import main_language
from ..quarto.after_render import shown_pages, write_site_box
from ..quarto.html import element_text, parse_html
from ..quarto.pages import Page
from ..scan.knit import LEFT_OUT
from ..settings.project import Project, load_project
from ..settings.quarto_project import with_quarto
from ..settings.tables import SiteOptions
from ..study.outline import course_title
from .contents import FIRST_PAGE, Entry, frame_of, read_contents, site_words
from .text import PageSource, read_page_source

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

FILES = Path(__file__).with_name("files")
SECONDS = 30.0  # per page
_LEAST = 8  # pages per pandoc process


@dataclass(frozen=True, slots=True)
class PageJob:
    """A page to render.

    name: path in the site
    frame: variables of the template"""

    name: str
    title: str
    source: PageSource
    frame: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A rendered page. problem: why there is no HTML, or "" if there is."""

    name: str
    html: str = ""
    messages: Sequence[str] = field(default_factory=list)
    problem: str = ""


def find_pandoc() -> str:
    """Return the path of the packaged or else an installed pandoc. Raise CourseError if there is none."""
    if pandoc := packaged_pandoc() or shutil.which("pandoc"):
        return str(pandoc)
    raise CourseError("There is neither Quarto nor pandoc on this machine to render the site: install one of them")


def render_pages(pages: Sequence[PageJob], pandoc: str, progress: Progress | None = None) -> list[RenderedPage]:
    """Return the rendered pages, in order. Raise RenderError if pandoc does not run or takes too long."""
    if progress:
        progress.expect(len(pages))
    count = max(1, min(os.cpu_count() or 1, len(pages) // _LEAST))
    shares = [pages[at::count] for at in range(count)]
    with ThreadPoolExecutor(count) as workers:
        batches = [*workers.map(lambda share: [*_run(share, pandoc, progress)], shares)]
    rendered = {page.name: page for page in chain.from_iterable(batches)}
    return [rendered[page.name] for page in pages]


def _run(pages: Sequence[PageJob], pandoc: str, progress: Progress | None) -> Iterator[RenderedPage]:
    job = {
        "filter": str(FILES / "site.lua"),
        "template": (FILES / "page.html").read_text("utf-8"),
        "pages": [{**asdict(page), "words": site_words(page.source.language)} for page in pages],
    }
    command = [pandoc, "lua", str(FILES / "render.lua")]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise RenderError(f"pandoc could not be started: {error.strerror}") from None
        timer = Timer(SECONDS * len(pages), process.kill)
        timer.start()
        with process:
            assert process.stdin and process.stdout
            with suppress(BrokenPipeError), process.stdin as lines:
                lines.write(json.dumps(job, ensure_ascii=False).encode("utf-8", "replace"))
            for line in process.stdout:
                if line.endswith(b"\n"):  # incomplete if pandoc was killed
                    yield RenderedPage(**json.loads(line))
                if progress:
                    progress.advance()
        if not timer.is_alive():
            raise RenderError(f"pandoc took more than {SECONDS * len(pages):g} s")
        timer.cancel()
        if process.returncode:
            errors.seek(0)
            message = errors.read().decode("utf-8", "replace").strip()
            raise RenderError(message[:500] or f"pandoc failed (exit status {process.returncode})")


# Links


_NAMES_FILE = ("href", "src", "poster", "data")
_NAMING_FILES = "a[href], link[href], [src], [poster], object[data]"
_LABELLED = "h1[id], h2[id], h3[id], h4[id], h5[id], h6[id], [id][data-ref]"


class Label(NamedTuple):
    """The target of references.

    words: text of a reference to it
    number: of a figure and the like, called by `words` on its own page"""

    page: str
    words: str
    number: str


Labels = Mapping[str, Sequence[Label]]  # by name, which may occur on several pages


def find_labels(pages: Mapping[str, LexborHTMLParser]) -> Labels:
    """Return the headings, figures and the like to which pages can refer."""
    labels: dict[str, list[Label]] = {}
    for page, tree in pages.items():
        for element in tree.css(_LABELLED):
            name = element.attributes.get("data-ref") or ""
            label = Label(page, name or element_text(element), name.rpartition(" ")[2])
            labels.setdefault(element.attributes["id"] or "", []).append(label)
    return labels


@dataclass(frozen=True)
class SiteLinks:
    """The links of a site, and the files that they lead to.

    sources: document of each page
    own: files of the site that are not in the course"""

    sources: Mapping[str, Path]
    labels: Labels
    folder: Path
    output: Path
    own: frozenset[str] = frozenset()

    def mend(self, page: str, tree: LexborHTMLParser, logger: LoggerBase) -> None:
        """Fill in a page's references, adapt its links to the site, and copy linked files."""
        for element in tree.css("a.quarto-xref"):
            self._mend_reference(element, page, logger)
        for element in tree.css(_NAMING_FILES):
            for name in _NAMES_FILE:
                if link := element.attributes.get(name):
                    element.attrs[name] = self._mended(link, page, logger)

    def _mend_reference(self, element: LexborNode, page: str, logger: LoggerBase) -> None:
        name = unquote((element.attributes.get("href") or "").removeprefix("#"))
        labels = self.labels.get(name, ())
        label = next((label for label in labels if label.page == page), next(iter(labels), None))
        if label is None:
            line = _line_of(self.sources.get(page), f"@{name}")
            logger.warning(f"@{name}: no page has this label, or it is left out of the notes", line)
            element.replace_with(LEFT_OUT)
            return
        place = "" if label.page == page else _relative(label.page, page)
        element.attrs["href"] = f"{place}#{quote(name)}"
        words = f"{element_text(element)} {label.number}" if label.number else label.words
        element.inner_html = html.escape(words or name, quote=False)

    def _mended(self, link: str, page: str, logger: LoggerBase) -> str:
        """Return a link adapted to the site (`/figures/a.png` becomes relative), and copy the file that it leads to."""
        parts = urlsplit(link)
        name = unquote(parts.path)
        source = self.sources.get(page)
        if parts.scheme or parts.netloc or not name or source is None or self._is_page(name, page):
            return link
        base = self.folder if name.startswith("/") else source.parent
        path = Path(os.path.normpath(base / name.lstrip("/")))
        of_document = next((page_name for page_name, document in self.sources.items() if document == path), "")
        if of_document:
            return _relative(of_document, page) + (f"#{parts.fragment}" if parts.fragment else "")
        if problem := self._copy(path):
            logger.warning(f"{name}: {problem}", _line_of(source, link, unquote(link)))
        return "../" * page.count("/") + link.lstrip("/") if name.startswith("/") else link

    def _is_page(self, name: str, page: str) -> bool:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(page), name))
        return place in self.sources or place in self.own

    def _copy(self, path: Path) -> str:
        """Copy a linked file, unless it is outside the course, hidden or a document. Return why not."""
        if not path.is_file():
            is_missing = not path.is_dir() and path.is_relative_to(self.folder)
            return "there is no such file in the course" if is_missing else ""
        if not path.is_relative_to(self.folder) or not is_inside(path, self.folder):
            return "not copied to the site: the link leads out of the course"
        place = path.relative_to(self.folder)
        if is_document(path.name, (*SUFFIXES, *RENDERED)) or any(part.startswith((".", "_")) for part in place.parts):
            return "not copied to the site: it is hidden, or a document that is not a page"
        if not (self.output / place).exists():
            shutil.copyfile(path, _place(self.output / place))
        return ""


def _relative(name: str, page: str) -> str:
    return quote(os.path.relpath(name, PurePosixPath(page).parent))


# Site


STYLE = FILES / "page.css"
STYLE_PLACE = f"lmm-site/{STYLE.name}"  # path in a site


def write_site(
    documents: Sequence[Page],
    folder: Path,
    output: Path,
    settings: Mapping[str, Any],
    logger: LoggerBase,
    progress: Progress | None = None,
) -> int:
    """Write the site, and return the number of documents in it.

    folder: of the course
    output: a new folder
    settings: of `_quarto.yml`
    Raise CourseError without pandoc, and RenderError with a line for each page that failed."""
    project = with_quarto(load_project(folder / "-"))
    page_paths = [page.file.path for page in shown_pages(documents, folder)]
    contents = read_contents(page_paths, project, folder, "book" in settings)
    named = (language_of(page.blocks, project.embeddings.language) for page in documents)
    language = str(settings.get("lang") or main_language(named))
    project = replace(project, quarto={**settings, "lang": language})
    options = _site_options(project, folder, output, logger)
    sources = {entry.page: entry.source for entry in contents if entry.source}
    texts = _read_texts(contents, project, logger)
    if FIRST_PAGE not in sources:
        header = f"---\ntitle: {json.dumps(options.title)}\n---\n"
        texts[Entry(options.title, FIRST_PAGE)] = PageSource(header, language)
    shown = [entry for entry in contents if not (entry.source and texts[entry].is_left_out)]
    shown = [
        entry for entry, following in zip_longest(shown, shown[1:]) if entry.page or (following and following.page)
    ]
    pages = [
        PageJob(entry.page, entry.title, text, frame_of(entry, options, shown, language))
        for entry, text in texts.items()
    ]
    rendered = render_pages(pages, find_pandoc(), progress)
    _report(rendered, sources, folder, logger)
    trees = {page.name: parse_html(page.html) for page in rendered}
    links = SiteLinks(
        sources, find_labels(trees), folder, output, frozenset({FIRST_PAGE, STYLE_PLACE, options.favicon})
    )
    for name, tree in trees.items():
        links.mend(name, tree, in_file(logger, sources[name].relative_to(folder)) if name in sources else logger)
        _place(output / name).write_text(tree.html or "", encoding="utf-8")
    shutil.copyfile(STYLE, _place(output / STYLE_PLACE))
    write_site_box(output, folder, logger, more=(FIRST_PAGE,))
    return len(sources)


def _site_options(project: Project, folder: Path, output: Path, logger: LoggerBase) -> SiteOptions:
    options, icon = project.site, folder / project.site.favicon
    if options.favicon and not (icon.is_file() and is_inside(icon, folder)):
        logger.warning(f"config.toml: favicon: there is no file {options.favicon} in the course")
        options = replace(options, favicon="")
    elif options.favicon:
        shutil.copyfile(icon, _place(output / options.favicon))
    return replace(options, title=course_title(folder) or folder.name)


def _read_texts(contents: Sequence[Entry], project: Project, logger: LoggerBase) -> dict[Entry, PageSource]:
    texts: dict[Entry, PageSource] = {}
    failed: list[str] = []
    for entry in contents:
        if entry.source is not None:
            try:
                texts[entry] = read_page_source(entry.source, project, logger)
            except (OSError, LmmError) as error:
                failed.append(f"{entry.source.relative_to(project.root)}: {error}")
    if failed:
        raise RenderError("\n".join(failed))
    return texts


def _report(rendered: Sequence[RenderedPage], sources: Mapping[str, Path], folder: Path, logger: LoggerBase) -> None:
    names = {name: str(source.relative_to(folder)) for name, source in sources.items()}
    if failed := [f"{names.get(page.name, page.name)}: {page.problem}" for page in rendered if page.problem]:
        raise RenderError("\n".join(failed))
    for page in rendered:
        for message in page.messages:
            text, line = _describe_warning(message, sources.get(page.name))
            in_file(logger, names.get(page.name, page.name)).warning(text, line)


_FORMULA = re.compile(r"Could not convert TeX math (.*), rendering as TeX:\n.*?\n *\^\n([^\n]*)", re.S)


def _describe_warning(message: str, source: Path | None) -> tuple[str, int]:
    """Return a warning and its line (0 if unknown); one about a formula is shortened."""
    warning = _FORMULA.match(message)
    if warning is None or source is None:
        return message, 0
    formula, why = warning.groups()
    text = f"a formula cannot be converted, and is shown as TeX: {' '.join(formula.split())} ({why})"
    return text, _line_of(source, formula)


def _line_of(source: Path | None, *texts: str) -> int:
    """Return the line of the first of these texts that a source contains, or 0."""
    content = source.read_text("utf-8", "replace") if source else ""
    at = next((at for text in texts if (at := content.find(text)) >= 0), None)
    return 0 if at is None else content.count("\n", 0, at) + 1


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
