"""Real documents: nothing of theirs changes but metadata."""

import json

import pytest

from lmm_core.markdown import HeaderBlock, convert, parse_markdown_text, read_markdown, serialize_blocks
from tests.real_files import CORPORA, SAMPLE, markdown_files, spread
from tests.strategies import CountingAnnotator, annotate, knitted, outside_metadata

FEW = spread(SAMPLE, 6)
FILES = [*markdown_files(SAMPLE), *markdown_files(CORPORA)]
REST = [pytest.param(path, marks=pytest.mark.slow) for path in FILES if path not in FEW]


def read(path):
    return path.read_bytes().decode("utf-8")


def as_pages(text):
    """Return the header and the rest of what is knitted, without the blank lines between them:
    whoever writes a header writes one after it."""
    header, rest = "", parse_markdown_text(knitted(text))
    if rest and isinstance(rest[0], HeaderBlock):
        header, *rest = rest[0].source.rstrip("\r\n"), *rest[1:]
    return header, serialize_blocks(rest).lstrip("\r\n")


def converted(text, to):
    return serialize_blocks(convert(parse_markdown_text(text), to))


def test_the_sample_says_whose_it_is():
    folders = {path for path in SAMPLE.iterdir() if path.is_dir()}
    said = (SAMPLE / "LICENSES.md").read_text(encoding="utf-8")
    assert [folder.name for folder in folders if f"| `{folder.name}` |" not in said] == []
    assert {folder.name for folder in folders if not (folder / "LICENSE").is_file()} == {"xquad"}


def test_the_sample_has_the_bytes_that_it_is_there_for():
    """An editor, or a git that changes line ends, would take them away."""
    data = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in markdown_files(SAMPLE)}
    assert b"\r\n" in data["python-lesson/setup-crlf.md"]
    assert b"\n" not in data["python-markdown/CRLF_line_ends.md"].replace(b"\r\n", b"")
    assert not data["python-lesson/reference.md"].endswith(b"\n")
    assert b"\t" in data["python-markdown/tabs-in-lists.md"]
    assert "\ufeff".encode() in data["xquad/ru.md"]


@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*/*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_read_as_markdown(path):
    text = read_markdown(path).text
    assert serialize_blocks(parse_markdown_text(text)) == text
    cells = json.loads(path.read_bytes())["cells"]
    assert all("".join(cell["source"]).strip() in text for cell in cells if cell["cell_type"] == "markdown")


def test_a_file_comes_back_byte_for_byte():
    for path in FILES:
        text = read(path)
        assert serialize_blocks(parse_markdown_text(text)) == text, path


@pytest.mark.parametrize("path", [*FEW, *REST], ids=lambda path: "/".join(path.parts[-3:]))
def test_annotating_and_converting_a_file(path):
    text = read(path)
    for spelling in ("div", "native", "comment"):
        annotator = CountingAnnotator()
        once = annotate(text, annotator, spelling=spelling)
        assert outside_metadata(once) == outside_metadata(text)
        assert as_pages(once) == as_pages(text)
        calls = annotator.calls
        assert annotate(once, annotator, spelling=spelling) == once
        assert annotator.calls == calls
        for other in {"div", "native", "comment"} - {spelling}:
            assert outside_metadata(converted(once, other)) == outside_metadata(text)
            assert converted(converted(once, other), spelling) == once
