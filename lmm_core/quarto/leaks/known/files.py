"""What the files of a site say, as far as leaks are looked for in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from ....files.stamps import contents_of
from ....logging import ListLogger
from ....workflows.known.keys import key_of
from ..comments import find_comments
from ..figures import named_figures
from ..short_parts import elements_of, names_in
from ..site_text import Text, read_texts
from ..words import Stream, text_words
from .keys import NAME, element_key
from .look import Seen
from .memory import Memory, Task
from .said import Said


def look_at_files(paths: Sequence[Path], memory: Memory) -> Iterator[Seen]:
    """Yield what is known of files, with what is to be said of those that cannot be read or looked into.

    Every file is read each time: that its size and times are the same may be enough for git, but not to publish it."""
    return memory.look(_task(path, memory) for path in paths)


def _task(path: Path, memory: Memory) -> Task[Said]:
    try:
        data = contents_of(path)
    except OSError as error:
        return Task(key_of("unread", os.fsencode(path)), 0, partial(_unread, path, error))
    key = key_of("file", os.fsencode(path.name), data, memory.manner)
    return Task(key, len(data), partial(_read, path, data, memory.has_marks))


def _unread(path: Path, error: OSError) -> Said:
    logger = ListLogger()
    logger.error(f"{path}: {error.strerror or error}")
    return Said(is_read=False, may_be_kept=False, reports=logger.reports)


def _read(path: Path, data: bytes, with_marks: bool) -> Said:
    """Return what a file says; with_marks: its elements and names, too. It is not remembered if something is to be
    said of it, or another program read it."""
    logger = ListLogger()
    said = Said(is_read=False, reports=logger.reports)
    for text in read_texts(path, data, logger):
        said.is_read = True
        said.may_be_kept &= text.suffix != ".pdf"
        _add(text, said, with_marks)
    said.may_be_kept &= not said.reports
    return said


def _add(text: Text, said: Said, with_marks: bool) -> None:
    said.streams.append(Stream(text_words(text.words)))
    said.figures.update(named_figures(text.source))
    said.has_comments |= bool(find_comments(text))
    if with_marks:
        said.marks.update(element_key("".join(words)) for words in elements_of(text))
        said.marks.update(NAME + name for name in names_in(text))
