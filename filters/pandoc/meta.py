"""Pandoc's metadata (the `meta` of its JSON) as plain values, and our options in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmm_core.markdown.metadata.body import MESSAGE_KEYS
from lmm_core.markdown.metadata.lmm_options import BY_DOCUMENT, BY_PERSON, INTERNAL, OPTIONS, options_in
from lmm_core.markdown.rag_only import words_of

CHAIN, TEXT, ASKED = INTERNAL
# Keys that a metadata block inside the text may have brought: pandoc has merged
# such blocks into the document's metadata, and their places are lost.
_POSITIONAL = frozenset({"type", "questions", "skip", "frozen", "knit", "chat", *MESSAGE_KEYS})


def plain(value: Any) -> Any:
    """A metadata value: text, bool, list or dict."""
    kind: str = value.get("t")
    content: Any = value.get("c")
    if kind == "MetaMap":
        return {key: plain(item) for key, item in content.items()}
    if kind == "MetaList":
        return [plain(item) for item in content]
    if kind in ("MetaInlines", "MetaBlocks"):
        return _text(content).strip()
    return content


def _text(node: Any) -> str:
    """The text of inlines and blocks."""
    if isinstance(node, list):
        return "".join(map(_text, node))
    if not isinstance(node, dict):
        return ""
    kind: str = node.get("t", "")
    content: Any = node.get("c")
    if kind == "Str":
        return str(content)
    if kind in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if kind in ("Code", "Math", "RawInline", "CodeBlock", "RawBlock"):
        return str(content[-1])
    if kind == "Quoted":
        sign = "'" if content[0].get("t") == "SingleQuote" else '"'
        return f"{sign}{_text(content[1])}{sign}"
    return _text(content) + ("\n" if kind in ("Para", "Plain") else "")


def is_ours_alone(key: str) -> bool:
    """Whether a key means something to us only."""
    return is_positional(key) or key in ("lmm", "model", "docid", "titles") or key.startswith("lmm-")


def is_positional(key: str) -> bool:
    """Whether a key may have come from a metadata block inside the text."""
    return key in _POSITIONAL or key.startswith("~") or key.endswith("=")


@dataclass
class FilterOptions:
    """Options under `lmm:` in the metadata, or as `-M lmm-…`. `unknown` are names
    that mean nothing, `refused` those that the document says and may not."""

    keep: list[str] = field(default_factory=list)
    div_types: list[str] = field(default_factory=list)
    save: str = ""
    source: str = ""
    spelling: str = ""
    model: str = ""
    own_pass: str = ""
    unknown: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def read_options(meta: Mapping[str, Any], by_person: Mapping[str, Any]) -> FilterOptions:
    """Return the options that a document's metadata holds, and those that the person who
    runs pandoc gives (see `PandocRun.lmm_options`)."""
    found = plain_options(meta)
    values = {name: value for name, value in found.items() if name in BY_DOCUMENT}
    values |= {name: value for name, value in by_person.items() if name in BY_PERSON}
    return FilterOptions(
        words_of(values.get("keep")),
        words_of(values.get("div-types")),
        _file(values.get("save")),
        _file(values.get("source")),
        str(values.get("spelling") or ""),
        str(values.get("model") or ""),
        str(values.get("pass") or ""),
        [name for name in found if name not in OPTIONS],
        [name for name in found if name in BY_PERSON and name not in by_person],
    )


def plain_options(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that Pandoc's metadata holds, by name."""
    return options_in({key: plain(value) for key, value in meta.items() if key.startswith("lmm")})


def _file(value: Any) -> str:
    """Return a file's name; `-M lmm-save` without one is no name."""
    return value if isinstance(value, str) else ""
