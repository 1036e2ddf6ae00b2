"""`pandoc -F lmm-rag notes.md -o notes.md` changes metadata and nothing else."""

import re

import pytest

from lmm_core.markdown import MetadataBlock, parse_markdown_text, serialize_blocks
from tests.commands import run, text, write
from tests.filter_texts import FOREIGN, NOTES, PROSE, ok
from tests.real_files import spread

ODD = {
    "several final newlines": f"# A\n\n{PROSE}\n\n\n",
    "CRLF": f"# A\r\n\r\n{PROSE[:-1]}\r\nwrapped  \r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n",
    "BOM": f"\ufeff# A\n\n{PROSE}",
    "tabs and trailing blanks": f"# A  \n\n{PROSE}\n-\titem\n\n\tcode\twith\ttabs\n\nhard break   \n   \n\nend\n",
    "NUL, form feed, other line ends": f"\n\n# A\n\n{PROSE}\nnul \0 ff \x0c nel \x85 ls \u2028 lone \r cr\n",
    "list markers and wrapping": f"# A\n\n{PROSE}\n*  one\n*  two\n\n 1) x\n 2) y\n\n_em_ __strong__ \\* &amp; <b>x</b>\n",
    "math, raw and html": f"# A\n\n{PROSE}\n$$\na\n$$ {{#eq-x}}\n\n\\begin{{x}}\n\n# y\n\\end{{x}}\n\n<div>\n\n# Z\n\n</div>\n",
}


def without_metadata(markdown):
    blocks = [b for b in parse_markdown_text(markdown) if not isinstance(b, MetadataBlock)]
    return serialize_blocks(blocks).lstrip("\n\r\ufeff")


@pytest.mark.parametrize("name", ODD)
def test_nothing_but_metadata_changes(name, pandoc):
    source = ODD[name]
    write("notes.md", source)
    done = run("pandoc -F lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode == 0, done.stderr
    first = text("notes.md")
    assert without_metadata(first) == without_metadata(source)
    assert first.startswith("\ufeff") == source.startswith("\ufeff")
    assert run("pandoc -F lmm-rag notes.md -o notes.md", pandoc).returncode == 0
    assert text("notes.md") == first


@pytest.mark.parametrize(("source", "end"), [("# A\n\ntext", "# A\n\ntext\n"), ("", "\n")])
def test_a_missing_final_newline_is_added(source, end, pandoc):
    """Pandoc does that, whatever a filter hands on."""
    write("notes.md", source)
    assert run("pandoc -F lmm-rag notes.md -o notes.md", pandoc).returncode == 0
    assert text("notes.md").endswith(end)


@pytest.mark.parametrize(("eol", "end", "source_end"), [("crlf", "\r\n", "\n"), ("lf", "\n", "\r\n")])
def test_eol_decides_line_ends(eol, end, source_end, pandoc):
    write("notes.md", f"# A\n\n{PROSE}".replace("\n", source_end))
    run(f"pandoc -F lmm-rag notes.md -o out.md --eol={eol}", pandoc)
    assert set(re.findall(r"\r?\n", text("out.md"))) == {end}


@pytest.mark.slow
def test_real_files(real_place, pandoc):
    """Some real chapters; all of them go through the passes in tests/markdown."""
    for file in spread(real_place, 4):
        source = text(file)
        write(file.name, source)
        done = run(f"pandoc -F lmm-rag '{file.name}' -t markdown -o '{file.name}'", pandoc)
        assert done.returncode == 0, done.stderr
        assert without_metadata(text(file.name)) == without_metadata(source), file


def test_what_has_no_effect_is_named(pandoc):
    write("notes.md", NOTES)
    write("foreign.lua", FOREIGN)
    done = ok("pandoc -F lmm-rag -L foreign.lua --wrap=none --toc -s notes.md -t markdown", pandoc)
    assert b"These have no effect on it: --wrap, --toc, -F foreign.lua" in done.stderr
