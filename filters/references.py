"""References to what is left out among Pandoc's elements (see `lmm_core.scan.references`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from lmm_core.markdown.files import load_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.rag_only import KnitRules
from lmm_core.scan.knit import find_gone
from lmm_core.scan.references import LEFT_OUT, is_cross_reference

from .pandoc_run import FilterError


def identifiers(node: Any) -> set[str]:
    """Return the identifiers of all elements, in the attributes that Pandoc writes."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, list):
            if len(one) == 3 and isinstance(one[0], str) and isinstance(one[1], list) and isinstance(one[2], list):
                found.add(one[0])
            stack.extend(one)
    return found - {""}


def cited(node: Any) -> set[str]:
    """Return the labels that elements cite."""
    return {citation["citationId"] for cite in _of_kind(node, "Cite") for citation in cite["c"][0]}


def _of_kind(node: Any, kind: str) -> Iterator[dict[str, Any]]:
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            if one.get("t") == kind:
                yield one
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)


def gone_on_other_pages(labels: Set[str], rules: KnitRules) -> set[str]:
    """Return those of some labels that are left out of other pages of the Quarto project.
    Raises OSError, MarkdownError and FilterError."""
    labels = {label for label in labels if is_cross_reference(label)}
    folder = os.environ.get("QUARTO_PROJECT_DIR")
    if not labels or not folder:
        return set()
    from lmm_core.errors import QuartoError
    from lmm_core.settings.quarto_inputs import find_inputs

    try:
        pages = find_inputs(Path(folder))
    except QuartoError as error:
        raise FilterError(str(error)) from None
    found: set[str] = set()
    there: set[str] = set()
    for path in pages:
        text = load_markdown(path).text
        named = {label for label in labels if f"#{label}" in text}
        gone = find_gone(parse_markdown_text(text), rules) if named else set()
        found |= named & gone
        there |= named - gone
    return found - there


def make_readable(node: Any, gone: Set[str]) -> None:
    """Put words in the place of references to what is gone: those of a link, else `[…]`."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            one[:] = [made for item in one for made in _readable(item, gone)]
            stack.extend(one)
        elif isinstance(one, dict):
            stack.extend(one.values())


def _readable(item: Any, gone: Set[str]) -> list[Any]:
    kind = item.get("t") if isinstance(item, dict) else None
    if kind == "Link" and item["c"][2][0].removeprefix("#") in gone and item["c"][2][0].startswith("#"):
        words: list[Any] = item["c"][1]
        return words
    if kind != "Cite" or not any(one["citationId"] in gone for one in item["c"][0]):
        return [item]
    stay = [one for one in item["c"][0] if one["citationId"] not in gone]
    if stay:
        text = "; ".join(f"@{one['citationId']}" for one in stay)
        return [{"t": "Cite", "c": [stay, [{"t": "Str", "c": f"[{text}]"}]]}]
    return _words(item["c"][0])


def _words(citations: list[dict[str, Any]]) -> list[Any]:
    """Return what stands for citations of what is gone, with the words before and after each."""
    made: list[Any] = []
    for one in citations:
        before, after = one["citationPrefix"], one["citationSuffix"]
        made += [{"t": "Str", "c": ";"}, {"t": "Space"}] if made else []
        made += [*before, *([{"t": "Space"}] if before else []), {"t": "Str", "c": LEFT_OUT}, *after]
    return made
