"""What is left out of the notes is found wherever it stands in the output, and nothing else is."""

import base64
import codecs
import gzip
import io
import json
import shutil
import tarfile
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown.visibility import KnitRules
from lmm_core.quarto.extension import box_files
from lmm_core.quarto.leaks import SiteSources, look_for_leaks
from lmm_core.quarto.options import AskBoxSettings
from lmm_core.settings.project import Project
from tests.commands import run, text, write
from tests.effort import at_most
from tests.notebooks import cell, notebook

SECRET = "Twelve students forgot their umbrellas on the train to Basel; what is the median of their regret?"
NOTES = f"""---
title: Means
~summary: The chapter walks from the mean towards sturdier measures of the middle.
---

# Means

The mean is the balance point of all the values that were observed here.

::: {{.lmm .content-hidden}}
``` yaml
questions: Why would anybody prefer the median over the mean in a report?
?: Could a first-year student follow this derivation without any help?
```
:::

## Medians

The median has as many values below it as above it.

::: exercise
{SECRET}
:::
"""
HIDDEN = b"<p>Twelve students forgot their umbrellas on the train</p>"
LEAKING = {
    "page.html": "<p>Twelve students <em>forgot</em> their umbrellas on the train to Ba&shy;sel; what</p>",
    "attribute.html": '<meta name="description" content="Twelve students forgot their umbrellas on the train">',
    "comment.html": "<!-- Twelve students forgot their umbrellas on the train -->",
    "script.html": '<script>x = "Twelve students forgot their\\u0020umbrellas\\non the train"</script>',
    "index.js": 'var x = {"a": "Twelve students forgot\\ntheir umbrellas \\u003cb>on</b> the train"}',
    "style.css": 'p::after {content: "Twelve students forgot their\\20 umbrellas on the train"}',
    "notes.llms.md": "> **Twelve students** forgot their\n> umbrellas on the *train*",
    "notes.tex": "\\emph{TWELVE} students \\textbf{forgot} their umbrellas on the train",
    "lines.txt": "Twelve stu-\ndents forgot their umbrel-\nlas on the train",
    "self.html": f'<iframe src="data:text/html;base64,{b64encode(HIDDEN).decode()}"></iframe>',
    "wide.html": codecs.BOM_UTF16_LE + HIDDEN.decode().encode("utf-16-le"),
    "data.bin": b"\0\1\2" + HIDDEN,
    "search.json.gz": gzip.compress(HIDDEN),
}


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("_", "."), data)
    return packed.getvalue()


def tarred(mode="w", **members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def leaks(output, source="notes.md", rules=None, logger=None):
    project = Project(Path(), rules=rules or KnitRules())
    return look_for_leaks(Path(output), SiteSources([Path(source)]), project, logger).leaks


def test_a_leak_is_found_in_every_kind_of_file():
    write("notes.md", NOTES)
    for name, content in LEAKING.items():
        write(f"site/{name}", content)
    assert {(leak.file.name, str(leak.source), leak.line) for leak in leaks("site")} == {
        (name, "notes.md", 21) for name in LEAKING
    }


def test_a_leak_is_found_in_archives():
    archives = {
        "a.tar": (tarred(notes_qmd=HIDDEN), "notes.qmd"),
        "b.zip": (zipped(a_tgz=tarred("w:gz", notes_qmd=HIDDEN)), "a.tgz/notes.qmd"),
        "c.docx": (
            zipped(document_xml=b"<w:t>Twelve students for</w:t><w:t>got their umbrellas on</w:t>"),
            "document.xml",
        ),
        "whatever": (zipped(notes_qmd=HIDDEN), "notes.qmd"),
    }
    write("notes.md", NOTES)
    for name, (data, _) in archives.items():
        write(f"site/{name}", data)
    assert {leak.file.name: leak.member for leak in leaks("site")} == {
        name: member for name, (_, member) in archives.items()
    }
    assert run("lmm leak-check site/a.tar notes.md").stdout.startswith(b"site/a.tar (notes.qmd): notes.md:")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.tgz", tarred("w:gz", notes_qmd=HIDDEN * 99)[:60]),
        ("odd.7z", b"7z\xbc\xaf\x27\x1c" + HIDDEN),
        pytest.param("bomb.gz", lambda: gzip.compress(bytes(300_000_000), 1), marks=pytest.mark.slow),
    ],
    ids=["cut", "7z", "bomb"],
)
def test_what_is_not_looked_into_is_warned_of(name, data):
    write("notes.md", NOTES)
    write(f"site/{name}", data() if callable(data) else data)  # bombs take seconds to make
    logger = ListLogger()
    assert leaks("site", logger=logger) == []
    [report] = logger.reports
    assert (report.level, name in report.message) == ("warning", True)


# Short parts

AROUND = "# A\n\nThe mean is the balance point of all values.\n\n{}\n\nThe median lies in the middle of them.\n\n## B\n\nEnd.\n"
NOT_LEAKING = (
    "<h1>1 A</h1><p>The mean is the balance point of all values.</p><p>The median lies in the middle of them.</p>{}"
)


@pytest.mark.parametrize("part", ["- yes\n- no\n- maybe", "## Hint\n\nTwo."])
def test_short_parts_are_looked_for_with_what_stands_beside_them(part, pandoc):
    write("notes.md", AROUND.format(f"::: exercise\n{part}\n:::"))
    for folder, option in (("good", "-F lmm-knit"), ("bad", "")):
        Path(folder).mkdir()
        for ending in ("html", "docx"):
            command = f"pandoc notes.md {option} -o {folder}/a.{ending} -M pagetitle=x -N --toc"
            assert run(command, pandoc).returncode == 0
    assert leaks("good") == []
    assert {leak.file.suffix for leak in leaks("bad")} == {".html", ".docx"}


def test_a_short_part_is_looked_for_as_an_element():
    elements = [
        "<p>Answer: <b>42</b>.</p>",
        '<h2 class="x"><span class="header-section-number">1.2</span> Answer: 42</h2>',
    ]
    write("notes.md", AROUND.format("::: exercise\nAnswer: 42.\n:::"))
    for number, element in enumerate(elements):
        write(f"site/{number}.html", f"<main><p>Something else.</p>{element}<p>And more.</p></main>")
    assert [leak.line for leak in leaks("site")] == [5] * len(elements)


@pytest.mark.parametrize(
    ("part", "element"),
    [
        ("Answer: 42.", "<p>The answer: 42 of them came.</p>"),
        ("Yes", "<table><tr><td>Yes</td></tr></table><div class='cell-output'></div>"),
        ("## References", '<h2 class="anchored quarto-appendix-heading">References</h2>'),
        ("2", "<h2>2 B</h2><ol><li>2</li></ol>"),
    ],
    ids=["in a sentence", "put out by code", "Quarto's heading", "a number"],
)
def test_short_words_by_themselves_are_no_leak(part, element):
    write("notes.md", AROUND.format(f"::: exercise\n{part}\n:::"))
    write("site/a.html", NOT_LEAKING.format(element))
    assert leaks("site") == []


def test_a_heading_is_looked_for_by_its_name():
    section = "::: {.lmm}\n``` yaml\ntype: exercise\n```\n:::\n\n## The umbrella problem\n\nText.\n"
    write("notes.md", f"# A\n\nKept.\n\n{section}")
    write("site/a.html", '<a href="a.html#the-umbrella-problem">1</a>')
    write("site/search.json", '[{"objectID": "a.html", "href": "a.html#the-umbrella-problem"}]')
    assert {(leak.file.name, leak.line) for leak in leaks("site")} == {("a.html", 11), ("search.json", 11)}
    write("notes.md", f'# A\n\nSee <a href="#the-umbrella-problem">there</a>.\n\n{section}')
    assert leaks("site") == []  # the notes name it themselves


# The data of an ask box


def test_the_data_of_an_ask_box_may_hold_what_it_includes_and_the_questions_of_what_stays_in():
    write("notes.md", NOTES)
    question = "Why would anybody prefer the median over the mean in a report?"
    write("site/lmm-ask/data.js", f"x('Twelve students forgot their umbrellas on the train', '{question}')")
    for ask, count in ((AskBoxSettings(include=frozenset({"exercise"})), 0), (AskBoxSettings(), 1), (None, 2)):
        found = look_for_leaks(Path("site"), SiteSources([Path("notes.md")]), Project(Path()), ask=ask)
        assert len(found.leaks) == count


# What is included, and what cells make


def test_what_is_only_included_in_parts_left_out_is_left_out():
    write("_exercise.md", f"{SECRET}\n")
    write("notes.md", "# A\n\n::: exercise\n{{< include _exercise.md >}}\n:::\n")
    write("site/a.html", f"<p>{SECRET}</p>")
    sources = [Path("notes.md"), Path("_exercise.md")]
    [leak] = look_for_leaks(Path("site"), SiteSources(sources), Project(Path())).leaks
    assert (leak.source, leak.line) == (Path("_exercise.md"), 1)
    write("notes.md", text("notes.md") + "\n{{< include _exercise.md >}}\n")
    assert look_for_leaks(Path("site"), SiteSources(sources), Project(Path())).leaks == []


CELLS = "# A\n\n```{python}\nplot(1)\n```\n\n::: exercise\n```{python}\nplot(2)\n```\n:::\n"


def test_figures_that_only_cells_left_out_have_made():
    write("part one/notes.qmd", CELLS)
    write("part one/other.qmd", "# B\n\n```{python}\nplot(1)\n```\n")
    for name in ("notes", "other"):
        for figure in ("cell-2", "cell-3"):
            write(f"site/part one/{name}_files/figure-html/{figure}.png", "PNG")
    write("site/part one/other_files/figure-html/notes-cell-3.png", "PNG")  # of cells embedded in another page
    write("site/part one/notes.html", '<img src="notes_files/figure-html/cell-2.png">')
    write("site/index.html", '<img src="part%20one/other_files/figure-html/cell-2.png">')
    found = look_for_leaks(Path("site"), SiteSources([*Path("part one").glob("*.qmd")]), Project(Path())).leaks
    assert [(str(leak.file), leak.line, leak.is_figure) for leak in found] == [
        ("site/part one/notes_files/figure-html/cell-3.png", 7, True),
        ("site/part one/other_files/figure-html/notes-cell-3.png", 7, True),
    ]


def test_a_slip_fails_the_check_though_nothing_is_found():
    write("_site/page.html", "<p>Nothing.</p>")
    write("notes.md", "# A\n\n::: excercise\nTwelve students forgot their umbrellas on the train.\n:::\n")
    done = run("lmm leak-check _site notes.md")
    assert done.returncode == 1
    assert "notes.md:3: unknown class 'excercise': did you mean 'exercise'?" in done.stderr.decode()


def test_what_stays_in_the_notes_is_no_leak():
    """What is kept, what the same or another chapter says."""
    write("notes.md", NOTES)
    write("site/page.html", f"<p>{SECRET}</p><p>Why would anybody prefer the median over the mean?</p>")
    assert [leak.text[:9] for leak in leaks("site", rules=KnitRules(keep=frozenset({"exercise"})))] == ["Why would"]
    write("other.md", f"# Other\n\n{SECRET}\n\nWhy would anybody prefer the median over the mean?\n")
    assert look_for_leaks(Path("site"), SiteSources([Path("notes.md"), Path("other.md")]), Project(Path())).leaks == []


@pytest.mark.parametrize(
    "page", ["One two three four five six seven.", "One two three <!-- x --> four five six seven."]
)
def test_comments_are_in_the_page_or_not(page):
    words = "One two three<!-- x --> four five six seven."
    block = "::: lmm\n``` yaml\n~summary: One two three four five six seven.\n```\n:::\n"
    write("site/a.html", f"<p>{page}</p>")
    write("notes.md", f"# A\n\n::: exercise\n{words}\n:::\n")
    assert len(leaks("site")) == 1
    write("notes.md", f"{block}\n# A\n\n{words}\n")
    assert leaks("site") == []


def test_math_references_and_lists_do_not_hide_a_leak():
    write(
        "notes.md",
        "# A\n\n::: exercise\nLet $x_1$ be, as in @sec-a, the regret of the first of all students.[^1]\n\n"
        "1. Which of the students regrets it the most?\n2. See [the table](#t) of umbrellas for what they cost.\n:::\n\n[^1]: N.\n",
    )
    write(
        "site/a.html",
        'Let <span class="math">\\(x_1\\)</span> be, as in Section 2.1, the regret of the first of all students.<sup>1</sup>',
    )
    assert len(leaks("site")) == 1


def test_an_undecided_edit_and_a_broken_block():
    edit = (
        "###### old text {#lmm-old-aaaaaa}\n\nThe old words that have stood here since the beginning.\n\n"
        "###### new text {#lmm-new-aaaaaa}\n\nSome new words that nobody has decided about so far.\n\n"
        "###### end of edit {#lmm-end-aaaaaa}\n"
    )
    broken = "::: lmm\n```yaml\na: [one two three four five six seven\n```\n:::\n"
    write("notes.md", f"# A\n\n---\n=: x\n~~edit: {{id: aaaaaa}}\n---\n\n{edit}\n{broken}\nEnd.\n")
    write("site/old.txt", "The old words that have stood here since the beginning.")
    write("site/new.txt", "Some new words that nobody has decided about so far.")
    write("site/yaml.txt", "a: [one two three four five six seven")
    assert [leak.file.name for leak in leaks("site")] == ["new.txt", "yaml.txt"]


def test_published_parts_that_look_like_solutions_are_named():
    folded = "<details><summary>Zur <b>Lösung</b></summary>\n9\n</details>\n\n::: instructor\n10\n:::\n"
    write("notes.md", f"## Solution to exercise 3\n\n::: solution\n8\n:::\n\n## The solution of equations\n\n{folded}")
    write("site/page.html", "<p>Seven.</p>")
    done = run("lmm leak-check site notes.md")
    assert done.returncode == 0
    assert (
        b"4 parts look like solutions and are published: notes.md:1, notes.md:3, notes.md:9, notes.md:13."
        in done.stderr
    )
    write("notes.md", "::: exercise\n## Solution\n\nSeven umbrellas.\n:::\n\n::: solution\n8\n:::\n")
    assert (
        "1 part looks like a solution and is published: notes.md:7."
        in run("lmm leak-check site notes.md").stderr.decode()
    )


def test_what_was_not_searched_is_said(monkeypatch):
    write("notes.md", NOTES)
    for name in ("a.pdf", "part/b.pdf"):
        write(f"site/{name}", "%PDF")
    write("site/page.html", "<p>Kept.</p>")
    monkeypatch.setenv("PATH", "/nowhere")
    logger = ListLogger()
    result = look_for_leaks(Path("site"), SiteSources([Path("notes.md")]), Project(Path()), logger)
    assert result.result == "none found; not searched: 2 PDF files"
    assert "pdftotext" in logger.reports[0].message


def test_the_words_of_the_box_itself_are_no_leak():
    """They stand in its scripts, and in the description of its data."""
    write("notes.md", "# A\n\n---\nquestions: What is null?\nsummary: which what where\n---\n\n## B\n\nKept.\n")
    for name, script in box_files().items():
        write(f"site/lmm-ask/{name}", script)
    write("site/lmm-ask/data.js", 'lmmAsk.take("data","x",{"asking":{"de":"Which, what, where"},"language":"en"})\n')
    assert leaks("site") == []
    write("site/own.js", "// What is null?")
    write("site/lmm-ask/data.js", 'lmmAsk.take("data","x",{"language":"which what where"})\n')
    assert [leak.file.name for leak in leaks("site")] == ["data.js", "own.js"]


def pdf(line):
    """A small PDF that shows one line."""
    stream = f"BT /F1 12 Tf 20 100 Td ({line}) Tj ET"
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 900 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
    )
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page]
    objects += [f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream", font]
    body = "".join(f"{at} 0 obj\n{one}\nendobj\n" for at, one in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R /Size 6 >>\n%%EOF\n"


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not on PATH")
def test_a_pdf():
    write("notes.md", NOTES)
    write("site/notes.pdf", pdf("Twelve students forgot their umbrellas on the train"))
    assert [leak.file.name for leak in leaks("site")] == ["notes.pdf"]


# Properties

WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyzäöüß", min_size=2, max_size=9), min_size=8, max_size=30)
WRAPPED = {"a.html": "<p>{}</p>", "b.json": '["{}"]', "c.md": "*{}*", "d.js": 'x = "{}"'}


@given(WORDS, st.sampled_from(["::: exercise\n{}\n:::\n", "---\ntype: topic\n---\n\n{}\n", "## T {{.x}}\n\n---\nquestions: {}\n---\n"]),
       st.sampled_from(list(WRAPPED)), st.data())  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_left_out_and_copied_is_found(words, part, name, data):
    start = data.draw(st.integers(0, max(0, len(words) - 8)))
    copied = data.draw(st.sampled_from([" ", "\n", "  "])).join(words[start : start + 8])
    if name == "b.json":
        copied = " ".join(copied.split())
    write("notes.md", f"# Title\n\nKept.\n\n{part.format('z' + ' '.join(words))}")
    shutil.rmtree("site", ignore_errors=True)
    write(f"site/{name}", WRAPPED[name].format(copied))
    result = look_for_leaks(Path("site"), SiteSources([Path("notes.md")]), Project(Path()))
    if sum(map(len, words[start + (start == 0) : start + (start == 0) + 6])) >= 16:
        assert result.leaks, text("notes.md")


# The command


def test_sources_are_those_of_the_project_with_what_they_include():
    """A copy of a source in the output does not count as what stays in."""
    write("_quarto.yml", "project: {output-dir: docs}\nbook: {chapters: [a.md, b.ipynb]}\n")
    write("a.md", "# A\n\n{{< include part/_more.md >}}\n")
    write("part/_more.md", NOTES)
    write(
        "b.ipynb", notebook(cell("# B\n\n::: exercise"), cell("Who has counted all seven of the trains?"), cell(":::"))
    )
    write("docs/a.md", SECRET)
    write("docs/b.html", "<p>Who has counted all seven of the trains?</p>")
    leaking = run("lmm leak-check docs").stdout.decode().splitlines()
    assert [line.split(': "')[0] for line in leaking] == ["docs/a.md: part/_more.md:21", "docs/b.html: b.ipynb:3"]


def test_no_documents_are_an_error():
    """Else nothing would be looked for, and none found."""
    write("site/_quarto.yml", "project: {title: T}\n")
    write("site/notes.md", NOTES)
    done = run("lmm leak-check site")
    assert done.returncode == 2
    assert "no documents were found outside it" in done.stderr.decode()


def test_cells_that_the_browser_runs():
    """Quarto puts their code into the page before any filter."""
    cell = "``` {ojs}\nsolution = 'the giraffe has eleven vertebrae more than it needs'\n```\n"
    write("notes.md", f"# A\n\nKept.\n\n::: exercise\n{cell}:::\n")
    data = base64.b64encode(json.dumps({"contents": [{"source": cell.split("\n")[1]}]}).encode()).decode()
    write("site/a.html", f'<p>Kept.</p><script type="ojs-module-contents">\n{data}\n</script>')
    assert [leak.line for leak in leaks("site")] == [5]
    done = run("lmm leak-check site notes.md")
    assert b"notes.md:6: an {ojs} cell in a part that is left out" in done.stderr


@pytest.mark.parametrize("page", ['<a ="' + " " * 40_000 + ">", "<!-- lmx " * 100_000], ids=["blanks", "comments"])
def test_hostile_pages_are_read_in_a_moment(page):
    write("notes.md", "# A\n\nKept.\n\n::: exercise\nAnswer: 42.\n:::\n")
    write("site/a.html", page)
    with at_most(seconds=10):
        assert leaks("site") == []


def test_a_comment_of_metadata_is_found_however_short_it_is():
    write("notes.md", "# A\n\n<!-- lmm\ntype: exercise\n-->\n\nKept.\n\n<!-- lmm\nk: v\n-->\n\nKept, too.\n")
    page = "<p>Before.</p>\n<!-- lmm\nk: v\n-->\n<p>Kept, too.</p>"
    write("site/notes.html", page)
    write("site/notes.epub", zipped(ch1_xhtml=page.encode()))
    write("site/other.html", "<p>\n<!--lmm type: exercise-->")
    done = run("lmm leak-check site notes.md")
    assert done.returncode == 1
    assert [line.partition(": ")[0] for line in done.stdout.decode().splitlines()] == [
        "site/notes.epub (ch1.xhtml)", "site/notes.html", "site/other.html"
    ]  # fmt: skip
