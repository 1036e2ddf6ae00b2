"""The text of what was rendered: HTML, search indexes, markdown, PDF, office documents, and what
is packed in archives."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from ...logging import LoggerBase
from ...scan.left_out import strings
from .archives import ArchiveError, Budget, inner_name, unpack

NO_TEXT = frozenset(
    """.png .jpg .jpeg .gif .webp .avif .ico .bmp .tif .tiff .woff .woff2 .ttf .otf .eot .mp3 .mp4 .webm .ogg .wav
    .wasm .so .dll .pyc""".split()
)
_ZIPPED = frozenset((".docx", ".epub", ".odt", ".pptx", ".xlsx", ".zip"))
_PAGES = frozenset((".html", ".htm", ".xhtml"))
_TEXTS = _PAGES | {".xml", ".svg", ".json", ".js", ".mjs", ".md", ".txt", ".css", ".tex", ".ipynb", ".csv"}
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
         (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))  # fmt: skip
_TAG = re.compile(r"<[!/?a-zA-Z][^<>]*>")
_VALUE = re.compile(r"=\s*(?:\"([^\"]*)\"|'([^']*)')")
_SCRIPT = re.compile(r"<(?P<end>/)?script\b[^<>]*>", re.I)
_LONG_CODE = re.compile(r"&#(?:[0-9]{9,}|[xX][0-9a-fA-F]{9,});?")  # of no character
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))", re.S)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_COMMAND = re.compile(r"\\[a-zA-Z]+\*?")
_BETWEEN = re.compile(r"[\s\"'<>()]+")
_EMBEDDED = re.compile(r"data:(text/[\w.+-]+|application/(?:json|javascript|xml|xhtml\+xml))(?:;[\w=-]+)*;base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")
_CELLS = re.compile(r"<script[^<>]*\bojs-module-contents\b[^<>]*>\s*")  # the code of Observable's cells, as JSON


@dataclass(frozen=True, slots=True)
class Text:
    """A text in a file: its `member` (of an archive, else ""), its ending in lower case, its
    words as they are read, and its source ("" where that is no text)."""

    member: str
    suffix: str
    words: str
    source: str


def find_files(output: Path) -> list[Path]:
    """All files of an output that may hold text."""
    found = sorted(output.rglob("*")) if output.is_dir() else [output]
    return [path for path in found if path.suffix.lower() not in NO_TEXT and path.is_file()]


def read_texts(path: Path, logger: LoggerBase) -> Iterator[Text]:
    """Yield the texts of a file: one, of an archive one for each file in it. What cannot be looked
    into is warned of. Raises OSError."""
    data = path.read_bytes()
    if path.suffix.lower() in _ZIPPED and not data.startswith(b"PK"):
        logger.warning(f"{path}: not looked into as what its ending says: it is no zip file")
    try:
        for member, content in unpack(path.name, data, Budget()):
            name = member or (path.name if content is data else inner_name(path.name))
            suffix = PurePosixPath(name).suffix.lower()
            if suffix in NO_TEXT:
                continue
            if suffix == ".pdf":
                words = _pdf(path, None if content is data else content, logger)
                if words is not None:
                    yield Text(member, suffix, words, "")
                continue
            if suffix in _TEXTS and _has_nuls(content):
                logger.warning(f"{path}: holds NUL bytes, which no text should: it was looked into without them")
            source = _decode(content)
            yield Text(member, suffix, text_of(source, suffix), source)
    except ArchiveError as error:
        logger.warning(f"{path}: not looked into, or not all of it: {error}")


def text_of(source: str, suffix: str) -> str:
    """Return the words of a file that is text, by its ending."""
    if suffix in (".json", ".ipynb", ".map"):
        return _json(source)
    if suffix in (".js", ".mjs"):
        return plain(unescape(source))
    if suffix == ".css":
        return plain(_CSS_ESCAPE.sub(lambda found: chr(min(int(found[1], 16), 0x10FFFF)), source))
    if suffix == ".tex":
        return _COMMAND.sub(" ", source)
    scripts = " ".join(_scripts(source))
    return " ".join([plain(source), plain(unescape(scripts)), *_encoded(source)])


def plain(source: str) -> str:
    """HTML or XML without tags and entities. What stands in attributes (`alt`, a
    description) and in comments is in the page as well, and comes after it."""
    if "<" not in source and "&" not in source:
        return source
    for _ in range(2):  # a feed holds pages in which the tags are entities
        source = re.sub(r"<!--|-->|<!\[CDATA\[|\]\]>", " ", source)
        values = (one or other for tag in _TAG.findall(source) for one, other in _VALUE.findall(tag))
        source = characters("\n".join([_TAG.sub(" ", source), *(value for value in values if len(value.split()) > 1)]))
    return source


def characters(source: str) -> str:
    """Return a text with the characters that HTML's references stand for."""
    return html.unescape(_LONG_CODE.sub("\ufffd", source))


def _scripts(source: str) -> Iterator[str]:
    """What stands between the tags of scripts."""
    start: int | None = None
    for tag in _SCRIPT.finditer(source):
        if tag["end"] and start is not None:
            yield source[start : tag.start()]
            start = None
        elif not tag["end"] and start is None:
            start = tag.end()


def unescape(source: str) -> str:
    """The text of JavaScript, without what escapes characters in its strings."""

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return " " if found[4] in "nrtbf\n" else found[4]

    return _ESCAPE.sub(character, source) if "\\" in source else source


def _keys(value: Any) -> Iterator[str]:
    """The keys in a value of lists and mappings."""
    if isinstance(value, dict | list):
        yield from map(str, value) if isinstance(value, dict) else ()
        for item in value.values() if isinstance(value, dict) else value:
            yield from _keys(item)


def _json(source: str) -> str:
    try:
        found = json.loads(source)
        return "\n".join(plain(text) for text in (*strings(found), *_keys(found)))
    except (ValueError, RecursionError):
        return plain(unescape(source))


def _encoded(source: str) -> Iterator[str]:
    """What stands in addresses (a link to a mail with a text, a page inside a page) and in cells that the
    browser runs."""
    if "%20" in source:
        yield from (plain(unquote(piece)) for piece in _BETWEEN.split(source) if "%20" in piece)
    for found in _EMBEDDED.finditer(source) if ";base64," in source else ():
        yield _decoded(source, found.end(), f".{found[1].rpartition('/')[2].replace('javascript', 'js')}")
    for found in _CELLS.finditer(source) if "ojs-module-contents" in source else ():
        yield _decoded(source, found.end(), ".json")


def _decoded(source: str, at: int, suffix: str) -> str:
    """The words of a file that stands in a text as base64."""
    code = _BASE64.match(source, at)
    try:
        data = base64.b64decode(code[0]) if code else b""
    except binascii.Error:
        return ""
    return text_of(data.decode("utf-8", "replace"), suffix)


# Bytes


def _decode(data: bytes) -> str:
    """The text of some bytes: UTF-8, or UTF-16 or 32 where they look like it. NULs go: between the
    letters of a word they would hide it."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").replace("\0", "")
    return data.decode(_wide(data) or "utf-8", "replace").replace("\0", "")


def _wide(data: bytes) -> str:
    """UTF-16 without a mark: every other byte of text is NUL."""
    head = data[:4000]
    if not head.count(0) > len(head) * 0.3:
        return ""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 4 * even:
        return "utf-16-le"
    return "utf-16-be" if even > 4 * odd else ""


def _has_nuls(data: bytes) -> bool:
    return b"\0" in data and not any(data.startswith(mark) for mark, _ in _BOMS) and not _wide(data)


def _pdf(path: Path, packed: bytes | None, logger: LoggerBase) -> str | None:
    """The text of a PDF; packed: its bytes where it stands in an archive."""
    command = shutil.which("pdftotext")
    if command is None:
        logger.warning(f"{path}: not looked into: pdftotext (of poppler-utils) is not on PATH")
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = path
        if packed is not None:
            file = Path(folder, "packed.pdf")
            file.write_bytes(packed)
        done = subprocess.run(
            [command, "-q", "-enc", "UTF-8", str(file), "-"], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    if done.returncode:
        logger.warning(f"{path}: not looked into: pdftotext cannot read it")
        return None
    return done.stdout.decode("utf-8", "replace")
