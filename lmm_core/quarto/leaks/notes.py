"""Text that the notes publish themselves, which is no leak. A document is read only when a file has words of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from .short_parts import lines_of
from .sources import SourceDocument, annotation_texts, stays_in
from .words import Index, Needle, Stream, markdown_words, text_words

_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


class KeptTexts:
    """Texts that stand one after the other, as they do on the page when the parts between them are gone.

    index: the needles that are looked for."""

    def __init__(self, texts: Iterable[str], index: Index) -> None:
        self.texts, self._index = [*texts], index

    @cached_property
    def _streams(self) -> list[Stream]:
        joined = ([word for text in self.texts for word in words(text)] for words in (text_words, markdown_words))
        return [*map(Stream, joined)]

    @cached_property
    def _elements(self) -> Set[str]:
        return {*lines_of(self.texts)}

    @cached_property
    def names(self) -> Set[str]:
        """The names of headings that the texts link to."""
        return {name for text in self.texts for name in _NAMES.findall(text)}

    @cached_property
    def needles(self) -> Set[Needle]:
        """The needles that the texts have."""
        return {needle for stream in self._streams for _, needle in self._index.find(stream)}

    def have_element(self, letters: str) -> bool:
        """Return True if a line that may be an element of a page has just these letters."""
        return any(letters in stream.letters for stream in self._streams) and letters in self._elements


class _Note:
    """The published text of a document. include: types that the data of an ask box hold as well."""

    def __init__(self, document: SourceDocument, include: frozenset[str], index: Index) -> None:
        self._document, self._include, self._index = document, include, index
        self.path, self.stem = document.path, document.path.stem

    @cached_property
    def texts(self) -> KeptTexts:
        document = self._document
        return KeptTexts([] if document.is_hidden else stays_in(document.blocks, document.rules), self._index)

    @cached_property
    def data(self) -> KeptTexts:
        """The parts that the data of an ask box may hold beside the texts: questions, summaries, further types."""
        document, rules = self._document, self._document.rules
        if self._include <= rules.keep and not document.is_hidden:
            return KeptTexts(annotation_texts(document.blocks, rules), self._index)
        rules = replace(rules, keep=rules.keep | self._include)
        texts = [*stays_in(document.blocks, rules), *annotation_texts(document.blocks, rules)]
        return KeptTexts(texts, self._index)

    @cached_property
    def names(self) -> Set[str]:
        """The names of its headings, and those that it links to."""
        return {*self._document.names(), *self.texts.names}


class PublishedNotes:
    """The published text of a site. texts: texts of the project itself; include: types that the data of an
    ask box hold as well, None without a box; index: the needles that are looked for."""

    def __init__(
        self, documents: Sequence[SourceDocument], texts: Sequence[str], include: frozenset[str] | None, index: Index
    ) -> None:
        self._notes = [_Note(document, include or frozenset(), index) for document in documents]
        self._project = KeptTexts(texts, index)
        self._has_data = include is not None
        self._said: dict[tuple[bool, Needle], bool] = {}
        self._likely_by_place: dict[tuple[Path, str], Sequence[_Note]] = {}

    def say(self, needle: Needle, source: Path, file: Path, is_data: bool) -> bool:
        """Return True if the notes have a needle. source: of its part; file: in which it was found; is_data: what
        the data of an ask box may hold counts as well."""
        key = is_data, needle
        if key not in self._said:
            likely = self._likely(source, file)
            in_data = (note.data for note in likely) if is_data and self._has_data else ()
            in_notes = (note.texts for note in likely)
            self._said[key] = any(needle in texts.needles for texts in chain(in_data, [self._project], in_notes))
        return self._said[key]

    def have_element(self, letters: str, source: Path, file: Path) -> bool:
        """Return True if a line of the notes has just these letters."""
        texts = (note.texts for note in self._likely(source, file))
        return any(one.have_element(letters) for one in chain([self._project], texts))

    def have_name(self, name: str, source: Path, file: Path) -> bool:
        """Return True if a heading of the notes has a name, or a text links to it."""
        return any(name in note.names for note in self._likely(source, file))

    def _likely(self, source: Path, file: Path) -> Sequence[_Note]:
        """Return the notes, first those that most likely say what was found: of its source, and of the page."""
        key = source, file.stem
        if key not in self._likely_by_place:
            first = [note for note in self._notes if note.path == source or note.stem == file.stem]
            self._likely_by_place[key] = [*first, *(note for note in self._notes if note not in first)]
        return self._likely_by_place[key]
