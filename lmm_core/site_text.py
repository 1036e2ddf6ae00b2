"""The text of what was rendered: HTML, search indexes, markdown, PDF, office documents."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .logging import LoggerBase

NO_TEXT = frozenset(
    """.png .jpg .jpeg .gif .webp .avif .ico .bmp .tif .tiff .woff .woff2 .ttf .otf .eot .mp3 .mp4 .webm .ogg .wav
    .gz .bz2 .xz .wasm .so .dll .pyc .css .map""".split()
)
_ZIPPED = frozenset((".docx", ".epub", ".odt", ".pptx", ".xlsx", ".zip"))
_INSIDE = (".xml", ".html", ".xhtml", ".htm", ".opf", ".ncx", ".md", ".txt")
_TAG = re.compile(r"<[!/?a-zA-Z][^<>]*>")
_VALUE = re.compile(r"=\s*(?:\"([^\"]*\s[^\"]*)\"|'([^']*\s[^']*)')")
_SCRIPT = re.compile(r"<script\b[^>]*>(.*?)</script\s*>", re.S | re.I)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))", re.S)
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?")


def find_files(output: Path) -> list[Path]:
    """All files of an output that may hold text."""
    found = sorted(output.rglob("*")) if output.is_dir() else [output]
    return [path for path in found if path.suffix.lower() not in NO_TEXT and path.is_file()]


def read_text(path: Path, logger: LoggerBase) -> str | None:
    """The text of a file; None where it has none, or where it cannot be looked into,
    which is warned of. Raises OSError."""
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        return _pdf(path, logger)
    if suffix in _ZIPPED:
        return _zipped(path, logger)
    data = path.read_bytes()
    return None if b"\0" in data[:8000] else text_of(data.decode("utf-8", "replace"), suffix)


def text_of(source: str, suffix: str) -> str:
    """The words of a file that is text, by its ending."""
    if suffix in (".json", ".ipynb"):
        return _json(source)
    if suffix in (".js", ".mjs"):
        return plain(unescape(source))
    if suffix == ".tex":
        return _COMMAND.sub(" ", source)
    scripts = " ".join(_SCRIPT.findall(source)) if "<script" in source else ""
    return plain(source) + (" " + plain(unescape(scripts)) if scripts else "")


def plain(source: str) -> str:
    """HTML or XML without tags and entities. What stands in attributes (`alt`, a
    description) and in comments is in the page as well, and comes after it."""
    if "<" not in source and "&" not in source:
        return source
    for _ in range(2):  # a feed holds pages in which the tags are entities
        source = re.sub(r"<!--|-->|<!\[CDATA\[|\]\]>", " ", source)
        values = (one or other for tag in _TAG.findall(source) for one, other in _VALUE.findall(tag))
        source = html.unescape("\n".join([_TAG.sub(" ", source), *values]))
    return source


def unescape(source: str) -> str:
    """The text of JavaScript, without what escapes characters in its strings."""

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return " " if found[4] in "nrtbf\n" else found[4]

    return _ESCAPE.sub(character, source) if "\\" in source else source


def _json(source: str) -> str:
    try:
        found = json.loads(source)
    except (ValueError, RecursionError):
        return plain(unescape(source))
    return "\n".join(plain(text) for text in strings(found))


def strings(value: Any) -> Iterator[str]:
    """The texts in a value of lists and mappings, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def _zipped(path: Path, logger: LoggerBase) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.lower().endswith(_INSIDE)]
            return "\n".join(plain(archive.read(name).decode("utf-8", "replace")) for name in names)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        logger.warning(f"{path}: not looked into: {error}")
        return None


def _pdf(path: Path, logger: LoggerBase) -> str | None:
    command = shutil.which("pdftotext")
    if command is None:
        logger.warning(f"{path}: not looked into: pdftotext (of poppler-utils) is not on PATH")
        return None
    done = subprocess.run(
        [command, "-q", "-enc", "UTF-8", str(path), "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        logger.warning(f"{path}: not looked into: pdftotext cannot read it")
        return None
    return done.stdout.decode("utf-8", "replace")
