"""Further frequent words of some languages, which say nothing about a text's subject."""

from __future__ import annotations

from .stemming import LISTS

STOPWORDS: dict[str, frozenset[str]] = {
    file.stem: frozenset(file.read_text(encoding="utf-8").split()) for file in (LISTS / "more").glob("*.txt")
}
