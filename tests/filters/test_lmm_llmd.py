"""The filter `lmm-llmd`, through pandoc: an LLMD document as a page to read."""

import re
from pathlib import Path

import pytest

from lmm_core.llmd.page import DisplayedChange, Said, read_reply
from tests.commands import pandocs, run, text, write
from tests.talk import lmm

REPLACE = "<<<<<< SEARCH\nold\n=======\nnew\n>>>>>> REPLACE"
CODE = "def total(lines):\n    return sum(lines)  # all\n"


@pytest.fixture
def any_pandoc():
    """One of the pandocs: what differs between them is tested elsewhere."""
    return pandocs()[-1]


def project(*entries):
    """A document with these entries: what the human says, and the reply."""
    write("src/billing.py", CODE)
    lmm("lmm llmd new PROJECT.md --name 'Billing & <more>' --code src/*.py")
    head = text("PROJECT.md").split("### Entry 1")[0].replace("## Mission\n", "## Mission\n\n*Invoices.*\n")
    said = [
        f"### Entry {n}\n\n**Human:** {human}\n\n**Assistant:**\n\n{reply}\n\n"
        for n, (human, reply) in enumerate(entries, 1)
    ]
    write("PROJECT.md", head.replace("## Changelog\n", "## Changelog\n\n- `total` made\n") + "".join(said))


def page(pandoc, options="", target="html"):
    done = run(f"pandoc -F lmm-llmd PROJECT.md {options} -t {target}", pandoc)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def plain(shown):
    """The text of a page, without tags."""
    return re.sub(r"<[^>]*>", "", shown)


def test_a_page(pandoc):
    project(("Rename *old*.", f"So:\n\nsrc/billing.py\n{REPLACE}\n\nDone."), ("Thanks.", "Welcome."))
    before = text("PROJECT.md")
    shown = page(pandoc)
    assert '<h1 id="billing-more">Billing &amp; &lt;more&gt;</h1>' in shown
    assert "<details><summary>About this document</summary>" in shown and "SEARCH_MISSION" in shown
    assert "<p><em>Invoices.</em></p>" in shown and "<li><code>total</code> made</li>" in shown
    assert "<details open><summary>src/billing.py</summary>" in shown
    assert '<span class="co"># all</span>' in shown
    assert '<span class="st">-old</span>' in shown and '<span class="va">+new</span>' in shown
    assert "&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\nold" not in shown
    assert re.findall(r"Entry \d", shown) == ["Entry 1", "Entry 2"]
    said = plain(shown).split("Entry 1")[1]
    assert [word for word in ("Human", "Rename old.", "Assistant", "So:", "src/billing.py", "-old", "+new", "Done.") if word in said] \
        == sorted(("Human", "Rename old.", "Assistant", "So:", "src/billing.py", "-old", "+new", "Done."), key=said.index)  # fmt: skip
    assert text("PROJECT.md") == before


def test_a_page_by_pandocs_faster_reader(pandoc):
    project(("Rename *old*.", f"So:\n\nsrc/billing.py\n{REPLACE}\n\n| a |\n|---|\n| b |"))
    assert page(pandoc, "-f commonmark_x") == page(pandoc)


def test_a_page_that_stands_alone(pandoc):
    project(("a", "b"))
    shown = page(pandoc, "-s")
    assert "<title>Billing &amp; &lt;more&gt;</title>" in shown and shown.count("<h1") == 1
    assert ".llmd-human" in shown and shown.count("<meta charset") == 1


@pytest.mark.parametrize("target", ["latex", "docx", "plain", "markdown"])
def test_other_targets(target, any_pandoc):
    project(("Rename.", f"src/billing.py\n{REPLACE}"))
    done = run(f"pandoc -F lmm-llmd PROJECT.md -t {target} -o page", any_pandoc)
    assert done.returncode == 0, done.stderr
    if target == "plain":
        assert (
            "src/billing.py\n\n    -old\n    +new\n" in text("page")
            and "<" not in text("page").split("Mission")[0].split("\n")[0]
        )


OPEN = [
    "```\nopen",
    "~~~~ {.x}",
    "::: {.box}",
    "<!-- open",
    "<div>",
    "---\ntitle: mine\n---",
    "[x]: http://y",
    "[^1]: note",
    "    x",
    "$$",
    '<details open="',
    "lmm-piece",
]


@pytest.mark.parametrize("reply", OPEN)
def test_nothing_that_is_left_open_reaches_what_follows(reply, any_pandoc):
    project((f"One {reply[:3]}", "`x`"), ("Two", "There."))
    lmm("lmm llmd check PROJECT.md")
    write("PROJECT.md", text("PROJECT.md").replace("`x`", f"`````reply\n{reply}\n`````"))
    shown = page(any_pandoc, "-s")
    assert (
        '<h3 id="entry-2">Entry 2</h3>\n<div class="llmd-human">\n<p><strong>Human</strong></p>\n<p>Two</p>\n</div>'
        in shown
    )
    assert "<title>Billing &amp; &lt;more&gt;</title>" in shown


HOSTILE = {
    "<script>alert(1)</script>": "<script>alert",
    "x <img src=x onerror=alert(1)> y": "<img",
    "[x](javascript:alert(1))": 'href="javascript',
    "[x]( JavaScript:alert(1))": 'href="javascript',
    "[x](&#1;javascript:alert(1))": "javascript:",
    "[x](&#11;data:text/html,y)": "data:text",
    "[x](file:///etc/passwd)": 'href="file',
    "![x](/etc/passwd)": "<img",
    "![x](../../secret.png)": "<img",
    "![x](%2e%2e/secret.png)": "<img",
    "![x](http://127.0.0.1:9/x.png)": "<img",
    "$\\href{javascript:alert(1)}{x}$": 'class="math',
    "[x](y){onclick=alert(1)}": "onclick",
    "::: {.a onclick=alert(1)}\nx\n:::": "onclick",
    "</div></details><h1>mine</h1>": "<h1>mine",
    "```{=html}\n<script>alert(1)</script>\n```": "<script>alert",
    "`<script>alert(1)</script>`{=html}": "<script>alert",
    '<p style="position:fixed">x</p>': 'position:fixed"',
}


@pytest.mark.parametrize("said", HOSTILE)
def test_what_is_said_is_shown_and_not_done(said, any_pandoc):
    project(("One", "`x`"))
    write("PROJECT.md", text("PROJECT.md").replace("`x`", f"``````reply\n{said}\n``````"))
    lmm("lmm llmd check PROJECT.md")
    assert HOSTILE[said].lower() not in page(any_pandoc).lower()


def test_links_and_pictures_of_the_project_stay(any_pandoc):
    project(("[a](https://a.b/c:d)", "![b](img/b.png) [c](d.md) [e](mailto:f@g.h) $x^2$"))
    shown = page(any_pandoc)
    for part in ('href="https://a.b/c:d"', 'src="img/b.png"', 'href="d.md"', 'href="mailto:f@g.h"', "<sup>2</sup>"):
        assert part in shown


@pytest.mark.parametrize(
    "said",
    ["\\input{/etc/passwd}", "$\\input{/etc/passwd}$", "$$^^5cinput{/etc/passwd}$$", "`\\input{/etc/passwd}`{=latex}"],
)
def test_commands_of_tex_are_shown_and_not_done(said, any_pandoc):
    project(("One", "`x`"))
    write("PROJECT.md", text("PROJECT.md").replace("`x`", f"```reply\n{said}\n```"))
    shown = page(any_pandoc, target="latex").split("Assistant")[1]
    assert "/etc/passwd" in shown and "^^5cinput{" not in shown
    assert "\\input{" not in shown or "\\begin{verbatim}\n\\input{" in shown


def test_headings_in_what_is_said_are_below_those_of_the_page(any_pandoc):
    project(("# Mine", "## Yours"))
    assert re.findall(r"<h(\d)[^>]*>(?:Mine|Yours)", page(any_pandoc)) == ["4", "5"]


def test_it_does_not_write_over_the_document(any_pandoc):
    project(("a", "b"))
    before = text("PROJECT.md")
    for options in ("-t markdown", "", "-t html"):
        done = run(f"pandoc -F lmm-llmd PROJECT.md -o PROJECT.md {options}", any_pandoc)
        assert done.returncode != 0 and b"Refused" in done.stderr
        assert text("PROJECT.md") == before


def test_what_is_no_llmd_document(any_pandoc):
    write("notes.md", "# Notes\n\nText.\n")
    done = run("pandoc -F lmm-llmd notes.md -o notes.html", any_pandoc)
    assert b"not an LLMD document" in done.stderr and not Path("notes.html").exists()
    done = run("pandoc -F lmm-llmd -t html", any_pandoc, stdin="# Project: X\n")
    assert b"Give pandoc the LLMD document by its name" in done.stderr


def test_what_is_wrong_is_told_with_its_line(any_pandoc):
    project(("a", "b"))
    write("PROJECT.md", text("PROJECT.md").replace("### Entry 1", "### Entry"))
    done = run("pandoc -F lmm-llmd PROJECT.md -o page.html", any_pandoc)
    line = text("PROJECT.md").split("\n").index("### Entry") + 1
    assert done.returncode == 0 and f"PROJECT.md:{line}: ".encode() in done.stderr


# The parts of a reply

BILLING = DisplayedChange("src/b.py", "-old\n+new")


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("Hello.", [Said("Hello.")]),
        (f"A\n\nsrc/b.py\n{REPLACE}\n\nB", [Said("A"), BILLING, Said("B")]),
        (f"A\n\n**`src/b.py`**:\n{REPLACE}", [Said("A"), BILLING]),
        (f"A\n\n```python\nsrc/b.py\n{REPLACE}\n```\n\nB", [Said("A"), BILLING, Said("B")]),
        (f"A\n\nsrc/b.py\n```\n{REPLACE}\n```\nB", [Said("A"), BILLING, Said("B")]),
        (f"src/b.py\n{REPLACE}\n\nsrc/b.py\n{REPLACE}", [BILLING, BILLING]),
        ("src/b.py\n<<<<<< SEARCH\n=======\nx\n>>>>>> REPLACE", [DisplayedChange("src/b.py", "+x")]),
        ("src/b.py\n<<<<<< SEARCH\nx\n=======\n>>>>>> REPLACE", [DisplayedChange("src/b.py", "-x")]),
        ("<<<<<< SEARCH_MISSION\na\n=======\nb\n>>>>>> REPLACE_MISSION", [DisplayedChange("Mission", "-a\n+b", False)]),
        ("A\n<<<<<< CHANGELOG\n\none\n\n>>>>>> CHANGELOG\nB", [Said("A"), DisplayedChange("Changelog", "+one", False), Said("B")]),
        ("A `x`\n\nsrc/b.py\n<<<<<< SEARCH\nx", [Said("```\nA `x`\n\nsrc/b.py\n<<<<<< SEARCH\nx\n```")]),
        ("```\nx\n```\n<<<<<< SEARCH", [Said("````\n```\nx\n```\n<<<<<< SEARCH\n````")]),
    ],
)  # fmt: skip
def test_the_parts_of_a_reply(reply, parts):
    assert read_reply(reply) == parts
    assert read_reply(reply.replace("\n", "\r\n")) == parts or isinstance(parts[0], Said)
