"""Real documents: nothing of theirs changes but metadata. (Not part of the product.)"""

from pathlib import Path

import pytest

from lmm_core.markdown import convert, parse_markdown_text, serialize_blocks
from lmm_core.models.annotators.extractive import ExtractiveAnnotator
from tests.strategies import annotate, knitted, outside_metadata

FOLDER = Path(__file__).parents[2].parent / "shared" / "corpora"
if not FOLDER.is_dir():
    pytest.skip("no corpora beside the repository", allow_module_level=True)

FILES = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".md", ".Rmd", ".qmd"))
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())


class Counting(ExtractiveAnnotator):
    """The extractive annotator, counting its calls."""

    calls = 0

    async def annotate(self, section, wanted, instead=""):
        self.calls += 1
        return await super().annotate(section, wanted, instead)


def read(path):
    return path.read_bytes().decode("utf-8")


def converted(text, to):
    return serialize_blocks(convert(parse_markdown_text(text), to))


def test_there_are_files():
    assert len(FILES) > 100


@every_file
def test_a_file_comes_back_byte_for_byte(path):
    text = read(path)
    assert serialize_blocks(parse_markdown_text(text)) == text


@every_file
@pytest.mark.parametrize("spelling", ["div", "native"])
def test_annotating_and_converting_a_file(path, spelling):
    text, annotator = read(path), Counting()
    once = annotate(text, annotator, spelling=spelling)
    assert outside_metadata(once) == outside_metadata(text)
    assert knitted(once).lstrip("\n") == knitted(text).lstrip("\n")
    calls = annotator.calls
    assert annotate(once, annotator, spelling=spelling) == once
    assert annotator.calls == calls
    other = "native" if spelling == "div" else "div"
    assert outside_metadata(converted(once, other)) == outside_metadata(text)
    assert converted(converted(once, other), spelling) == once
