"""Snippets: what of a file is embedded, found and shown.

A snippet has 64 to 320 tokens of one file. Sections stay whole where they fit; what is
longer is cut by the splitter of the passes, what is shorter joined with its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..models.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a file. `body` is its text as it stands on the lines from `line_start` to
    `line_end` (from 1, inclusive); `header` is put before it for embedding only: the
    titles around it and what annotations say of it. `id`: 32 hexadecimal digits, the hash
    of all the rest."""

    id: str
    index: str
    doc_path: str
    title: str
    line_start: int
    line_end: int
    body: str
    header: str = ""

    @property
    def embedded(self) -> str:
        """What vectors are made of."""
        return f"{self.header}\n\n{self.body}" if self.header else self.body

    @property
    def source(self) -> str:
        """Where it stands: `path#L3-L20`."""
        return f"{self.doc_path}#L{self.line_start}-L{self.line_end}"


def slice_text(text: str, doc_path: str, index: str, count: Callable[[str], int] = count_tokens) -> list[Snippet]:
    """The snippets of a text, in their order. doc_path: its file, relative to the index's
    root; count: the tokens of a text."""
    raise NotImplementedError


def snippet_file(snippet: Snippet) -> str:
    """The text of a snippet's file."""
    raise NotImplementedError


def read_snippet_file(text: str) -> Snippet:
    """The snippet of a file's text: the opposite of `snippet_file`. Raises CrawlError."""
    raise NotImplementedError
