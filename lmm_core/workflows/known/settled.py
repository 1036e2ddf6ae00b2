"""The documents that the RAG pass would leave as they are, which a check need not find out again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, LmmError, ModelError
from ...files.walk import name_finder
from ...logging import ListLogger, LoggerBase, Report
from ...markdown.blocks import serialize_blocks
from ...markdown.files import MarkdownFile, read_markdown, root_finder
from ...markdown.metadata.ownership import HASHES
from ...models.sources import STAND_IN_NAME, known_sources
from ...scan.annotations.tally import Tally
from ...settings.project import Project, load_project
from ..models import Models
from ..passes import RagWork, work_on_file
from .cache import Known
from .documents import file_key, find_in_documents, see_documents
from .forks import ENOUGH
from .keys import key_of
from .remember import digest

if TYPE_CHECKING:
    from ...models.chat import Asker

KIND = "settled"


class _NoModels(Models):
    """Models of which none is asked."""

    def asker(self, project: Project, role: str) -> Asker:
        raise ModelError("no model is asked to find out what is known", stop=True)


@dataclass
class Settled:
    """The documents that some work leaves as they are, without asking a model.

    They are known by all that the work depends on: text, settings, options, model, and the keys there are."""

    work: RagWork
    _known: Known = field(default_factory=Known, init=False)
    _left: dict[Path, dict[str, Any]] = field(default_factory=dict, init=False)  # what `look` has found

    def __post_init__(self) -> None:
        self._settings = cache(self._settings_of)
        self._root, self._docid = root_finder(), cache(name_finder)
        self._alone = replace(self.work, models=_NoModels(self.work.models.spec), progress=None)

    def look(self, paths: Sequence[Path]) -> None:
        """Find out which of many files the work leaves as they are, in several processes where there may be any.

        A file that has no annotations yet is passed over, since a model is asked for them."""
        about = {path: parts for path in paths if (parts := self._about(path)) is not None}
        documents = see_documents([*about], _readable, self._known)
        if sum(one.size for one in documents) < 2 * ENOUGH:
            return
        found = find_in_documents(KIND, b"", documents, self._look_at, self._known, lambda path: about[path])
        self._left = {path: finding for path, finding in found.items() if finding is not None}

    def _look_at(self, file: MarkdownFile) -> dict[str, Any] | None:
        """Return what is remembered of a file if the work leaves it as it is; no model is asked."""
        if HASHES.encode() not in file.data:
            return None
        logger = ListLogger()
        try:
            text = serialize_blocks(asyncio.run(work_on_file(file, self._alone.finish, logger)))
        except LmmError:  # reported when the work is done
            return None
        return _finding(self._alone, file, logger.reports) if text == file.text else None

    def is_left(self, path: Path, logger: LoggerBase) -> bool:
        """Return True if `look` has found that the work leaves a file as it is; what it would report is reported."""
        return path in self._left and self._tell(path, self._left[path], logger)

    def is_known(self, file: MarkdownFile, logger: LoggerBase) -> bool:
        """Return True if the work is known to leave a file as it is; what it would report is reported."""
        key = self._key(file)
        finding = self._known.find([key]).get(key) if key else None
        return finding is not None and self._tell(file.path, finding, logger)

    def _tell(self, path: Path, finding: dict[str, Any], logger: LoggerBase) -> bool:
        for report in finding["reports"]:
            logger.report(Report(**report, path=str(path)))
        tally = finding["tally"]
        self.work.tallies[path] = Tally(**tally | {"names": set(tally["names"])})
        return True

    def keep(self, file: MarkdownFile, reports: Sequence[Report]) -> None:
        """Remember that the work has left a file as it is, if no model was asked and nothing went wrong."""
        finding, key = _finding(self.work, file, reports), self._key(file)
        if finding is not None and key is not None:
            self._known.keep({key: finding})

    def close(self) -> None:
        """Close the cache."""
        self._known.close()

    def _key(self, file: MarkdownFile) -> bytes | None:
        """Return the key of a file, None if the work has to be done whatever is known."""
        about = self._about(file.path)
        return None if about is None else key_of(KIND, b"", file_key(file), *about)

    def _about(self, path: Path) -> list[bytes] | None:
        """Return what the work on a file depends on beside its content; None as for `_key`."""
        root = self._root(path)
        if (settings := self._settings(root)) is None:
            return None
        return [settings, os.fsencode(path.stem), os.fsencode(self._docid(root)(path))]

    def _settings_of(self, root: Path) -> bytes | None:
        """Return all in a project that the work depends on: settings, options that replace some of them, the model, and
        the keys there are (a header may name any model)."""
        if self.work.opts or self.work.annotator or self.work.refresh:
            return None
        try:
            project = load_project(root / "-")
            name = str(self.work.models.name(project, "minor"))
        except (ConfigError, ModelError):  # reported when the work is done
            return None
        return repr((digest(project), name, sorted(self.work.changes.items()), _keys(project))).encode()


def _keys(project: Project) -> list[str]:
    """Return the variables that hold the key of a model's source."""
    sources = known_sources(project.sources).values()
    return sorted({one.key_variable for one in sources if os.environ.get(one.key_variable)})


def _readable(path: Path) -> MarkdownFile | None:
    try:
        return read_markdown(path)
    except (OSError, LmmError):  # reported when the work is done
        return None


def _finding(work: RagWork, file: MarkdownFile, reports: Sequence[Report]) -> dict[str, Any] | None:
    """Return what is remembered of a file that some work has left as it is; None if a model was asked, or something
    went wrong."""
    tally = work.tallies.get(file.path)
    if tally is None or tally.failed or not tally.names <= {STAND_IN_NAME}:
        return None
    if any(report.level == "error" or report.path != str(file.path) for report in reports):
        return None
    rows = [{name: value for name, value in asdict(one).items() if name != "path"} for one in reports]
    return {"reports": rows, "tally": asdict(tally) | {"names": sorted(tally.names)}}
