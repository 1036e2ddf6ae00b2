"""Reads PDF files into Pandoc's syntax tree, with headings, paragraphs, tables and page numbers.

A PDF holds letters at places, no paragraphs: headings are told by their size, code by its letters
of one width, paragraphs by the space between lines. What repeats at the same edge of most pages is a
running head and left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import MarkdownError
from .clean import PAGE, Element

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\Z")
_BULLET = re.compile(r"[•◦▪‣–]\s*")
_EDGE = 0.1  # of the page, where running heads and feet stand
_MONO = re.compile("mono|courier|consol|menlo|inconsolata|typewriter|cmtt", re.I)  # in the names of fonts
_SMALLEST = 32  # points, of a picture; smaller ones are ornaments
_BLANK = 0.15  # of the letters' size: a space from which on letters belong to two words
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
    picture: str = ""  # the file of a picture, which stands for a line
    is_code: bool = False

    @property
    def is_text(self) -> bool:
        """Return True if it is neither a table nor a picture."""
        return not self.rows and not self.picture


def read_pdf(path: Path, media: Path) -> tuple[Element, tuple[str, ...], str]:
    """Return a PDF as a syntax tree, remarks on what could not be read, and the program that read it.

    Its pictures are put into the folder `media`. Raise MarkdownError if it cannot be read, and
    ModuleNotFoundError if the extra is missing."""
    import pdfplumber
    from pdfminer.pdfdocument import PDFPasswordIncorrect
    from pdfminer.pdfexceptions import PDFException
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(path) as file:
            pages = [_lines(page, media) for page in file.pages]
            height = [float(page.height) for page in file.pages]
            title = file.metadata.get("Title")
    except (PDFException, PdfminerException, ValueError, TypeError, KeyError, RecursionError) as error:
        locked = isinstance(error, PDFPasswordIncorrect) or any(isinstance(e, PDFPasswordIncorrect) for e in error.args)
        why = "it is locked with a password" if locked else "the PDF is broken"
        raise MarkdownError(f"cannot be read: {why}") from error
    empty = [str(number) for number, lines in enumerate(pages, 1) if all(line.picture for line in lines)]
    if len(empty) == len(pages):
        raise MarkdownError("there is no text on any page: these are pictures of text, which lmm import cannot read")
    remark = f"no text on page {', '.join(empty)}: at most a picture is imported from there" if empty else ""
    blocks = _with_whole_lists(_blocks(_without_running_heads(pages, height)))
    meta = {"title": {"t": "MetaInlines", "c": _words(title)}} if isinstance(title, str) and title.strip() else {}
    ast = {"pandoc-api-version": [1, 23, 1], "meta": meta, "blocks": blocks}
    return ast, (remark,) if remark else (), f"pdfplumber {pdfplumber.__version__}"


def _lines(page: Any, media: Path) -> list[Line]:
    """Return the lines of a page in reading order: the left column before the right one."""
    tables = [table for table in page.find_tables() if len(table.rows) > 1 and len(table.columns) > 1]
    boxes = [table.bbox for table in tables]
    words = page.extract_words(extra_attrs=["size", "fontname"], x_tolerance_ratio=_BLANK)
    words = [word for word in words if not any(_is_in(word, box) for box in boxes)]
    gutter = _gutter(words, float(page.width))
    parts = _parts(words, gutter)
    made = [line for part in parts for line in _rows(part)]
    for one in [*map(_table_of, tables), *_pictures(page, media)]:
        at = next((at for at, line in enumerate(made) if line.top > one.top and line.right > one.left), len(made))
        made.insert(at, one)
    return made


def _table_of(table: Any) -> Line:
    rows = [[" ".join((cell or "").split()) for cell in row] for row in table.extract()]
    filled = [at for at in range(len(rows[0])) if any(row[at] for row in rows)]
    left, top, right, bottom = table.bbox
    return Line("", 0, left, right, top, bottom, tuple(tuple(row[at] for at in filled) for row in rows))


def _pictures(page: Any, media: Path) -> Iterator[Line]:
    """Yield the pictures of a page, drawn as they are seen there, 150 dots to the inch."""
    for number, image in enumerate(page.images, 1):
        left, top = max(image["x0"], page.bbox[0]), max(image["top"], page.bbox[1])
        right, bottom = min(image["x1"], page.bbox[2]), min(image["bottom"], page.bbox[3])
        if min(right - left, bottom - top) >= _SMALLEST:
            file = media / f"page-{page.page_number}-{number}.png"
            page.crop((left, top, right, bottom)).to_image(resolution=150).original.save(file)
            yield Line("", 0, left, right, top, bottom, picture=str(file))


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
    is_code = all(_MONO.search(word["fontname"]) for word in row)
    return Line(text, size.most_common(1)[0][0], left, right, top, bottom, is_code=is_code)


def _without_running_heads(pages: list[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """Return the pages without the lines at their edges that repeat, but for their numbers, or are one alone."""

    def at_edge(line: Line, height: float) -> bool:
        return line.is_text and (line.bottom < height * _EDGE or line.top > height * (1 - _EDGE))

    def shape(line: Line) -> str:
        return re.sub(r"\d+", "#", line.text)

    counts = Counter(
        one for page, height in zip(pages, heights, strict=True)
        for one in {shape(line) for line in page if at_edge(line, height)}
    )  # fmt: skip
    often = max(1, len(pages) * 0.3)
    return [
        [
            line
            for line in page
            if not (at_edge(line, height) and counts[shape(line)] > often)
            and not (line.text.isdigit() and line in (page[0], page[-1]) and len(page) > 1)
        ]
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


def _with_whole_lists(blocks: Iterable[Element]) -> list[Element]:
    """Return the blocks with items that follow one another as one list."""
    made: list[Element] = []
    for block in blocks:
        if made and made[-1]["t"] == block["t"] == "BulletList":
            made[-1]["c"] += block["c"]
        else:
            made.append(block)
    return made


def _goes_on(line: Line, following: Line) -> bool:
    plain = line.is_text and following.is_text and line.size == following.size and not line.is_code
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
            whole = replace(whole, text=_join(whole.text, _indented(line, whole), whole.is_code))
        else:
            if whole:
                yield whole
            whole = line
        last = line
    if whole:
        yield whole


def _indented(line: Line, first: Line) -> str:
    """Return the text of a line; in code, with the blanks by which it stands to the right of the first."""
    return " " * max(0, round((line.left - first.left) / (line.size * 0.6))) + line.text if line.is_code else line.text


def _begins(last: Line, line: Line, usual: float, levels: Sequence[float]) -> bool:
    """Return True if a line begins a paragraph, a heading or an item."""
    if not last.is_text or not line.is_text or last.is_code is not line.is_code:
        return True
    if last.is_code:
        return line.top < last.top or line.top - last.bottom > 3 * line.size
    if abs(last.size - line.size) > 0.6 or _BULLET.match(line.text):
        return True
    if line.top < last.top:  # the next column
        return last.text[-1:] in ".!?:" or line.size in levels
    return line.top - last.bottom > max(usual * 1.4, usual + line.size * 0.3)


def _join(text: str, more: str, is_code: bool = False) -> str:
    """Return two lines as one text; a word that is parted at the end of the line is mended."""
    if is_code:
        return f"{text}\n{more}"
    if _HYPHEN.search(text) and more[:1].islower():
        return text[:-1] + more
    return f"{text} {more}"


def _block(line: Line, levels: Sequence[float]) -> Element:
    if line.rows:
        return _table(line.rows)
    if line.picture:
        return {"t": "Para", "c": [{"t": "Image", "c": [["", [], []], [], [line.picture, ""]]}]}
    if line.is_code:
        return {"t": "CodeBlock", "c": [["", [], []], line.text]}
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
