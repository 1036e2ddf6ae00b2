"""The call of a filter by pandoc, and the marks by which the filters of one run know each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmm_core.markdown.metadata.keys import is_private

from .meta import ASKED, CHAIN, TEXT, FilterOptions, plain, read_options
from .runs.run import PandocRun, base_format, find_run, is_ours

Meta = dict[str, Any]


@dataclass(frozen=True)
class FilterCall:
    """A call of a filter by pandoc.

    name: the filter's command; target: the format that pandoc writes; run: pandoc's command line, None if unknown;
    done: how many of our filters have run before; in_quarto: Quarto renders the document."""

    name: str
    target: str
    run: PandocRun | None = None
    options: FilterOptions = field(default_factory=FilterOptions)
    done: int = 0
    in_quarto: bool = False

    @property
    def to_markdown(self) -> bool:
        """True if pandoc writes its own markdown. Never in Quarto, which works on the elements before it writes."""
        return base_format(self.target) == "markdown" and not self.in_quarto

    @property
    def reads_markdown(self) -> bool:
        """True if the input is some kind of markdown, or cannot be seen."""
        return self.run is None or self.run.reads_markdown

    @property
    def place(self) -> int | None:
        """The filter's number among all filters of the run, from 0, or None if it cannot be seen."""
        places = self.run.places() if self.run else []
        return places[self.done] if self.done < len(places) else None

    @property
    def filters_before(self) -> list[str]:
        """The filters that are known to have come before this one."""
        return self.run.filters[: self.place] if self.run is not None and self.place is not None else []

    @property
    def may_follow_foreign(self) -> bool:
        """True unless it is certain that only filters of ours have come before."""
        return self.place is None or not all(is_ours(name) for name in self.filters_before)

    @property
    def is_followed(self) -> bool:
        """True if another filter of ours follows in this run."""
        return self.run is not None and self.done + 1 < len(self.run.places())

    @property
    def output(self) -> Path | None:
        """The file that pandoc writes, or None for standard output and when it cannot be seen."""
        return self.run.output if self.run is not None else None

    @property
    def overwrites_source(self) -> bool:
        """True if pandoc is going to write over an input, or over the file that is named as the
        source."""
        output = self.output
        if self.run is None or output is None or not output.exists():
            return False
        named = Path(self.options.source) if self.options.source else None
        return self.run.overwrites_input() or (named is not None and named.exists() and named.samefile(output))

    @property
    def executable(self) -> str:
        """The pandoc for inner runs."""
        if self.run:
            return self.run.executable
        import shutil

        return shutil.which("pandoc") or "pandoc"

    def mark(self, meta: Mapping[str, Any]) -> Meta:
        """Return metadata with the mark that tells the next filter of ours that this one was
        here; the last filter leaves no mark."""
        if self.run is None or not self.is_followed:
            return dict(meta)
        return {**meta, CHAIN: {"t": "MetaString", "c": f"{self.done + 1} {self.run.process}"}}

    def clean(self, meta: Mapping[str, Any]) -> Meta:
        """Return metadata without our keys if this is the last filter of ours: some writers
        (docx) put every key into the file."""
        return dict(meta) if self.is_followed else {key: meta[key] for key in meta if not is_private(key)}


def read_call(name: str, target: str, meta: Meta) -> tuple[FilterCall, Meta]:
    """Return the call of a filter, and the metadata without the mark of the filter before."""
    in_quarto = is_from_quarto(meta)
    # Quarto's command line names a copy of the text with all metadata at its end, and a
    # reader of its own: it says nothing about the file.
    run = None if in_quarto else find_run()
    options = read_options(meta, run.lmm_options() if run is not None else {})
    done = _count_done(meta, run)
    # A document may hold keys of these names itself; they mean nothing.
    marks = {CHAIN} if done else {CHAIN, TEXT}
    rest = {key: value for key, value in meta.items() if key not in marks}
    return FilterCall(name, target, run, options, done, in_quarto), rest


def is_from_quarto(meta: Mapping[str, Any]) -> bool:
    """Return True if Quarto renders this document.

    The environment alone does not tell: a code cell may run pandoc, too. Quarto's version is in the metadata for HTML
    only."""
    keys = {"quarto-version", "quarto_pandoc_reader_opts", ASKED}
    return not keys.isdisjoint(meta) and bool(os.environ.get("QUARTO_DOCUMENT_FILE"))


def _count_done(meta: Mapping[str, Any], run: PandocRun | None) -> int:
    mark = meta.get(CHAIN)
    left_by_last = plain(mark) if mark is not None else ""
    count, _, process = left_by_last.partition(" ") if isinstance(left_by_last, str) else ("", "", "")
    if run is None or process != run.process or not count.isdigit() or int(count) >= len(run.places()):
        return 0
    return int(count)
