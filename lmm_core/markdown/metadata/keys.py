"""List the keys that mean something in metadata blocks and headers, and read the hashes of their values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MESSAGE_KEYS = ("?", "+", "=", "query", "message", "edit")
SWITCHES = ("knit", "skip", "frozen")
DECIDING = frozenset({"type", "knit", "skip"})  # decide who sees a part
# Keys of blocks inside the text: other programs do not use them in a header
POSITIONAL = frozenset({"type", *SWITCHES, "questions", "chat", *MESSAGE_KEYS})
# Keys that mark a mapping as metadata
BLOCK_KEYS = POSITIONAL | {"summary", "titles", "title", "docid", "lmm"}
# Keys that are not indexed as properties (`txthash` is LM markdown's)
SETTINGS = frozenset({*SWITCHES, "chat", "title", "docid", "lmm", "model", "split", "txthash"})
# Keys whose values may appear on a page
NO_PROSE = frozenset({"type", "titles", "title", "docid", "txthash"})
TEXTS = ("type", "questions", "summary")  # candidates for correcting misspelled keys
# Keys that describe the text below them
ABOUT_TEXT = frozenset({*SWITCHES, *TEXTS, "titles"})
# Keys that Pandoc reads from any native block, which therefore stays in the document
DOCUMENT_KEYS = frozenset(
    """references bibliography csl nocite link-citations citation-abbreviations reference-section-title author date
    subtitle abstract keywords institute thanks header-includes include-before include-after lof lot toc""".split()
)


def is_block_key(key: str) -> bool:
    """Return True if a key marks a mapping as metadata."""
    return key.startswith("~") or key.removesuffix("=") in BLOCK_KEYS


def is_positional(key: str) -> bool:
    """Return True if a key may come from a block inside the text."""
    return key in POSITIONAL or key.startswith("~") or key.endswith("=")


def is_private(key: str) -> bool:
    """Return True if a key is used only by this program."""
    return is_positional(key) or key in ("lmm", "model", "docid", "titles") or key.startswith("lmm-")


# Owners of keys (`docs/annotate.md`, "Who owns a key")

HASHES = "~~hash"
_SHARED = "text"  # key in `~~hash` for an input hash that all keys share


def find_key(properties: Mapping[str, Any], key: str) -> str | None:
    """Return the first of `key=`, `key` and `~key` that exists, or None."""
    for spelling in (f"{key}=", key, f"~{key}"):
        if spelling in properties:
            return spelling
    return None


def digest(value: Any) -> str:
    """Return a short hash (10 hexadecimal digits) of a YAML value."""
    import hashlib  # slow import: loads OpenSSL

    data = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def read_hashes(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hashes of each key's input and value in `~~hash`."""
    hashes = properties.get(HASHES)
    if not isinstance(hashes, dict):
        return {}
    shared = hashes.get(_SHARED)
    if not isinstance(shared, str | int):
        return dict(hashes)
    rest = {key: value for key, value in hashes.items() if key != _SHARED}
    return {key: [str(shared), str(value)] if isinstance(value, str | int) else value for key, value in rest.items()}


def short_hashes(hashes: Mapping[str, Any]) -> dict[str, Any]:
    """Return hashes as written in `~~hash`: an input hash that all keys share is written once."""
    pairs = [pair for pair in hashes.values() if isinstance(pair, list) and len(pair) == 2]
    shared = {str(pair[0]) for pair in pairs}
    if len(pairs) < max(2, len(hashes)) or len(shared) > 1 or _SHARED in hashes:
        return dict(hashes)
    return {_SHARED: shared.pop(), **{key: str(pair[1]) for key, pair in hashes.items()}}


def hash_pair(properties: Mapping[str, Any], key: str) -> tuple[str, str] | None:
    """Return the hashes of a key's input and value in `~~hash`, or None.

    The prompt's hash that earlier versions appended to the input's is ignored.
    """
    pair = read_hashes(properties).get(key)
    if isinstance(pair, list) and len(pair) == 2:
        return str(pair[0]).partition("-")[0], str(pair[1])
    return None
