"""Runs of a filter that leave a document as it is, known from one time to the next.

Such a run is answered before anything is imported that reads Pandoc's JSON or a document. It is filed under all that
reaches the filter: that JSON, the command line and the folder of pandoc, and the environment. The files that it has
read besides are looked at each time: the sources, and those that make folders projects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lmm_core.errors import ConfigError, RecoveryError
from lmm_core.files.recovery import put_aside, torn_problem
from lmm_core.files.remembered import code_mark
from lmm_core.workflows.known.cache import Known
from lmm_core.workflows.known.digests import digest_of
from lmm_core.workflows.known.keys import key_of

from .ancestors import Ancestor, find_pandoc

if TYPE_CHECKING:
    from ..call import FilterCall
    from ..document import FilterDocument, FilterOutput
    from ..source import Source

_PASSING = {"_", "SHLVL", "PWD", "OLDPWD"}  # variables that a shell sets for each command, and nothing here reads
_FILTERS = Path(__file__).parents[2]


class KnownRun(NamedTuple):
    """A run that has left a document as it is, as it can be written in JSON.

    sources: of each path, the one with links followed, and the digest of its content; marks: what stands at the paths
    that may make a folder a project; output: the path of the file that pandoc writes, "" for standard output; root: of
    the project in which the text is put aside, since the output is the source, else ""; is_filtered_on: other filters
    work on it before it is written; parts: what the filter has written, cut where it names the process."""

    sources: dict[str, tuple[str, str]]
    marks: dict[str, str]
    output: str
    root: str
    is_filtered_on: bool
    parts: list[str]


class RunMemory:
    """The memory of a filter's runs, for the run that this process is part of.

    name: of the filter; data: Pandoc's JSON; arguments: of the filter."""

    def __init__(self, name: str, data: bytes, arguments: list[str]) -> None:
        self._pandoc = None if os.environ.get("QUARTO_DOCUMENT_FILE") else find_pandoc()
        self._known, self._key = Known(), b""
        if self._pandoc:
            with suppress(FileNotFoundError):  # the working folder is gone: told when the work is done
                self._key = _key(name, data, arguments, self._pandoc)

    def answer(self) -> bytes | None:
        """Return what the filter would write, or None if that is not known. The text is put aside where pandoc is about
        to write over it."""
        found = self._known.find([self._key]).get(self._key) if self._key else None
        if found is None or self._pandoc is None:
            return None
        run = KnownRun(*found)
        try:
            texts = _unchanged_texts(run)
            if texts and run.root:
                put_aside(Path(run.output), Path(run.root), texts[0], run.is_filtered_on)
        except (OSError, RecoveryError):  # told when the work is done
            return None
        return self._pandoc.ident.join(run.parts).encode() if texts else None

    def keep(self, document: FilterDocument, output: FilterOutput, written: str) -> None:
        """Remember that the work has left a document as it is, without a word to anybody, if that hangs on nothing but
        what is looked at. written: what the filter writes."""
        if not self._key or self._pandoc is None:
            return
        with suppress(OSError, ConfigError):  # what cannot be read, or has changed meanwhile, is not known
            if run := _known_run(document, output, written, self._pandoc.ident):
                self._known.keep({self._key: run})


def _key(name: str, data: bytes, arguments: list[str], pandoc: Ancestor) -> bytes:
    variables = sorted((key, value) for key, value in os.environ.items() if key not in _PASSING)
    given = (name, arguments, pandoc.command, pandoc.names, str(pandoc.folder), str(Path.cwd()), variables)
    return key_of("run", code_mark(_FILTERS), ascii(given).encode(), data)


# What was read


def _unchanged_texts(run: KnownRun) -> list[bytes]:
    """Return the sources if all that a run has read is as it was, else nothing. Raise OSError."""
    if any(_state(Path(path)) != state for path, state in run.marks.items()):
        return []
    if run.output and bool(run.root) != _is_one_of(Path(run.output), run.sources):
        return []
    texts = [_unchanged_text(Path(path), *before) for path, before in run.sources.items()]
    return [] if None in texts else [text for text in texts if text is not None]


def _is_one_of(output: Path, sources: Iterable[str]) -> bool:
    return output.exists() and any(output.samefile(path) for path in sources)


def _unchanged_text(path: Path, place: str, digest: str) -> bytes | None:
    """Return a source if it is as it was, and pandoc has not torn it since. Raise OSError."""
    if not path.is_file() or os.path.realpath(path) != place:
        return None
    data = path.read_bytes()
    return data if digest_of(data).hex() == digest and not torn_problem(path, data, Path(place)) else None


def _state(path: Path) -> str:
    """Return what tells what stands at a path from anything else that may: of a file, the digest of its content; a
    folder is like any other, and "" stands for nothing. Raise OSError."""
    if not path.exists():
        return ""
    return digest_of(path.read_bytes()).hex() if path.is_file() else "there"


# What is kept


def _known_run(document: FilterDocument, output: FilterOutput, written: str, process: str) -> KnownRun | None:
    """Return what is remembered of a run, or None if it hangs on more than what is looked at."""
    from ..source import is_direct

    call, source = document.call, document.source
    if source is None or call.run is None or call.done or call.options.save:
        return None
    if not (is_direct(call) and call.run.reads_plainly):
        return None
    root, marks = _root_to_put_aside(call, source, output), _marks(source)
    parts = written.split(process) if call.is_followed else [written]
    if root is None or len(parts) != 1 + call.is_followed or not _hangs_on_marks(document):
        return None
    sources = {str(file.path): (str(file.place), digest_of(file.data).hex()) for file in source.files}
    is_filtered_on = call.place is None or call.place + 1 < len(call.run.filters)
    return KnownRun(sources, marks, str(call.output or ""), root, is_filtered_on, parts)


def _root_to_put_aside(call: FilterCall, source: Source, output: FilterOutput) -> str | None:
    """Return the root of the project in which the text is put aside, "" if it need not be, None if more has to be known
    of the file that pandoc writes over."""
    from lmm_core.markdown.files import project_root

    from ..outputs import as_pandoc_writes, is_named_as_markdown

    if call.output is None or call.run is None:
        return ""
    if not call.overwrites_source:
        return "" if call.is_followed and not is_named_as_markdown(call.output) else None
    text = as_pandoc_writes(call.run, output.text or "")
    is_same = len(source.files) == 1 and source.files[0].data == text
    return str(project_root(call.output)) if is_same and not call.is_followed else None


def _marks(source: Source) -> dict[str, str]:
    """Return what stands at the paths that may make a folder above a source a project."""
    from lmm_core.markdown.files import ROOT_MARKS

    folders = source.files[0].path.resolve().parents
    paths = [folder / mark for folder in folders for marks in ROOT_MARKS for mark in marks]
    return {str(path): _state(path) for path in paths}


def _hangs_on_marks(document: FilterDocument) -> bool:
    """Return True if the settings of a document hang on nothing but its text and the marks of its project, which have
    not changed since they were read."""
    from lmm_core.settings.names import CONFIG_NAME, is_setting
    from lmm_core.settings.project import load_project

    project = document.project_for(document.blocks)
    if project is None or (project.root / CONFIG_NAME).is_file() or any(map(is_setting, os.environ)):
        return False
    return load_project(document.path) == document.project
