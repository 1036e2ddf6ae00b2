"""Extract the text of rendered files: HTML, search indexes, markdown, PDF, office documents and archives."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Any
from urllib.parse import unquote

from ...logging import LoggerBase
from ...scan.left_out import texts_in
from ..html import strip_tags
from .archives import ArchiveError, Budget, inner_name, unpack

NO_TEXT = frozenset(
    """.png .jpg .jpeg .gif .webp .avif .ico .bmp .tif .tiff .woff .woff2 .ttf .otf .eot .mp3 .mp4 .webm .ogg .wav
    .wasm .so .dll .pyc""".split()
)
_ZIPPED = frozenset((".docx", ".epub", ".odt", ".pptx", ".xlsx", ".zip"))
PAGES = frozenset((".html", ".htm", ".xhtml"))
_TEXTS = PAGES | {".xml", ".svg", ".json", ".js", ".mjs", ".md", ".txt", ".css", ".tex", ".ipynb", ".csv"}
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
         (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # fmt: skip
_SCRIPT = re.compile(r"<(?P<end>/)?script\b[^<>]*>", re.I)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))", re.S)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?")
_BETWEEN = re.compile(r"[\s\"'<>()]+")
_EMBEDDED = re.compile(r"data:(text/[\w.+-]+|application/(?:json|javascript|xml|xhtml\+xml))(?:;[\w=-]+)*;base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_CELLS = re.compile(r"<script[^<>]*\bojs-module-contents\b[^<>]*>\s*")  # Observable's cells as JSON


@dataclass(frozen=True)
class Text:
    """A text in a file.

    member: path in an archive, or ""
    suffix: lower case
    source: raw text"""

    member: str
    suffix: str
    source: str

    @cached_property
    def words(self) -> str:
        """Text as displayed."""
        return extract_text(self.source, self.suffix)


def find_files(output: Path) -> list[Path]:
    """Return files that may contain text, sorted, and inaccessible ones; linked folders are skipped."""
    paths, refused = [os.fspath(output)], list[str]()
    if output.is_dir():
        folders = os.walk(output, onerror=lambda error: refused.append(error.filename))
        paths = [f"{folder}{os.sep}{name}" for folder, _, names in folders for name in names]
    files = [*filter(_may_be_file, paths), *refused]
    return [path for path in map(Path, sorted(files, key=_place)) if path.suffix.lower() not in NO_TEXT]


def _may_be_file(path: str) -> bool:
    try:
        return S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 (Path.is_file of some versions of Python says no)
    except PermissionError:
        return True
    except OSError:
        return False


def _place(path: str) -> list[str]:
    return os.path.normcase(path).split(os.sep)  # noqa: PTH206 (a thousand paths, as strings)


def read_texts(path: Path, data: bytes, logger: LoggerBase) -> Iterator[Text]:
    """Yield the texts of a file or archive. Warn of unsupported files."""
    if path.suffix.lower() in _ZIPPED and not data.startswith(b"PK"):
        logger.warning(f"{path}: This is not a zip file, although its name says so. It was searched as plain text.")
    try:
        for member, content in unpack(path.name, data, Budget()):
            name = member or (path.name if content is data else inner_name(path.name))
            suffix = PurePosixPath(name).suffix.lower()
            if suffix in NO_TEXT:
                continue
            if suffix == ".pdf":
                words = _pdf_text(path, None if content is data else content, logger)
                if words is not None:
                    yield Text(member, suffix, words)
                continue
            if suffix in _TEXTS and _has_nuls(content):
                logger.warning(f"{path}: The text holds NUL bytes. It was searched without them.")
            yield Text(member, suffix, _decode(content))
    except ArchiveError as error:
        logger.warning(f"{path}: The archive, or part of it, could not be searched: {error}")


def extract_text(source: str, suffix: str) -> str:
    """Return the words of a text file, by suffix."""
    if suffix == ".pdf":
        return source
    if suffix in (".json", ".ipynb", ".map"):
        return _json_text(source)
    if suffix in (".js", ".mjs"):
        return strip_tags(unescape_javascript(source))
    if suffix == ".css":
        return strip_tags(_CSS_ESCAPE.sub(lambda match: chr(min(int(match[1], 16), 0x10FFFF)), source))
    if suffix == ".tex":
        return _COMMAND.sub(" ", source)
    scripts = " ".join(_scripts(source))
    return " ".join([strip_tags(source), strip_tags(unescape_javascript(scripts)), *_encoded_texts(source)])


def _scripts(source: str) -> Iterator[str]:
    start: int | None = None
    for tag in _SCRIPT.finditer(source):
        if tag["end"] and start is not None:
            yield source[start : tag.start()]
            start = None
        elif not tag["end"] and start is None:
            start = tag.end()


def unescape_javascript(source: str) -> str:
    """Decode escapes in JavaScript strings."""

    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return " " if match[4] in "nrtbf\n" else match[4]

    return _ESCAPE.sub(character, source) if "\\" in source else source


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        yield from map(str, value) if isinstance(value, dict) else ()
        for item in value.values() if isinstance(value, dict) else value:
            yield from _keys(item)


def _json_text(source: str) -> str:
    try:
        data = json.loads(source)
        return "\n".join(strip_tags(text) for text in (*texts_in(data), *_keys(data)))
    except (ValueError, RecursionError):
        return strip_tags(unescape_javascript(source))


def _encoded_texts(source: str) -> Iterator[str]:
    if "%20" in source:
        yield from (strip_tags(unquote(piece)) for piece in _BETWEEN.split(source) if "%20" in piece)
    for match in _EMBEDDED.finditer(source) if ";base64," in source else ():
        yield _base64_text(source, match.end(), f".{match[1].rpartition('/')[2].replace('javascript', 'js')}")
    for match in _CELLS.finditer(source) if "ojs-module-contents" in source else ():
        yield _base64_text(source, match.end(), ".json")


def _base64_text(source: str, at: int, suffix: str) -> str:
    code = _BASE64.match(source, at)
    try:
        data = base64.b64decode(code[0]) if code else b""
    except binascii.Error:
        return ""
    return extract_text(data.decode("utf-8", "replace"), suffix)


# Bytes


def _decode(data: bytes) -> str:
    """Decode UTF-8, or UTF-16 or 32 if detected. NULs are removed, since they could split words."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").replace("\0", "")
    return data.decode(_utf16_encoding(data) or "utf-8", "replace").replace("\0", "")


def _utf16_encoding(data: bytes) -> str:
    """Return the encoding of UTF-16 without byte order mark, else ""."""
    head = data[:4000]
    if not head.count(0) > len(head) * 0.3:
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 4 * even:
        return "utf-16-le"
    return "utf-16-be" if even > 4 * odd else ""


def _has_nuls(data: bytes) -> bool:
    return b"\0" in data and not any(data.startswith(mark) for mark, _ in _BOMS) and not _utf16_encoding(data)


def _pdf_text(path: Path, packed: bytes | None, logger: LoggerBase) -> str | None:
    command = shutil.which("pdftotext")
    if command is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = path
        if packed is not None:
            file = Path(folder, "packed.pdf")
            file.write_bytes(packed)
        result = subprocess.run(
            [command, "-q", "-enc", "UTF-8", str(file), "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    if result.returncode:
        logger.warning(f"{path}: The PDF was not searched: pdftotext cannot read it.")
        return None
    return result.stdout.decode("utf-8", "replace")
