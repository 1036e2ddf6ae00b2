"""Look up words in the published notes: whatever they contain is no leak. Documents are knitted on demand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from ...markdown.regions import without_comments
from .short_parts import lines_of
from .sources import SourceDocument, annotation_texts, stays_in
from .words import Needle, Stream, markdown_words, text_words

_NAMES = re.compile(r"[#@]([\w.:-]*\w)")


class PublishedTexts:
    """The texts of a page in order, without the parts left out between them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = [*texts]

    @cached_property
    def _raw(self) -> Stream:
        return Stream(text_words("\n".join(self.texts)))

    @cached_property
    def _rendered(self) -> Stream:
        texts = self.texts
        if any("<!--" in text for text in texts):  # kept in the page by Quarto, not by `lmm course`
            texts = [*texts, *map(without_comments, texts)]
        return Stream([word for text in texts for word in markdown_words(text)])

    @cached_property
    def _elements(self) -> Set[str]:
        return {*lines_of(self.texts)}

    @cached_property
    def names(self) -> Set[str]:
        """Names that the texts link to or cite (`#name`, `@name`)."""
        return {name for text in self.texts for name in _NAMES.findall(text)}

    def have(self, needle: Needle) -> bool:
        """Return True if the texts contain a needle, as written in markdown or as rendered."""
        return self._raw.contains(needle) or self._rendered.contains(needle)

    def have_element(self, letters: str) -> bool:
        """Return True if a line of the texts, which may be an element of a page, consists of these letters."""
        return (letters in self._raw.letters or letters in self._rendered.letters) and letters in self._elements


class _Note:
    """A document's published text. include: types of material that an ask box's data contains as well"""

    def __init__(self, document: SourceDocument, include: frozenset[str]) -> None:
        self._document, self._include = document, include
        self.path = document.path

    @cached_property
    def texts(self) -> PublishedTexts:
        document = self._document
        return PublishedTexts([] if document.is_hidden else stays_in(document.blocks, document.rules))

    @cached_property
    def data(self) -> PublishedTexts:
        """Texts that only an ask box's data contains."""
        document, rules = self._document, self._document.rules
        if self._include <= rules.keep and not document.is_hidden:
            return PublishedTexts(annotation_texts(document.blocks, rules))
        rules = replace(rules, keep=rules.keep | self._include)
        return PublishedTexts([*stays_in(document.blocks, rules), *annotation_texts(document.blocks, rules)])

    @cached_property
    def names(self) -> Set[str]:
        return {*self._document.names(), *self.texts.names}


class PublishedNotes:
    """A site's published text.

    texts: of the project, such as its title
    include: types of material in an ask box's data, or None if the site has no box"""

    def __init__(
        self, documents: Sequence[SourceDocument], texts: Sequence[str], include: frozenset[str] | None
    ) -> None:
        self._notes = {document.path: _Note(document, include or frozenset()) for document in documents}
        self._by_stem: dict[str, list[_Note]] = defaultdict(list)
        for path, note in self._notes.items():
            self._by_stem[path.stem].append(note)
        self._project = PublishedTexts(texts)
        self._has_data = include is not None
        self._contained: dict[tuple[bool, Needle], bool] = {}

    def contain(self, needle: Needle, source: Path, file: Path, is_data: bool) -> bool:
        """Return True if the notes contain a needle.

        source: the needle's document
        file: the rendered file with the needle
        is_data: True if that file is an ask box's data"""
        key = is_data, needle
        if key not in self._contained:
            in_data = (note.data for note in self._likely_first(source, file)) if is_data and self._has_data else ()
            in_notes = (note.texts for note in self._likely_first(source, file))
            self._contained[key] = any(texts.have(needle) for texts in chain(in_data, [self._project], in_notes))
        return self._contained[key]

    def have_element(self, letters: str, source: Path, file: Path) -> bool:
        """Return True if a line of the notes consists of these letters."""
        texts = (note.texts for note in self._likely_first(source, file))
        return any(text.have_element(letters) for text in chain([self._project], texts))

    def have_name(self, name: str, source: Path, file: Path) -> bool:
        """Return True if the notes have a heading or link with this name."""
        return any(name in note.names for note in self._likely_first(source, file))

    def _likely_first(self, source: Path, file: Path) -> Iterator[_Note]:
        """Yield all notes, first the source's and those named like the rendered file."""
        first = {self._notes[source]: True} | dict.fromkeys(self._by_stem.get(file.stem, ()))
        yield from first
        yield from (note for note in self._notes.values() if note not in first)
