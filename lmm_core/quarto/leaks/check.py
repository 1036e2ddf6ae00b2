"""Look for what is left out of the notes in everything that was rendered.

Text and metadata that knitting leaves out are cut into runs of words, and these are looked for in
every file of the output. Words that the notes say as well are no leak.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...logging import ConsoleLogger, LoggerBase
from ...markdown.blocks import Block
from ...markdown.originals import restore_originals
from ...markdown.rag_only import KnitRules, verdicts
from ...markdown.tree import blocks_to_tree
from ...scan.left_out import texts_in
from ...settings.project import Project
from ..options import ASK_FOLDER, AskBoxSettings
from .comments import comment_leaks, find_comments
from .figures import named_figures, unused_figures
from .findings import Findings, Leak
from .short_parts import ShortParts, beside_others, find_short_parts
from .site_text import Text, find_files, read_texts
from .sources import Secret, Sources, read_sources, stays_in
from .words import Index, Stream, find_needles, markdown_words, strip_markup, text_words

_DATA = re.compile(r"(?:data|spelling|(?:part|words)-\d+)\.js")


@dataclass(slots=True)
class _Wanted:
    """The secrets that are looked for in a site, and the indexes by which they are found."""

    secrets: list[Secret]
    index: Index
    data: Index  # for the data of an ask box, which may hold more
    short: ShortParts

    def find(self, text: Text, is_data: bool) -> dict[int, list[str]]:
        """Return the numbers of the secrets that a text has, each with the first words of it found."""
        stream = Stream(text_words(text.words))
        found = dict((self.data if is_data else self.index).find(stream))
        for at, words in () if is_data else self.short.find(text):
            found.setdefault(at, words)
        return found


def look_for_leaks(
    output: Path | Sequence[Path],
    sources: Sequence[Path],
    project: Project,
    logger: LoggerBase | None = None,
    published: Sequence[Path] = (),
    ask: AskBoxSettings | None = None,
) -> Findings:
    """Return the leaks of some sources in an output (a folder, a file, or several), and counts of what
    was looked for. published: other documents of the site, in a partial render those of the other
    pages; words in their notes are no leak. ask: the site's ask box, whose data may hold the types
    that it includes, and the questions and summaries of what stays in. Files that cannot be read are
    reported as errors, those of a kind that cannot be looked into as warnings."""
    logger = logger or ConsoleLogger()
    read = read_sources(sources, published, project, logger)
    wanted = _wanted(read, ask)
    parts = len(wanted.index.looked_for() | wanted.short.looked_for())
    found = Findings(parts=parts, passed_over=len(read.secrets) - parts)
    outputs = [output] if isinstance(output, Path) else output
    figures: set[str] = set()
    for file in [file for one in outputs for file in find_files(one)]:
        leaks = _in_file(file, wanted, figures, logger, sources)
        if leaks is not None:
            found.files += 1
            found.leaks += leaks
    for folder in outputs:
        found.leaks += unused_figures(folder, read.secrets, figures, project)
    return found


def _in_file(
    file: Path, wanted: _Wanted, figures: set[str], logger: LoggerBase, sources: Sequence[Path]
) -> list[Leak] | None:
    """Return the leaks of a file, each once, or None if the file could not be looked into. Add the
    figures that it names to `figures`."""
    leaks: dict[int, Leak] = {}
    comments: list[Leak] = []
    looked = False
    try:
        for text in read_texts(file, logger):
            looked = True
            figures.update(named_figures(text.source))
            for at, words in sorted(wanted.find(text, _is_data(file)).items()):
                leaks.setdefault(at, _leak(file, text.member, wanted.secrets[at], words))
            if left := find_comments(text):
                comments += comment_leaks(file, text.member, left, sources, [*leaks.values()])
    except OSError as error:
        logger.error(f"{file}: {error.strerror or error}")
        return None
    return [*leaks.values(), *comments] if looked else None


def _leak(file: Path, member: str, secret: Secret, found: list[str]) -> Leak:
    words = strip_markup(secret.text).replace("#", " ").split()[:8]
    whole = "".join(markdown_words(secret.text))
    if len(whole) >= len("".join(found)) and not whole.startswith("".join(found)):
        words = found
    return Leak(file, secret.source, secret.piece.line, " ".join(words), member)


# What is looked for


def _wanted(read: Sources, ask: AskBoxSettings | None) -> _Wanted:
    """Return what is looked for: the secrets that the notes do not say as well. The texts of a document's
    notes are read as one stream, as they stand on the page when the parts between them are gone."""
    needles = [[*find_needles(at, secret.text)] for at, secret in enumerate(read.secrets)]
    too_short = [at for at, found in enumerate(needles) if not found]
    for at in too_short:
        needles[at] = [*beside_others(at, read.secrets[at])]
    every = [needle for found in needles for needle in found]
    index = Index(every)
    _forget(index, read.kept)
    data = index
    if ask:
        data = index.copy()
        _forget(data, _texts_for_data(read, ask.include))
    return _Wanted(read.secrets, index, data, find_short_parts(read, too_short))


def _forget(index: Index, kept: Iterable[list[str]]) -> None:
    """Drop from an index what texts say, given by document."""
    for texts in kept:
        index.forget(Stream([word for text in texts for word in markdown_words(text)]))
        index.forget(Stream([word for text in texts for word in text_words(text)]))


# The data of an ask box


def _is_data(file: Path) -> bool:
    return file.parent.name == ASK_FOLDER and _DATA.fullmatch(file.name) is not None


def _texts_for_data(read: Sources, include: frozenset[str]) -> Iterator[list[str]]:
    """Yield the texts that only the data may hold, by document. include: types that the ask box includes."""
    for one in read.documents:
        rules = one.rules
        if not include <= rules.keep or one.path.resolve() in read.hidden:
            rules = replace(rules, keep=rules.keep | include)
            yield [*stays_in(one.blocks, rules)]  # else it was forgotten before
        yield [*_annotations(one.blocks, rules)]


def _annotations(blocks: Sequence[Block], rules: KnitRules) -> Iterator[str]:
    """Yield the questions and summaries of what stays in."""
    tree = blocks_to_tree(restore_originals(blocks).blocks)
    if tree is None:
        return
    document = [] if tree.get("knit") is False else [tree]
    for node in [*document, *(node for node, is_out in verdicts(tree, rules) if not is_out)]:
        for key in ("questions", "summary"):
            yield from texts_in(node.get(key))
