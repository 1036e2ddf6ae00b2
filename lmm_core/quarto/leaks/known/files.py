"""What the files of a site say, as far as leaks are looked for in them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from ....logging import KeepingLogger, LoggerBase
from ....workflows.known.remember import key_of
from ..comments import find_comments
from ..figures import named_figures
from ..short_parts import elements_of, names_in
from ..site_text import Text, read_texts
from ..words import text_words
from .keys import NAME, element_key
from .memory import Memory, Seen
from .said import Said


def look_at_file(path: Path, memory: Memory, logger: LoggerBase) -> Seen:
    """Return what is known of a file. Warn of what cannot be looked into. Raise OSError if the file cannot be
    read."""
    data = path.read_bytes()
    key = key_of("file", os.fsencode(path.name), data, memory.manner)
    return memory.look(key, partial(_read, path, data, memory.has_marks, logger))


def _read(path: Path, data: bytes, with_marks: bool, logger: LoggerBase) -> Said:
    """Return what a file says; with_marks: its elements and names, too. It is not remembered if something was
    said of it, or another program read it."""
    said, kept = Said(is_read=False), KeepingLogger(logger)
    for text in read_texts(path, data, kept):
        said.is_read = True
        said.may_be_kept &= text.suffix != ".pdf"
        _add(text, said, with_marks)
    said.may_be_kept &= not kept.reports
    return said


def _add(text: Text, said: Said, with_marks: bool) -> None:
    said.streams.append(text_words(text.words))
    said.figures.update(named_figures(text.source))
    said.has_comments |= bool(find_comments(text))
    if with_marks:
        said.marks.update(element_key("".join(words)) for words in elements_of(text))
        said.marks.update(NAME + name for name in names_in(text))
