"""Fit chunks of the default sizes into an embedding model's window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...settings.tables import SplitOpts
from ..chunks import Chunk, with_texts
from ..encoding import EncodingModel, texts_to_encode
from .split import Count

SIZE = 220  # tokens of a chunk, measured: see benchmarks/README.md
ANNOTATIONS = 36  # tokens reserved for titles and questions
LEAST = 32


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that an embedding model reads per text, as `count` counts them."""

    tokens: int
    count: Count
    encoding: EncodingModel

    def holds_all(self, texts: Sequence[str]) -> bool:
        """Return True if all texts fit."""
        return all(self.count(text) <= self.tokens for text in texts)


def has_default_sizes(opts: SplitOpts) -> bool:
    """Return True if texts are cut, at sizes that are not configured."""
    default = SplitOpts()
    return all(getattr(opts, name) == getattr(default, name) for name in ("size", "max_size", "overlap", "unit"))


def default_sizes(opts: SplitOpts, window: Window) -> SplitOpts:
    """Return the options with a window's default sizes."""
    most = max(window.tokens - ANNOTATIONS, LEAST)
    return replace(opts, unit="tokens", size=min(SIZE, most), max_size=min(2 * SIZE, most))


def fit_annotations(chunks: Sequence[Chunk], window: Window) -> list[Chunk]:
    """Return the chunks, with fewer dense annotations where needed to fit.

    The last lines are dropped first; lexical search uses all of them."""
    return [chunk if window.holds_all(chunk.texts.dense) else _with_fewer(chunk, window) for chunk in chunks]


def _with_fewer(chunk: Chunk, window: Window) -> Chunk:
    together = texts_to_encode(window.encoding, "", chunk.annotations).dense[-1] != ""
    room = window.tokens - (window.count(chunk.content) if together else 0)
    lines_left = _lines_within(chunk.annotations.split("\n"), room, window)
    dense = texts_to_encode(window.encoding, chunk.content, "\n".join(lines_left)).dense
    return with_texts(chunk, replace(chunk.texts, dense=dense))


def _lines_within(lines: Sequence[str], room: int, window: Window) -> Iterator[str]:
    for line in lines:
        room -= window.count(line)
        if room < 0:
            return
        yield line
