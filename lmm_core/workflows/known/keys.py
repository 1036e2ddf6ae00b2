"""The keys under which findings are filed."""

from __future__ import annotations

from ...files.remembered import program_mark

HASH = 20  # bytes


def key_of(kind: str, *parts: bytes) -> bytes:
    """Return the hash (20 bytes) under which a finding of some kind is filed. parts: all that it depends on,
    beside the program itself."""
    import hashlib  # loads OpenSSL

    whole = hashlib.sha256(program_mark())  # for which processors have instructions: a thousand pages are hashed
    for part in (kind.encode(), *parts):
        whole.update(b"%d:" % len(part))
        whole.update(part)
    return whole.digest()[:HASH]
