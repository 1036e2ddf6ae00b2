"""The owner of each key (`docs/format.md`, "Who owns a key")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

HASHES = "~~hash"


def find_key(properties: Mapping[str, Any], key: str) -> str | None:
    """Return the spelling of a key that counts: the first of `key=`, `key` and `~key`."""
    for spelling in (f"{key}=", key, f"~{key}"):
        if spelling in properties:
            return spelling
    return None


def digest(value: Any) -> str:
    """Return a short hash (10 hexadecimal digits) of a value as parsed from YAML."""
    data = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def read_hashes(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `~~hash` holds; {} if it is no mapping."""
    hashes = properties.get(HASHES)
    return dict(hashes) if isinstance(hashes, dict) else {}


def hash_pair(properties: Mapping[str, Any], key: str) -> tuple[str, str] | None:
    """Return the two hashes that `~~hash` holds for `~key`, or None.

    They are the hashes of the input and of the value that the system wrote."""
    pair = read_hashes(properties).get(key)
    if isinstance(pair, list) and len(pair) == 2:
        return str(pair[0]), str(pair[1])
    return None
