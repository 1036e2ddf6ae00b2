"""PDF files become documents with paragraphs and page numbers."""

import pytest

from lmm_core.errors import MarkdownError
from lmm_core.importing import import_document


def write_pdf(path, pages):
    """Write a PDF. pages: the lines of each, as (size of the letters, distance from the bottom, text)."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>",
        "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>",
    ]
    for n, lines in enumerate(pages):
        text = "\n".join("BT /F {} Tf 72 {} Td ({}) Tj ET".format(*line) for line in lines)
        page = f"/MediaBox[0 0 600 800]/Resources 3 0 R/Contents {5 + 2 * n} 0 R"
        objects += [f"<</Type/Page/Parent 2 0 R{page}>>", f"<</Length {len(text)}>>stream\n{text}\nendstream"]
    data, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    data += f"xref\n0 {count}\n0000000000 65535 f \n{table}"
    path.write_text(f"{data}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{data.index('xref')}\n%%EOF")


def mark(page):
    return f"::: {{.lmm .content-hidden}}\n``` yaml\npage: {page}\n```\n:::\n\n"


def test_paragraphs_and_pages(tmp_path):
    pages = [
        [(20, 700, "Means"), (10, 660, "A mean is a sum of num-"), (10, 648, "bers by their count."),
         (10, 620, "It runs over"), (10, 30, "Course, page 1")],
        [(10, 700, "the page."), (20, 660, "Spread"), (10, 620, "--- is text."), (10, 30, "Course, page 2")],
        [],
    ]  # fmt: skip
    write_pdf(tmp_path / "a.pdf", pages)
    made = import_document(tmp_path / "a.pdf", "a_files")
    body = made.text.split("\n---\n", 1)[1]
    first = f"\n{mark(1)}Means\n\nA mean is a sum of num- bers by their count.\n\nIt runs over\n\nCourse, page 1\n\n"
    assert body == f"{first}{mark(2)}the page.\n\nSpread\n\n\\-\\-\\- is text.\n\nCourse, page 2\n"
    assert made.remarks[1:] == ("no text on page 3",) and "not recognized" in made.remarks[0]


def test_pages_without_text_are_not_made_up(tmp_path):
    write_pdf(tmp_path / "a.pdf", [[]])
    with pytest.raises(MarkdownError, match="no page has any text"):
        import_document(tmp_path / "a.pdf", "a_files")
