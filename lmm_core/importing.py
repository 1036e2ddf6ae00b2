"""Convert other formats (Word, slides, web pages, notebooks, PDF) to documents.

Markitdown reads PDF, pandoc the rest. Contents are data: nothing in them can annotate, hide or publish a part. May
import files and markdown.
"""

from __future__ import annotations

import io
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from .errors import MarkdownError
from .installation import packaged_pandoc
from .markdown.metadata.body import dump_entry

FORMATS = {
    ".docx": "docx", ".odt": "odt", ".pptx": "pptx", ".rtf": "rtf", ".epub": "epub", ".html": "html", ".htm": "html",
    ".xhtml": "html", ".ipynb": "ipynb", ".tex": "latex", ".latex": "latex", ".rst": "rst", ".org": "org",
    ".typ": "typst", ".fb2": "fb2",
}  # fmt: skip
ENDINGS = (*FORMATS, ".pdf")
MOST_BYTES = 200 * 2**20
_SECONDS = 300
_FROM_PDF = "commonmark+pipe_tables-raw_html"  # markitdown's output
# Text only: no raw HTML or LaTeX, no attributes. A table too complex for pipes becomes a grid table.
_MARKDOWN = (
    "markdown-raw_html-raw_tex-raw_attribute-header_attributes-link_attributes-inline_code_attributes"
    "-fenced_code_attributes-simple_tables-multiline_tables-smart+pipe_tables"
)
# Keeps only text, lists, tables, code, formulas and pictures, and escapes possible blocks, divs, comments, questions
# and TeX. Slides, and paragraphs of @MARK@ and a number, begin a page.
_FILTER = r"""
local function page(number)
  return pandoc.RawBlock('markdown', '::: {.lmm .content-hidden}\n``` yaml\npage: ' .. number .. '\n```\n:::')
end
local signs = {'\\%a', ':::', '{[.#]', '<!%-%-', '^%-%-', '^==', '^%.%.%.', '^[?+=]:', '^%%'}
local kept = {title = true, subtitle = true, author = true, date = true, lang = true}
local function content(element) return element.content end
local function nothing() return {} end
return {{
  Str = function(str)
    for _, sign in ipairs(signs) do
      if str.text:find(sign) then return pandoc.RawInline('markdown', (str.text:gsub('%p', '\\%0'))) end
    end
  end,
  Para = function(para)
    local number = #para.content == 1 and para.content[1].text and para.content[1].text:match('^@MARK@(%d+)$')
    if number then return page(number) end
  end,
  Header = function(header)
    local number = header.identifier:match('^slide%-(%d+)$')
    header.attr = pandoc.Attr()
    local blocks = #header.content > 0 and {header} or {}
    if number then table.insert(blocks, 1, page(number)) end
    return blocks
  end,
  Table = function(tab)
    tab.attr = pandoc.Attr()
    tab.colspecs = tab.colspecs:map(function(column) return {column[1], nil} end)
    return tab
  end,
  Image = function(image) image.attr, image.title = pandoc.Attr(), '' return image end,
  Meta = function(meta)
    for key in pairs(meta) do if not kept[key] then meta[key] = nil end end
    return meta
  end,
  Div = content, Figure = content, Span = content, RawBlock = nothing, RawInline = nothing,
}}
"""


@dataclass(frozen=True)
class ImportedDocument:
    """An imported document: text, pictures by name in its folder, and remarks."""

    text: str
    pictures: dict[str, bytes]
    remarks: tuple[str, ...] = ()


def import_document(path: Path, folder: str) -> ImportedDocument:
    """Convert a file to a document marked as imported. folder: name, for its pictures.

    Raise MarkdownError if it is unreadable, OSError, and ModuleNotFoundError without the extra for PDF."""
    if path.suffix.lower() not in ENDINGS:
        raise MarkdownError(f"lmm import reads {', '.join(ENDINGS)}")
    if path.stat().st_size > MOST_BYTES:
        raise MarkdownError(f"larger than {MOST_BYTES >> 20} MiB, the limit of lmm import")
    mark = f"page{secrets.token_hex(8)}x"
    remarks: tuple[str, ...] = ()
    if path.suffix.lower() == ".pdf":
        pages = list(_pdf_pages(path.read_bytes()))
        remarks = _pdf_remarks(pages)
        text = "\n\n".join(f"{mark}{number}\n\n{page}" for number, page in enumerate(pages, 1) if page)
        source = ["-f", _FROM_PDF]
    else:
        text, source = "", ["-f", _reader(path), str(path.resolve())]
    with tempfile.TemporaryDirectory() as workplace:
        Path(workplace, "clean.lua").write_text(_FILTER.replace("@MARK@", mark), encoding="utf-8")
        options = ["-s", "-t", _MARKDOWN, "--wrap=none", "--markdown-headings=atx", "--eol=lf", "-L", "clean.lua"]
        text = _pandoc(["--sandbox", *options, f"--extract-media={folder}", *source], text, workplace)
        files = [file for file in Path(workplace, folder).rglob("*") if file.is_file() and not file.is_symlink()]
        pictures = {file.relative_to(Path(workplace, folder)).as_posix(): file.read_bytes() for file in files}
    entry = dump_entry("~imported", {"file": path.name})
    return ImportedDocument(_with_header(text, entry), pictures, remarks)


def _with_header(text: str, entry: str) -> str:
    if text.startswith("---\n"):
        head, _, rest = text[4:].partition("\n---\n")
        return f"---\n{head}\n{entry}---\n{rest}"
    return f"---\n{entry}---\n\n{text}"


# PDF


def _pdf_pages(data: bytes) -> Iterator[str]:
    """Yield the text of each page. Raise MarkdownError if unreadable."""
    import pypdfium2
    from markitdown import MarkItDown, MarkItDownException, StreamInfo

    converter = MarkItDown(enable_plugins=False)
    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            for number in range(len(document)):
                file = io.BytesIO()
                with closing(pypdfium2.PdfDocument.new()) as page:
                    page.import_pages(document, [number])
                    page.save(file)
                file.seek(0)
                yield converter.convert_stream(file, stream_info=StreamInfo(extension=".pdf")).markdown.strip()
    except (pypdfium2.PdfiumError, MarkItDownException) as error:
        raise MarkdownError(f"cannot be read: the PDF is broken or locked with a password ({error})") from error


def _pdf_remarks(pages: list[str]) -> tuple[str, ...]:
    """Return remarks on the pages of a PDF. Raise MarkdownError if none has a text."""
    if not any(pages):
        raise MarkdownError("no page has any text: they are pictures of text, which lmm import cannot read")
    remark = "headings and pictures of a PDF are not recognized: mark the headings by hand"
    empty = ", ".join(str(number) for number, page in enumerate(pages, 1) if not page)
    return (remark, f"no text on page {empty}") if empty else (remark,)


# Pandoc


def _reader(path: Path) -> str:
    name = FORMATS[path.suffix.lower()]
    if name == "pptx" and name not in _pandoc(["--list-input-formats"]).split():
        raise MarkdownError("this pandoc cannot read slides: run pip install -U pypandoc_binary")
    return name


def _pandoc(options: list[str], text: str = "", folder: str | None = None) -> str:
    """Return pandoc's output. Raise MarkdownError."""
    program = packaged_pandoc() or shutil.which("pandoc")
    if program is None:
        raise MarkdownError("this format needs pandoc, and there is none: run pip install pypandoc_binary")
    try:
        process = subprocess.run(
            [str(program), *options],
            input=text.encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        raise MarkdownError(f"pandoc took more than {_SECONDS} seconds, and was stopped") from None
    if process.returncode:
        problem = " ".join(process.stderr.decode("utf-8", "replace").split())
        raise MarkdownError(f"pandoc cannot read it: {problem[:300]}")
    return process.stdout.decode("utf-8", "replace")
