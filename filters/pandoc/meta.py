"""Convert Pandoc's metadata to plain values, and read our options in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmm_core.markdown.blocks import HeaderBlock
from lmm_core.markdown.metadata.lmm_options import BY_DOCUMENT, BY_PERSON, INTERNAL, OPTIONS, options_in
from lmm_core.markdown.spelling import make_block
from lmm_core.markdown.visibility import words_of

CHAIN, TEXT, ASKED = INTERNAL


def plain(value: Any) -> Any:
    """Return Pandoc's metadata as text, bool, list or dict."""
    kind: str = value.get("t")
    content: Any = value.get("c")
    if kind == "MetaMap":
        return {key: plain(item) for key, item in content.items()}
    if kind == "MetaList":
        return [plain(item) for item in content]
    if kind in ("MetaInlines", "MetaBlocks"):
        return text_of(content).strip()
    return content


def to_meta(value: Any) -> dict[str, Any]:
    """Return a plain value as Pandoc's metadata."""
    if isinstance(value, dict):
        return {"t": "MetaMap", "c": {str(key): to_meta(item) for key, item in value.items()}}
    if isinstance(value, list):
        return {"t": "MetaList", "c": [to_meta(item) for item in value]}
    if isinstance(value, bool):
        return {"t": "MetaBool", "c": value}
    return {"t": "MetaString", "c": "" if value is None else str(value)}


def text_of(node: Any) -> str:
    """Return the text of inlines and blocks, without footnotes."""
    if isinstance(node, list):
        return "".join(map(text_of, node))
    if not isinstance(node, dict):
        return ""
    kind: str = node.get("t", "")
    content: Any = node.get("c")
    if kind == "Note":
        return ""
    if kind == "Str":
        return str(content)
    if kind in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if kind in ("Code", "Math", "RawInline", "CodeBlock", "RawBlock"):
        return str(content[-1])
    if kind == "Quoted":
        sign = "'" if content[0].get("t") == "SingleQuote" else '"'
        return f"{sign}{text_of(content[1])}{sign}"
    return text_of(content) + ("\n" if kind in ("Para", "Plain") else "")


def header_from(meta: Mapping[str, Any]) -> HeaderBlock:
    """Return a header block with Pandoc's metadata."""
    header = make_block("", "native", header=True)
    header.content = {key: plain(value) for key, value in meta.items()}
    assert isinstance(header, HeaderBlock)
    return header


@dataclass(frozen=True)
class FilterOptions:
    """The options of a filter: under `lmm:` in the document's metadata, or given by `-M lmm-…`.

    unknown: names that do not exist
    refused: options in the document that only the caller may set
    """

    keep: list[str] = field(default_factory=list)
    div_types: list[str] = field(default_factory=list)
    source: str = ""
    spelling: str = ""
    model: str = ""
    own_pass: str = ""
    unknown: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def read_options(meta: Mapping[str, Any], by_person: Mapping[str, Any]) -> FilterOptions:
    """Return a filter's options, from the document's metadata and the caller (see `PandocRun.lmm_options`)."""
    options = plain_options(meta)
    values = {name: value for name, value in options.items() if name in BY_DOCUMENT}
    values |= {name: value for name, value in by_person.items() if name in BY_PERSON}
    return FilterOptions(
        keep=words_of(values.get("keep")),
        div_types=words_of(values.get("div-types")),
        source=source if isinstance(source := values.get("source"), str) else "",  # `-M lmm-source` alone is true
        spelling=str(values.get("spelling") or ""),
        model=str(values.get("model") or ""),
        own_pass=str(values.get("pass") or ""),
        unknown=[name for name in options if name not in OPTIONS],
        refused=[name for name in options if name in BY_PERSON and name not in by_person],
    )


def plain_options(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in Pandoc's metadata."""
    return options_in({key: plain(value) for key, value in meta.items() if key.startswith("lmm")})
