"""Ownership: whose a key is (`docs/format.md`, "Who owns a key")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

HASHES = "~~hash"


def find_key(properties: Mapping[str, Any], key: str) -> str | None:
    """The spelling of `key` that counts: `key=`, `key`, `~key`, in this order."""
    for spelling in (f"{key}=", key, f"~{key}"):
        if spelling in properties:
            return spelling
    return None


def digest(value: Any) -> str:
    """A short hash (10 hexadecimal digits) of a value as parsed from YAML."""
    data = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def hash_pair(properties: Mapping[str, Any], key: str) -> tuple[str, str] | None:
    """What `~~hash` says of `~key`: hashes of the input that it was made from and
    of the value that was written; None where nothing (or nothing readable) is said."""
    hashes = properties.get(HASHES)
    pair = hashes.get(key) if isinstance(hashes, dict) else None
    if isinstance(pair, list) and len(pair) == 2:
        return str(pair[0]), str(pair[1])
    return None
