"""Mend references to what is left out among Pandoc's elements (see `lmm_core.scan.references`)."""

from __future__ import annotations

import os
from collections.abc import Set
from pathlib import Path
from typing import Any

from lmm_core.markdown.files import read_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.knit import find_labels_left_out
from lmm_core.scan.references import LEFT_OUT, is_cross_reference

from ..errors import FilterError
from ..pandoc.json_tree import find_elements, walk


def identifiers(node: Any) -> set[str]:
    """Return the identifiers of all elements, from the attributes that Pandoc writes."""
    return {one[0] for one in walk(node) if _is_attributes(one)} - {""}


def _is_attributes(one: Any) -> bool:
    """Return True for attributes: an identifier, a list of classes and a list of pairs."""
    if not isinstance(one, list) or len(one) != 3:
        return False
    return isinstance(one[0], str) and isinstance(one[1], list) and isinstance(one[2], list)


def cited(node: Any) -> set[str]:
    """Return the labels that elements cite."""
    return {citation["citationId"] for cite in find_elements(node, "Cite") for citation in cite["c"][0]}


def gone_on_other_pages(labels: Set[str], rules: KnitRules) -> set[str]:
    """Return the labels that are left out of other pages of the Quarto project.

    Raise FilterError if the project cannot be read, OSError or MarkdownError if a page cannot."""
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
        text = read_markdown(path).text
        named = {label for label in labels if f"#{label}" in text}
        gone = find_labels_left_out(parse_markdown_text(text), rules) if named else set()
        found |= named & gone
        there |= named - gone
    return found - there


def make_readable(node: Any, gone: Set[str]) -> None:
    """Replace the references to labels that are gone, by the words of a link or by `[…]`.

    Changes the tree that it is given."""
    for one in walk(node):
        if isinstance(one, list):
            one[:] = [made for item in one for made in _readable(item, gone)]


def _readable(item: Any, gone: Set[str]) -> list[Any]:
    """Return what replaces a value: the value itself, unless it refers to a label that is gone."""
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
    """Return the words that replace citations of labels that are gone, with those before and after each."""
    made: list[Any] = []
    for one in citations:
        before, after = one["citationPrefix"], one["citationSuffix"]
        made += [{"t": "Str", "c": ";"}, {"t": "Space"}] if made else []
        made += [*before, *([{"t": "Space"}] if before else []), {"t": "Str", "c": LEFT_OUT}, *after]
    return made
