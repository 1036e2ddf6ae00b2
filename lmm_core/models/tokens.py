"""Numbers of tokens, for budgets and for the cost of a run before it is paid.

Counting never waits for the network.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "o200k_base"
# The address from which tiktoken loads the encoding (its cache file is named by the SHA-1 of it),
# and the file's SHA-256: if it differed, tiktoken would download the file again.
_ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
BYTES_A_TOKEN = 6
REMEMBERED = 1024  # texts; on 174 files of markdown 28% of the calls are for one of them
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_TYPESET = "’‘“”–—…"  # signs of typesetters: most texts hold no others beyond ASCII, and need not be searched for these
# The kind of each byte: part of a word (w), a sign (s) or white space.
_KINDS = re.sub(r"[^\w\s]", "s", re.sub(r"\w", "w", bytes(range(128)).decode()))
_KINDS_OF_BYTES = re.sub(r"\s", " ", _KINDS).encode().ljust(256)


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text in o200k_base, if tiktoken has it on disk, or an estimate.

    The last texts are remembered, since cutting and fitting ask for the same ones again."""
    return _count(text, _encoding())


@lru_cache(maxsize=REMEMBERED)
def _count(text: str, encoding: Encoding | None) -> int:
    if encoding is None:
        return estimate_tokens(text)
    return len(encoding.encode(text, disallowed_special=()))


def estimate_tokens(text: str) -> int:
    """Return an estimate: a token for each sign and for every 6 bytes of a word.

    On English prose and lessons with code it is within 7% of the tokens of BERT's WordPiece
    (`benchmarks/tokens.py`). GPT's encodings make fewer tokens."""
    if not text.isascii():
        for sign in _TYPESET:
            text = text.replace(sign, ".")
        text = text if text.isascii() else _BEYOND_ASCII.sub(_stand_ins, text)
    return _tokens_of_ascii(text)


def _tokens_of_ascii(text: str) -> int:
    """Return the estimate for a text whose characters are bytes, without looking at each word.

    Every 6 bytes of a word become a sign, and the rest of a word is a `w` after a blank."""
    kinds = text.encode().translate(_KINDS_OF_BYTES).replace(b"w" * BYTES_A_TOKEN, b"s")
    return kinds.count(b"s") + (b" " + kinds.replace(b"s", b" ")).count(b" w")


def _stand_ins(found: re.Match[str]) -> str:
    return _in_ascii(found[0])


@lru_cache(maxsize=REMEMBERED)  # most are a quotation mark, a dash or a letter with an accent
def _in_ascii(text: str) -> str:
    """Return letters for the bytes of letters beyond ASCII, and a full stop for each sign, whatever its length."""
    if text.isalnum():
        return "w" * len(text.encode())
    return "".join(["w" * len(one.encode()) if one.isalnum() else " " if one.isspace() else "." for one in text])


@cache
def _encoding() -> Encoding | None:
    if not _on_disk():
        return None
    import tiktoken

    return tiktoken.get_encoding(ENCODING)


def _on_disk() -> bool:
    """Return True if tiktoken's cache holds the complete encoding."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = str(Path(tempfile.gettempdir(), "data-gym-cache"))
    file = Path(folder, hashlib.sha1(_ADDRESS.encode(), usedforsecurity=False).hexdigest())
    try:
        return bool(folder) and hashlib.sha256(file.read_bytes()).hexdigest() == _SHA256
    except OSError:
        return False
