"""`lmm-knit` warns of words that are nearly ours, and knows the chapters of a book in one file."""

import base64
import json

from tests.commands import run, write


def test_slips_and_lists_are_reported(pandoc):
    block = "::: lmm\n```yaml\n{}\n```\n:::\n\nText.\n\n"
    slips = f"{block.format('typ: exercise')}::: exercises\nText.\n:::\n\n"
    write("notes.md", f"# A\n\n{slips}{block.format('- type: exercise' + chr(10) + '- note: secret')}")
    done = run("pandoc -F lmm-knit notes.md -t html", pandoc)
    assert b"notes.md:5: near-miss unknown key 'typ': did you mean 'type'?" in done.stderr
    assert b"notes.md:11: near-miss unknown class 'exercises': did you mean 'exercise'?" in done.stderr
    assert b"put this in its place:\ntype: exercise\nnote: secret\n" in done.stderr
    assert b"secret" not in done.stdout


def test_slips_are_reported_behind_other_filters(pandoc):
    write("notes.md", "# A\n\n::: exercises\nText.\n:::\n")
    done = run("pandoc -F lmm-index -F lmm-knit notes.md -t html", pandoc)
    assert done.returncode and b"notes.md:3: near-miss unknown class 'exercises'" in done.stderr


def chapter(name, header, body):
    """A chapter as Quarto puts it into a book of one file."""
    inline, block = (base64.b64encode(json.dumps(said).encode()).decode()
                     for said in ({"resourceDir": "."}, {"resourceDir": ".", "bookItemFile": name}))  # fmt: skip
    title = (
        f"```````{{.quarto-title-block template='title-block.md'}}\n---\n{header}\n---\n\n```````\n\n" if header else ""
    )
    return (
        f"\n\n`<!-- quarto-file-metadata: {inline} -->`{{=html}}\n\n"
        f"```{{=html}}\n<!-- quarto-file-metadata: {block} -->\n```\n\n# {name}\n\n{title}{body}\n"
    )


def test_a_chapter_of_a_book_in_one_file(pandoc):
    book = [
        chapter("first", "", "STAYS-1\n"),
        chapter("second", "knit: false\ntitle: Second", "GONE-2\n\n## GONE-3\n\nGONE-4\n"),
        "::: {.quarto-book-part}\n# STAYS-5\n:::\n",
        chapter("third", "lmm:\n  div-types: [solution]", "STAYS-6\n\n::: solution\nGONE-7\n:::\n"),
        chapter("fourth", "knit: true", "STAYS-8\n\n::: solution\nSTAYS-9\n:::\n"),
    ]
    write("book.md", "".join(book))
    ast = run("pandoc book.md -t json", pandoc).stdout.decode()
    out = run("lmm-knit html", stdin=ast).stdout.decode()
    assert "GONE" not in out
    assert [number for number in "15689" if f"STAYS-{number}" not in out] == []
    assert out.count("quarto-file-metadata") == 8
    assert '"second"' not in out
