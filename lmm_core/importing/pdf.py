"""Reads PDF files into Pandoc's syntax tree, with headings, paragraphs, tables and page numbers.

A PDF holds letters at places, no paragraphs: headings are told by their size, paragraphs by the
space between lines. What repeats at the same edge of most pages is a running head and left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import MarkdownError
from .clean import PAGE, Element

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\Z")
_BULLET = re.compile(r"[•◦▪‣–]\s*")
_EDGE = 0.1  # of the page, where running heads and feet stand
_LEVELS = 4
_FEW = 8  # spaces between lines, which do not show what is usual


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text at its place on a page, in points from the top left."""

    text: str
    size: float
    left: float
    right: float
    top: float
    bottom: float
    rows: tuple[tuple[str, ...], ...] = ()  # of a table, which stands for its lines


def read_pdf(path: Path, _media: Path) -> tuple[Element, tuple[str, ...], str]:
    """Return a PDF as a syntax tree, remarks on what could not be read, and the program that read it.

    Raise MarkdownError if it cannot be read, and ModuleNotFoundError if the extra is missing."""
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfminer.pdfexceptions import PDFException
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(path) as file:
            pages = [_lines(page) for page in file.pages]
            height = [float(page.height) for page in file.pages]
            title = file.metadata.get("Title")
    except (PDFException, PdfminerException, ValueError, TypeError, KeyError, RecursionError) as error:
        locked = isinstance(error, PDFPasswordIncorrect) or any(isinstance(e, PDFPasswordIncorrect) for e in error.args)
        why = "it is locked with a password" if locked else "the PDF is broken"
        raise MarkdownError(f"cannot be read: {why}") from error
    empty = [str(number) for number, lines in enumerate(pages, 1) if not lines]
    if len(empty) == len(pages):
        raise MarkdownError("there is no text on any page: these are pictures of text, which lmm import cannot read")
    remark = f"no text on page {', '.join(empty)}: nothing is imported from there" if empty else ""
    blocks = list(_blocks(_without_running_heads(pages, height)))
    meta = {"title": {"t": "MetaInlines", "c": _words(title)}} if isinstance(title, str) and title.strip() else {}
    ast = {"pandoc-api-version": [1, 23, 1], "meta": meta, "blocks": blocks}
    return ast, (remark,) if remark else (), f"pdfplumber {pdfplumber.__version__}"


def _lines(page: Any) -> list[Line]:
    """Return the lines of a page in reading order: the left column before the right one."""
    tables = [table for table in page.find_tables() if len(table.rows) > 1 and len(table.columns) > 1]
    boxes = [table.bbox for table in tables]
    words = page.extract_words(extra_attrs=["size"], keep_blank_chars=False)
    words = [word for word in words if not any(_is_in(word, box) for box in boxes)]
    gutter = _gutter(words, float(page.width))
    parts = _parts(words, gutter)
    made = [line for part in parts for line in _rows(part)]
    for table in tables:
        rows = tuple(tuple(" ".join((cell or "").split()) for cell in row) for row in table.extract())
        left, top, right, bottom = table.bbox
        one = Line("", 0, left, right, top, bottom, rows)
        at = next((at for at, line in enumerate(made) if line.top > top and line.right > left), len(made))
        made.insert(at, one)
    return made


def _is_in(word: Any, box: tuple[float, float, float, float]) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= x <= box[2] and box[1] <= y <= box[3])


def _gutter(words: Sequence[Any], width: float) -> float:
    """Return where the middle of a page is free of words, or 0 if it has one column."""
    for x in (width * (0.5 + step / 100) for step in (0, -1, 1, -2, 2, -3, 3)):
        crossing = [word for word in words if word["x0"] - 3 < x < word["x1"] + 3]
        right = [word for word in words if word["x0"] > x]
        if len(words) > 60 and len(crossing) < len(words) / 50 and len(words) * 0.2 < len(right) < len(words) * 0.8:
            return x
    return 0


def _parts(words: Sequence[Any], gutter: float) -> list[list[Any]]:
    """Return the words of a page by columns; what crosses both columns divides them."""
    if not gutter:
        return [list(words)]
    wide = sorted({round(word["top"]) for word in words if word["x0"] - 3 < gutter < word["x1"] + 3})
    parts: list[list[Any]] = []
    above = -1.0
    for top in [*wide, 1e9]:
        between = [word for word in words if above + 2 < word["top"] < top - 2]
        parts += [[word for word in between if (word["x0"] > gutter) is right] for right in (False, True)]
        parts.append([word for word in words if abs(word["top"] - top) <= 2])
        above = top
    return [part for part in parts if part]


def _rows(words: Sequence[Any]) -> Iterator[Line]:
    row: list[Any] = []
    for word in sorted(words, key=lambda word: (word["bottom"], word["x0"])):
        if row and word["bottom"] - row[-1]["bottom"] > word["size"] * 0.4:
            yield _line(row)
            row = []
        row.append(word)
    if row:
        yield _line(row)


def _line(row: list[Any]) -> Line:
    row = sorted(row, key=lambda word: word["x0"])
    size = Counter[float]()
    for word in row:
        size[round(float(word["size"]), 1)] += len(word["text"])
    text, top = " ".join(word["text"] for word in row), min(float(word["top"]) for word in row)
    left, right, bottom = float(row[0]["x0"]), float(row[-1]["x1"]), max(float(word["bottom"]) for word in row)
    return Line(text, size.most_common(1)[0][0], left, right, top, bottom)


def _without_running_heads(pages: list[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """Return the pages without the lines at their edges that repeat, but for their numbers."""

    def at_edge(line: Line, height: float) -> bool:
        return not line.rows and (line.bottom < height * _EDGE or line.top > height * (1 - _EDGE))

    def shape(line: Line) -> str:
        return re.sub(r"\d+", "#", line.text)

    counts = Counter(
        one for page, height in zip(pages, heights, strict=True)
        for one in {shape(line) for line in page if at_edge(line, height)}
    )  # fmt: skip
    return [
        [line for line in page if not (at_edge(line, height) and counts[shape(line)] > max(1, len(pages) * 0.3))]
        for page, height in zip(pages, heights, strict=True)
    ]


def _blocks(pages: list[list[Line]]) -> Iterator[Element]:
    sizes = Counter[float]()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0
    levels = sorted((size for size in sizes if size > body * 1.12), reverse=True)[:_LEVELS]
    waiting: Line | None = None  # a paragraph that may go on on the next page
    for number, page in enumerate(pages, 1):
        parts = list(_paragraphs(page, levels))
        if waiting and parts and _goes_on(waiting, parts[0]):
            waiting = replace(waiting, text=_join(waiting.text, parts.pop(0).text))
        if waiting and parts:
            yield _block(waiting, levels)
            waiting = None
        if parts:
            yield {"t": PAGE, "c": number}
            yield from (_block(part, levels) for part in parts[:-1])
            waiting = parts[-1]
    if waiting:
        yield _block(waiting, levels)


def _goes_on(line: Line, following: Line) -> bool:
    plain = not line.rows and not following.rows and line.size == following.size
    return plain and line.text[-1:] not in ".!?:;" and not _BULLET.match(following.text)


def _paragraphs(lines: Sequence[Line], levels: Sequence[float]) -> Iterator[Line]:
    gaps = sorted(after.top - line.bottom for line, after in pairwise(lines) if after.top > line.bottom)
    usual = gaps[len(gaps) // 4] if gaps else 0.0  # between lines; larger ones part paragraphs
    if len(gaps) < _FEW:
        usual = min(usual, 0.6 * lines[0].size) if lines else usual
    whole: Line | None = None
    last = lines[0] if lines else None
    for line in lines:
        if whole and last and not _begins(last, line, usual, levels):
            whole = replace(whole, text=_join(whole.text, line.text))
        else:
            if whole:
                yield whole
            whole = line
        last = line
    if whole:
        yield whole


def _begins(last: Line, line: Line, usual: float, levels: Sequence[float]) -> bool:
    """Return True if a line begins a paragraph, a heading or an item."""
    if last.rows or line.rows or abs(last.size - line.size) > 0.6 or _BULLET.match(line.text):
        return True
    if line.top < last.top:  # the next column
        return last.text[-1:] in ".!?:" or line.size in levels
    return line.top - last.bottom > max(usual * 1.4, usual + line.size * 0.3)


def _join(text: str, more: str) -> str:
    """Return two lines as one text; a word that is parted at the end of the line is mended."""
    if _HYPHEN.search(text) and more[:1].islower():
        return text[:-1] + more
    return f"{text} {more}"


def _block(line: Line, levels: Sequence[float]) -> Element:
    if line.rows:
        return _table(line.rows)
    if line.size in levels and len(line.text) < 200:
        return {"t": "Header", "c": [levels.index(line.size) + 1, ["", [], []], _words(line.text)]}
    if found := _BULLET.match(line.text):
        return {"t": "BulletList", "c": [[{"t": "Plain", "c": _words(line.text[found.end() :])}]]}
    return {"t": "Para", "c": _words(line.text)}


def _words(text: str) -> list[Element]:
    made: list[Element] = []
    for word in text.split():
        made += [{"t": "Space"}] if made else []
        made.append({"t": "Str", "c": word})
    return made


def _table(rows: Sequence[Sequence[str]]) -> Element:
    empty = ["", [], []]

    def row(cells: Sequence[str]) -> list[Any]:
        shown = [[{"t": "Plain", "c": _words(cell)}] if cell else [] for cell in cells]
        return [empty, [[empty, {"t": "AlignDefault"}, 1, 1, blocks] for blocks in shown]]

    columns = [[{"t": "AlignDefault"}, {"t": "ColWidthDefault"}] for _ in rows[0]]
    head, body = [empty, [row(rows[0])]], [[empty, 0, [], [row(one) for one in rows[1:]]]]
    return {"t": "Table", "c": [empty, [None, []], columns, head, body, [empty, []]]}
