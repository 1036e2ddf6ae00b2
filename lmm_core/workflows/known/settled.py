"""The documents that the RAG pass would leave as they are, which a check need not find out again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError, ModelError
from ...logging import LoggerBase, Report
from ...markdown.files import MarkdownFile, root_finder
from ...models.sources import STAND_IN_NAME, known_sources
from ...scan.annotations.tally import Tally
from ...settings.project import Project, load_project
from .cache import Known
from .remember import digest, key_of

if TYPE_CHECKING:
    from ..models import Models
    from ..passes import RagWork


@dataclass
class Settled:
    """The documents that some work leaves as they are, without asking a model.

    They are known by all that the work depends on: text, settings, options, model, and the keys there are."""

    work: RagWork
    _known: Known = field(default_factory=Known, init=False)

    def __post_init__(self) -> None:
        self._settings = cache(self._settings_of)
        self._root = root_finder()

    def is_known(self, file: MarkdownFile, logger: LoggerBase) -> bool:
        """Return True if the work would leave a file as it is; what it would report is reported."""
        key = self._key(file)
        found = self._known.find([key]) if key else {}
        for finding in found.values():
            for report in finding["reports"]:
                logger.report(Report(**report, path=str(file.path)))
            tally = finding["tally"]
            self.work.tallies[file.path] = Tally(**tally | {"names": set(tally["names"])})
        return bool(found)

    def keep(self, file: MarkdownFile, reports: Sequence[Report]) -> None:
        """Remember that the work has left a file as it is, if no model was asked and nothing went wrong."""
        tally, key = self.work.tallies.get(file.path), self._key(file)
        if tally is None or key is None or tally.failed or not tally.names <= {STAND_IN_NAME}:
            return
        if any(report.level == "error" or report.path != str(file.path) for report in reports):
            return
        rows = [{name: value for name, value in asdict(one).items() if name != "path"} for one in reports]
        self._known.keep({key: {"reports": rows, "tally": asdict(tally) | {"names": sorted(tally.names)}}})

    def close(self) -> None:
        """Close the cache."""
        self._known.close()

    def _key(self, file: MarkdownFile) -> bytes | None:
        """Return the key of a file, None if the work has to be done whatever is known."""
        root = self._root(file.path)
        if (settings := self._settings(root)) is None:
            return None
        return settled_key(file.data, settings, file.path.stem, os.path.relpath(os.path.realpath(file.path), root))

    def _settings_of(self, root: Path) -> bytes | None:
        """Return all in a project that the work depends on."""
        if self.work.opts or self.work.annotator or self.work.refresh:
            return None
        try:
            return settled_settings(load_project(root / "-"), self.work.models, self.work.changes)
        except (ConfigError, ModelError):  # reported when the work is done
            return None


def settled_key(text: bytes, settings: bytes, stem: str, docid: str) -> bytes:
    """Return the key under which it is filed that the RAG pass leaves a text as it is.

    settings: see `settled_settings`; stem: of the file's name; docid: of a text whose header names none."""
    return key_of("settled", text, settings, os.fsencode(stem), os.fsencode(docid))


def settled_settings(project: Project, models: Models, changes: Mapping[str, bool]) -> bytes:
    """Return all that the RAG pass depends on beside the text: settings, options that replace some of them, the
    model, and the keys there are (a header may name any model). Raise ModelError if no model is named."""
    name = models.annotator(project).name
    sources = known_sources(project.sources).values()
    keys = sorted({one.key_variable for one in sources if os.environ.get(one.key_variable)})
    return repr((digest(project), name, sorted(changes.items()), keys)).encode()
