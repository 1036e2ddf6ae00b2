"""Makes a document of a file in another format."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import MarkdownError
from ..markdown.metadata.body import dump_entry
from .clean import clean
from .pandoc import FORMATS, read_ast, version, write_ast

ENDINGS = (*FORMATS, ".pdf")
MOST_BYTES = 200 * 2**20
_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class ImportedDocument:
    """A document made of another file: its text, its pictures by their names in the folder that
    the text names, and what has to be said about it."""

    text: str
    pictures: dict[str, bytes]
    remarks: tuple[str, ...] = ()


def import_document(path: Path, folder: str) -> ImportedDocument:
    """Return a file as a document, marked as imported in its header.

    folder: the name of the folder in which its pictures will lie. Raise MarkdownError if it cannot
    be read, and OSError."""
    if path.suffix.lower() not in ENDINGS:
        raise MarkdownError(f"lmm import reads {', '.join(ENDINGS)}")
    if path.stat().st_size > MOST_BYTES:
        raise MarkdownError(f"larger than {MOST_BYTES >> 20} MiB, which is the most that is read")
    data = path.read_bytes()
    with tempfile.TemporaryDirectory() as made:
        pictures: dict[str, bytes] = {}

        def picture(address: str) -> str:
            file = Path(address)
            if not file.is_relative_to(made) or not file.is_file() or file.is_symlink():
                return address
            name = _NAME.sub("-", "-".join(file.relative_to(made).parts[-2:])).removeprefix("media-")
            data = file.read_bytes()
            while pictures.get(name, data) != data:
                name = f"x{name}"
            pictures[name] = data
            return f"{folder}/{name}"

        if path.suffix.lower() == ".pdf":
            from .pdf import read_pdf

            ast, remarks, program = read_pdf(path, Path(made))
        else:
            ast, remarks, program = read_ast(path, Path(made)), (), f"pandoc {version()}"
        text = write_ast(clean(ast, picture))
    origin = {"file": path.name, "sha256": hashlib.sha256(data).hexdigest(), "by": program}
    return ImportedDocument(_with_header(text, dump_entry("~imported", origin)), pictures, remarks)


def _with_header(text: str, entry: str) -> str:
    """Return a document with an entry at the end of its header, which is made if there is none."""
    if text.startswith("---\n"):
        head, _, rest = text[4:].partition("\n---\n")
        return f"---\n{head}\n{entry}---\n{rest}"
    return f"---\n{entry}---\n\n{text}"
