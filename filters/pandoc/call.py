"""Pandoc's call of a filter, and the marks between filters of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmm_core.markdown.metadata.keys import is_private

from .meta import ASKED, CHAIN, TEXT, FilterOptions, plain, read_options
from .run import PandocRun, base_format, find_run, is_ours, unknown_run

Meta = dict[str, Any]


@dataclass(frozen=True)
class FilterCall:
    """A call of a filter, after `previous` others of ours.

    target: output format
    """

    name: str
    target: str
    run: PandocRun
    options: FilterOptions = field(default_factory=FilterOptions)
    previous: int = 0
    in_quarto: bool = False

    @property
    def to_markdown(self) -> bool:
        """Return True if pandoc writes markdown, but not in Quarto, which needs the elements."""
        return base_format(self.target) == "markdown" and not self.in_quarto

    @property
    def place(self) -> int | None:
        """Return the filter's index among all filters, or None if unknown."""
        places = self.run.places()
        return places[self.previous] if self.previous < len(places) else None

    @property
    def filters_before(self) -> list[str]:
        """Return the known preceding filters."""
        return self.run.filters[: self.place] if self.place is not None else []

    @property
    def may_follow_foreign(self) -> bool:
        """Return True unless only our filters have run before."""
        return self.place is None or not all(is_ours(name) for name in self.filters_before)

    @property
    def is_followed(self) -> bool:
        """Return True if another filter of ours follows."""
        return self.previous + 1 < len(self.run.places())

    @property
    def overwrites_source(self) -> bool:
        """Return True if the output is an input or the source file."""
        output = self.run.output
        if output is None or not output.exists():
            return False
        source = Path(self.options.source) if self.options.source else None
        return self.run.overwrites_input() or (source is not None and source.exists() and source.samefile(output))

    def mark(self, meta: Mapping[str, Any]) -> Meta:
        """Return metadata with the mark for the next filter of ours, if any."""
        if not self.is_followed:
            return dict(meta)
        return {**meta, CHAIN: {"t": "MetaString", "c": f"{self.previous + 1} {self.run.process}"}}

    def clean(self, meta: Mapping[str, Any]) -> Meta:
        """Return metadata; the last filter removes our keys, which docx would keep."""
        return dict(meta) if self.is_followed else {key: meta[key] for key in meta if not is_private(key)}


def read_call(name: str, target: str, meta: Meta) -> tuple[FilterCall, Meta]:
    """Return a filter's call, and the metadata without the previous filter's mark."""
    in_quarto = is_from_quarto(meta)
    # Quarto's command line names a copy with all metadata at its end, and Quarto's reader.
    run = unknown_run() if in_quarto else find_run()
    options = read_options(meta, run.lmm_options())
    count = _count_previous(meta, run)
    # Without a previous filter, the keys come from the document.
    marks = {CHAIN} if count else {CHAIN, TEXT}
    rest = {key: value for key, value in meta.items() if key not in marks}
    return FilterCall(name, target, run, options, count, in_quarto), rest


def is_from_quarto(meta: Mapping[str, Any]) -> bool:
    """Return True if Quarto renders this document, not a code cell that runs pandoc.

    Only HTML has Quarto's version.
    """
    keys = {"quarto-version", "quarto_pandoc_reader_opts", ASKED}
    return not keys.isdisjoint(meta) and bool(os.environ.get("QUARTO_DOCUMENT_FILE"))


def _count_previous(meta: Mapping[str, Any], run: PandocRun) -> int:
    mark = meta.get(CHAIN)
    left_by_last = plain(mark) if mark is not None else ""
    count, _, process = left_by_last.partition(" ") if isinstance(left_by_last, str) else ("", "", "")
    if process != run.process or not count.isdigit() or int(count) >= len(run.places()):
        return 0
    return int(count)
