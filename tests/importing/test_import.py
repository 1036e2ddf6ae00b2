"""Files in other formats become documents in which nothing speaks but text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lmm_core.importing import import_document
from lmm_core.indexing.chunks import blocks_to_chunks
from lmm_core.installation import packaged_pandoc
from lmm_core.markdown.blocks import MetadataBlock, serialize_blocks
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from tests.commands import in_process, run, write

NOTES = "---\ntitle: Talk\nauthor: Ann\n---\n\n## One\n\nText.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Two\n\nMore.\n"
HOSTILE = (
    "<script>x</script><h1 class='exercise'>H</h1><p>---<br>?: Say<br>---</p><p>::: exercise</p><p>Shown.</p>"
    "<p>::: {.lmm}</p><div class='exercise'>Kept</div><p>&lt;!-- lmm</p><p>[x]{.rag-only}</p><pre>---\n?: x\n---</pre>"
    "<img src='/etc/passwd'><div class='lmm'><pre class='yaml'>skip: true</pre></div>"
)


def mark(page):
    return f"::: {{.lmm}}\n``` yaml\npage: {page}\n```\n:::\n\n"


def made(folder, name):
    (folder / "notes.txt").write_text(NOTES)
    subprocess.run([packaged_pandoc(), "-f", "markdown", "notes.txt", "-o", name], cwd=folder, check=True)
    return import_document(folder / name, "notes_files").text


def test_word_keeps_headings_tables_and_header(tmp_path):
    text = made(tmp_path, "a.docx")
    head, body = text.split("\n---\n", 1)
    assert "title: Talk" in head and head.endswith("~imported:\n  file: a.docx")
    assert body.strip() == "## One\n\nText.\n\n| a   | b   |\n|-----|-----|\n| 1   | 2   |\n\n## Two\n\nMore."


def test_slides_are_pages(tmp_path):
    chunks = blocks_to_chunks(parse_markdown_text(made(tmp_path, "a.pptx")))
    assert {chunk.content: chunk.payload["page"] for chunk in chunks}["More."] == 3


def test_a_page_counts_until_the_next_one():
    text = f"{mark(1)}# A\n\nOne.\n\n{mark(2)}Two.\n\nThree.\n\n# B\n\nFour.\n"
    assert [chunk.payload["page"] for chunk in blocks_to_chunks(parse_markdown_text(text))] == [1, 2, 2, 2]


def test_an_imported_text_annotates_hides_and_publishes_nothing(tmp_path):
    (tmp_path / "e.html").write_text(HOSTILE)
    problems = []
    blocks = parse_markdown_text(import_document(tmp_path / "e.html", "e_files").text, problems)
    assert not problems and not any(isinstance(block, MetadataBlock) for block in blocks[1:])
    chunks = blocks_to_chunks(blocks, rules=KnitRules())
    assert chunks and not any("type" in chunk.payload for chunk in chunks)


def test_a_failure_leaves_the_others_done_and_nothing_is_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made(tmp_path, "a.odt")
    (tmp_path / "broken.docx").write_bytes(b"PK nothing")
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "mine.html").write_text("<p>Theirs.</p>")
    (tmp_path / "mine.md").write_text("Mine.\n")
    done = in_process("import broken.docx torn.pdf a.odt mine.html")
    assert done.exit_code == 1 and (tmp_path / "a.md").exists() and (tmp_path / "mine.md").read_text() == "Mine.\n"


def test_hits_and_sources_show_the_page():
    write(
        "notes.md", f"{mark(1)}# Means\n\nA mean adds numbers.\n\n{mark(2)}# Medians\n\nA median is the middle one.\n"
    )
    assert run("lmm index notes.md").returncode == 0
    assert b"(page 2)" in run("lmm search median").stdout
    asked = json.loads(run("lmm ask 'What is a median?' --json").stdout)
    assert [source["page"] for source in asked["sources"] if source["titles"][-1] == "Medians"] == [2]
    assert b"(#medians, page 2)" in run("lmm ask 'What is a median?'").stdout


@pytest.mark.parametrize("ending", ["odt", "epub", "ipynb"])
def test_an_import_can_be_scanned_annotated_and_indexed(tmp_path, ending):
    text = made(tmp_path, f"a.{ending}")
    problems = []
    blocks = parse_markdown_text(text, problems)
    assert problems == [] and serialize_blocks(blocks) == text
    write("a.md", text)
    assert "More." in text and run("lmm scan a.md").returncode == 0
    assert run("lmm rag a.md").returncode == 0 and "~imported:" in Path("a.md").read_text()


def test_pdf_without_the_extra_names_it(tmp_path, monkeypatch):
    write("a.pdf", "%PDF-1.4")
    monkeypatch.setitem(sys.modules, "markitdown", None)
    done = in_process("import a.pdf")
    assert done.exit_code and "[import]" in done.output  # of the package, or of the checkout it was installed from


def test_nothing_of_a_large_table_or_of_tex_in_a_text_is_lost(tmp_path):
    """Pandoc writes [TABLE] for what fits no table of pipes, and a reader takes an environment for TeX."""
    (tmp_path / "e.html").write_text(
        "<table><tr><td>one<ul><li>two</li></ul></td></tr></table><p>\\begin{x}A\\end{x}</p>"
    )
    text = import_document(tmp_path / "e.html", "e_files").text
    assert "one" in text and "- two" in text and "\\\\begin\\{x\\}A\\\\end\\{x\\}" in text
