"""The files that the text comes from."""

from tests.commands import text, write
from tests.filter_texts import NATIVE, NOTES, PROSE, ok


def test_several_input_files(pandoc):
    write("one.md", f"---\ntitle: One\n---\n\n# A\n\n{PROSE}".rstrip("\n"))
    write("two.md", f"---\nauthor: B\n---\n\n# B\n\n{PROSE}\n::: lmm\n```yaml\na: [\n```\n:::\n\ntext\n")
    assert b"two.md:12: " in ok("pandoc -F lmm-rag one.md two.md -o all.md", pandoc).stderr
    assert text("all.md").count("~questions") == 2
    assert "---\nauthor: B\n" in text("all.md")
    assert text("all.md").count(PROSE) == 2
    assert text("two.md").startswith("---\nauthor: B\n---\n\n# B\n")


def test_source_named_for_standard_input(pandoc):
    write("notes.md", NATIVE)
    done = ok("pandoc -F lmm-knit -M lmm-source=notes.md -t html", pandoc, stdin=NATIVE)
    assert b"SECRET" not in done.stdout


def test_docid_from_the_projects_root(pandoc):
    write("_quarto.yml", "")
    write("part/notes.md", NOTES)
    ok("pandoc -F lmm-rag part/notes.md -o part/notes.md", pandoc)
    assert "~docid: part/notes.md" in text("part/notes.md")


def test_a_foreign_filter_that_changes_nothing_leaves_the_source(pandoc):
    write("notes.md", NATIVE)
    write("foreign.lua", "function Str(el) return el end\n")
    done = ok("pandoc -L foreign.lua -F lmm-rag notes.md -o out.md", pandoc)
    assert b"warning" not in done.stderr and done.stderr.count(b"\n") == 1  # who annotated
    assert text("out.md").count("type: exercise") == 1


def test_reader_without_metadata_blocks(pandoc):
    """The way for keys that pandoc's YAML refuses: it then leaves the blocks alone."""
    write("notes.md", f"---\ntitle: T\n---\n\n---\n?: Is #3 right: yes or no?\n---\n\n# A\n\n{PROSE}")
    ok("pandoc -f markdown-yaml_metadata_block -F lmm-rag notes.md -o out.md", pandoc)
    assert "?: Is #3 right: yes or no?\n~questions:" in text("out.md")
    done = ok("pandoc -f markdown-yaml_metadata_block -F lmm-knit -s notes.md -t html", pandoc)
    assert b"yes or no" not in done.stdout
    assert b"<title>T</title>" in done.stdout


def test_other_markdown_readers(pandoc):
    write("notes.md", f"{NATIVE}\n::: exercise\nSECRET\n:::\n")
    ok("pandoc -f gfm -F lmm-rag notes.md -t markdown -o out.md", pandoc)
    assert text("out.md").count("~questions") == 1
    done = ok("pandoc -f gfm -F lmm-knit notes.md -t html", pandoc)
    assert b"residual" in done.stdout
    assert b"SECRET" not in done.stdout
