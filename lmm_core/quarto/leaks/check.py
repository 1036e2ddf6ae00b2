"""Search rendered files for text left out of the notes.

Hidden text is cut into needles, which are runs of words. A needle that the notes contain elsewhere is no leak."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path

from ...logging import ConsoleLogger, LoggerBase, counted
from ...markdown.regions import without_comments
from ...scan.left_out import texts_in
from ...settings.project import Project
from ..extension import box_files
from ..options import ASK_FOLDER, AskBoxSettings
from ..pages import name_in_project
from .figures import makes_figures, named_figures, unused_figures
from .findings import Findings, Leak
from .notes import PublishedNotes
from .short_parts import ShortParts, beside_others, element_of, name_of
from .site_text import PAGES, Text, find_files, read_texts
from .sources import Secret, SiteSources, SourceDocument, find_solutions, project_texts, read_documents
from .words import Index, Needle, Stream, find_needles, markdown_words, strip_markup, text_words

_DATA = re.compile(r"(?:data|spelling|(?:part|words)-\d+)\.js")
_PROGRAMS_OWN = (
    "asking",
    "askingSigns",
    "weights",
    "spans",
    "stopWords",
)  # keys in an ask box's data, not of the notes


def look_for_leaks(
    output: Path | Sequence[Path],
    sources: SiteSources,
    project: Project,
    logger: LoggerBase | None = None,
    ask: AskBoxSettings | None = None,
) -> Findings:
    """Return leaks of sources in a folder or files, also in the data of the ask box.

    Unreadable files are logged as errors, unsupported types as warnings."""
    outputs = [output] if isinstance(output, Path) else output
    logger = logger or ConsoleLogger()
    documents = read_documents(sources, project, logger)
    checked = {*sources.checked}
    own = [document for document in documents if document.path in checked]
    notes = PublishedNotes(documents, project_texts(project), ask.include if ask else None)
    search = _LeakSearch([secret for document in own for secret in document.secrets()], notes)
    for file in (file for folder in outputs for file in find_files(folder)):
        search.look_into(file, logger)
    if pdfs := search.unsearched["PDF"]:
        logger.warning(f"{counted(pdfs, 'PDF file')} not searched: pdftotext is not on PATH. Install poppler-utils.")
    leaks = [*search.leaks, *(leak for folder in outputs for leak in search.unused_figures(folder, project))]
    passed_over = search.passed_over()
    solutions = [*_solutions(own, project)]
    return Findings(leaks, len(search.secrets) - passed_over, search.files, passed_over, search.unsearched, solutions)


def _solutions(documents: Iterable[SourceDocument], project: Project) -> Iterator[str]:
    for document in documents:
        name = name_in_project(document.path, project.root)
        pieces = [secret.piece for secret in document.secrets()]
        hidden = {piece.line + at for piece in pieces for at in range(piece.text.rstrip().count("\n") + 1)}
        yield from (f"{name}:{line}" for line in find_solutions(document.text) if line not in hidden)


class _LeakSearch:
    def __init__(self, secrets: Sequence[Secret], notes: PublishedNotes) -> None:
        self.secrets, self._notes, self._index = secrets, notes, Index()
        self.leaks: list[Leak] = []
        self.files = 0
        self.unsearched: Counter[str] = Counter()
        self._figures: set[str] = set()  # referenced by files
        self._published: set[Needle | str] = set()  # needles, elements and names that the notes contain
        self._short = ShortParts()
        for at, secret in enumerate(secrets):
            self._index.add(at, self._needles(at, secret))
        self._cells = [secret for secret in secrets if makes_figures(secret.text)]
        self._shipped = frozenset(box_files().values())

    def _needles(self, at: int, secret: Secret) -> Iterable[Needle]:
        texts = dict.fromkeys([secret.text, without_comments(secret.text)])
        needles = dict.fromkeys(needle for text in texts for needle in find_needles(text))
        if not needles and (element := element_of(secret)):
            self._short.elements.setdefault(element, at)
        if name := name_of(secret):
            self._short.names.setdefault(name, at)
        return needles or dict.fromkeys(beside_others(secret))

    def look_into(self, file: Path, logger: LoggerBase) -> None:
        try:
            data = file.read_bytes()
        except OSError as error:
            logger.error(f"{file}: {error.strerror or error}")
            return
        if data in self._shipped:  # the box's scripts, not the author's text
            return
        leaks: dict[int, Leak] = {}
        comments: list[Leak] = []
        is_read = False
        for text in read_texts(file, data, logger):
            is_read = True
            for at, words in sorted(self._find(text, file), key=itemgetter(0)):
                leaks.setdefault(at, _leak(file, text.member, self.secrets[at], words))
            comments += [] if leaks else comment_leaks(file, text)
            self._figures.update(named_figures(text.source) if self._cells else ())
        self.leaks += [*leaks.values(), *comments]
        self.files += is_read
        if not is_read:
            self.unsearched[file.suffix.lstrip(".").upper()] += 1

    def _find(self, text: Text, file: Path) -> Iterator[tuple[int, list[str]]]:
        is_data = file.parent.name == ASK_FOLDER and _DATA.fullmatch(file.name) is not None
        is_about = is_data and file.name == "data.js"
        stream = Stream(text_words(_without_programs_own(text.source) if is_about else text.words))
        for at, needle in self._index.find(stream):
            if self._notes.contain(needle, self.secrets[self._index.secrets[needle][0]].source, file, is_data):
                self._published.add(needle)
            else:
                words = stream.words(at, at + len(needle.letters))
                yield from ((secret, words) for secret in self._index.secrets[needle])
        for at, words in () if is_data else self._short.find(text, stream.letters):
            source, letters = self.secrets[at].source, "".join(words)
            is_in_notes = self._notes.have_name if letters.startswith("#") else self._notes.have_element
            if is_in_notes(letters.removeprefix("#"), source, file):
                self._published.add(letters)
            else:
                yield at, words

    def unused_figures(self, output: Path, project: Project) -> Iterator[Leak]:
        cells = {secret.source: secret.piece.line for secret in reversed(self._cells)}
        return unused_figures(output, cells, self._figures, project)

    def passed_over(self) -> int:
        """Return the number of secrets too short to search for, or also in the published notes."""
        usable = {
            at for needle, secrets in self._index.secrets.items() if needle not in self._published for at in secrets
        }
        usable |= {at for element, at in self._short.elements.items() if element not in self._published}
        usable |= {at for name, at in self._short.names.items() if f"#{name}" not in self._published}
        return len(self.secrets) - len(usable)


def _without_programs_own(source: str) -> str:
    begin, end = source.find("{"), source.rfind("}") + 1
    try:
        values = json.loads(source[begin:end])
    except ValueError:
        return source
    own = texts_in([value for key, value in values.items() if key not in _PROGRAMS_OWN])
    return "\n".join([source[:begin], *own, source[end:]])


def _leak(file: Path, member: str, secret: Secret, matched_words: list[str]) -> Leak:
    words = strip_markup(secret.text).replace("#", " ").split()[:8]
    letters = "".join(markdown_words(secret.text))
    if len(letters) >= len("".join(matched_words)) and not letters.startswith("".join(matched_words)):
        words = matched_words
    return Leak(file, secret.source, secret.piece.line, " ".join(words), member)


# Metadata comments, found by their beginning (`<!-- lmm`), since short ones make no needle

_OPEN = re.compile(r"<!--[ \t\r\n]{0,9}lmm(?=[ \t\r\n]|-->)")
_MOST = 20  # comments reported for a page
_REACH = 300  # characters of a comment that are read


def comment_leaks(file: Path, text: Text) -> Iterator[Leak]:
    """Yield a leak for each metadata comment in a page."""
    if text.suffix not in PAGES or "<!--" not in text.source:
        return
    for match in islice(_OPEN.finditer(text.source), _MOST):
        comment = text.source[match.start() : match.start() + _REACH].partition("-->")[0]
        line = text.source.count("\n", 0, match.start()) + 1
        yield Leak(file, file, line, " ".join(comment.split()[:8]), text.member)
