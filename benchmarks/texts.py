"""Texts to measure with: the corpora, and annotated versions of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tables import say

from lmm_core.logging import ListLogger
from lmm_core.markdown import (
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    Spelling,
    TextBlock,
    convert,
    find_markdown,
    parse_markdown_text,
    serialize_blocks,
)
from lmm_core.scan.header import scan
from lmm_core.scan.rag import scan_rag

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
CORPORA = SHARED / "corpora"
SAMPLE_BOOK = ROOT / "sample-book"
MB = 1_000_000
ANNOTATED_HEADING = """
---
~questions:
  - What does part {number} explain, and what is it good for?
  - How does part {number} go on from the one before it?
  - Which words of part {number} should a reader remember?
~summary: Part {number} says in some sentences what its paragraphs explain, and shows by an example how it is done.
~~hash: 0123456789abcdef
---

## Part {number}

"""


@dataclass
class Corpus:
    """Some files of one origin."""

    name: str
    texts: list[str]

    @property
    def size(self) -> int:
        """Bytes of all the files."""
        return sum(map(size, self.texts))


def size(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text.encode("utf-8"))


def read_corpus(folder: Path) -> Corpus:
    """All markdown files below a folder."""
    return Corpus(folder.name, [path.read_bytes().decode("utf-8") for path in find_markdown([folder])])


@cache
def corpora() -> list[Corpus]:
    """Return the corpora beside the repository; without them, say so and return a megabyte of the sample book."""
    if CORPORA.is_dir():
        return [read_corpus(folder) for folder in sorted(CORPORA.iterdir()) if folder.is_dir()]
    say(f"{CORPORA} is not there: the texts are the sample book, many times")
    book = read_corpus(SAMPLE_BOOK)
    times = 1 + MB // book.size
    return [Corpus(f"sample-book x {times}", book.texts * times)]


def one_document(texts: list[str], wanted: int) -> str:
    """One text of about `wanted` bytes: the files one after the other, repeated."""
    joined = "\n\n".join(texts) + "\n\n"
    unit = size(joined)
    tail = joined.encode("utf-8")[: wanted % unit].decode("utf-8", "ignore")
    return joined * (wanted // unit) + tail


def dense(texts: list[str], spelling: Spelling, wanted: int = MB, section: int = 950) -> str:
    """The texts as one document in sections of about 1.2 KB, each with a metadata
    block as the RAG pass writes them (a section ends with the paragraph that passes `section`)."""
    paragraphs = [block.source for text in texts for block in parse_markdown_text(text) if type(block) is TextBlock]
    parts: list[str] = []
    length = total = section
    for paragraph in paragraphs:
        if length >= section:
            parts.append(ANNOTATED_HEADING.format(number=len(parts) + 1))
            length = 0
        parts[-1] += paragraph
        length += size(paragraph)
        total += size(paragraph)
        if total >= wanted:
            break
    return serialize_blocks(convert(parse_markdown_text("".join(parts)), spelling))


def annotate(text: str, spelling: Spelling) -> str:
    """A text with the header and the annotations that `lmm-rag` gives it, all of
    its metadata blocks in one spelling."""
    logger = ListLogger()
    blocks = scan(convert(parse_markdown_text(text), spelling), "notes", "notes.md", logger)
    annotated = scan_rag(blocks, spelling=spelling, logger=logger)
    if logger.count():
        raise SystemExit(f"the text could not be annotated: {logger.reports[0]}")
    return serialize_blocks(annotated)


def count_blocks(text: str) -> tuple[int, int, int]:
    """How many blocks a text has: all, metadata (the header aside), headings."""
    blocks = parse_markdown_text(text)
    metadata = sum(isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock) for block in blocks)
    return len(blocks), metadata, sum(isinstance(block, HeadingBlock) for block in blocks)


def metadata_bytes(text: str) -> int:
    """Bytes of a text that are metadata blocks."""
    return sum(size(block.source) for block in parse_markdown_text(text) if isinstance(block, MetadataBlock))
