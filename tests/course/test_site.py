"""The site that pandoc makes of a course where there is no Quarto."""

import json
import re
from contextlib import chdir
from pathlib import Path

import pytest

from lmm_core.course.site import PageJob, find_pandoc, render_pages
from lmm_core.course.text import PageSource
from lmm_core.logging import Report
from tests.commands import text, write
from tests.courses import make_course

BOOK = """\
project: {type: book}
book:
  title: "Means & ends"
  chapters:
    - part: The first part
      chapters: [one/means.qmd, one/spread.md]
    - last.md
    - index.md
filters: [lmm]
lmm: {ask: true}
"""
SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
MEANS = """\
---
title: Means
---

## The centre {#sec-centre}

{{< include _shared.md >}}

See @sec-spread, [there](spread.md#the-range), [the file](../data.csv), @fig-curve, @eq-mean and @exr-try.

![A curve.](../figures/curve.svg){#fig-curve}

$$ m = x $$ {#eq-mean}

::: {.content-visible when-format="pdf"}
On paper alone.
:::

::: {.callout-tip}
## Remember
It balances.
:::

::: {#exr-try}
## Seven
Add them up.
:::

```{python}
#| echo: true
print(6 * 7)
```

::: {.panel-tabset}
### In R
`mean(x)`
:::
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The site of a book, and its warnings."""
    folder = tmp_path_factory.mktemp("book")
    write(folder / "_quarto.yml", BOOK)
    write(folder / "index.md", "# Welcome\n\nStart [here](/one/means.qmd).\n")
    write(folder / "one/means.qmd", MEANS)
    write(folder / "one/_shared.md", "Words that two pages share.\n\n<!-- A note for teachers. -->\n")
    write(folder / "one/spread.md", "# Spread {#sec-spread}\n\n## The range\n\nFrom end to end, see @fig-curve.\n")
    write(
        folder / "last.md",
        "# Last\n\n![](/figures/curve.svg)\n\n![](figures/gone.svg) and [secret](.env)\n\n{{< video a.mp4 >}}\n",
    )
    write(folder / "unused.md", "# Not a chapter\n")
    write(folder / "data.csv", "a,b\n")
    write(folder / ".env", "KEY=1\n")
    write(folder / "figures/curve.svg", SVG)
    write(folder / "figures/solution.svg", SVG)
    with chdir(folder):
        done = make_course("--json --no-quarto")
    assert done.returncode == 0, done.stderr
    reports = [report for step in json.loads(done.stdout) for report in step["reports"]]
    return folder / "_book", [str(Report(**one)) for one in reports if one["level"] == "warning"]


def pages(site):
    return {path.relative_to(site).as_posix() for path in site.rglob("*.html")}


def links(page):
    return re.findall(r'<a\b[^<>]*\bhref="([^"]*)"', page)


def test_each_page_leads_to_all_others(book):
    site, _ = book
    page = text(site / "one/means.html")
    found = re.search(r'<nav class="pages".*?</nav>', page, re.S)[0]
    assert links(found) == ["../index.html", "../one/means.html", "../one/spread.html", "../last.html"]
    assert '<li class="depth-1"><a href="../one/means.html" aria-current="page">Means</a></li>' in found
    assert "<li><span>one</span></li>" in found
    assert "<title>Means – Means &amp; ends</title>" in page and "A note for teachers" not in page
    turn = re.search(r'<nav class="turn".*?</nav>', page, re.S)[0]
    assert links(turn) == ["../index.html", "../one/spread.html"]


def test_no_link_within_the_site_leads_nowhere(book):
    site, _ = book
    assert pages(site) == {"index.html", "one/means.html", "one/spread.html", "last.html"}
    for name in pages(site):
        assert "data-lmm-ask" in text(site / name)
        for link in set(links(text(site / name))) - {".env"}:
            place, _, anchor = link.partition("#")
            target = (site / name).parent / place if place else site / name
            assert target.exists(), (name, link)
            assert not anchor or f'id="{anchor}"' in text(target), (name, link)


def test_what_a_page_shows(book):
    site, _ = book
    page = text(site / "one/means.html")
    assert '<a href="spread.html#sec-spread" class="quarto-xref">Spread</a>' in page
    assert '<a href="spread.html#the-range">there</a>' in page
    assert all(words in page for words in (">Figure 1</a>", ">Equation 1</a>", ">Exercise 1</a>", "Figure 1: A curve."))
    assert '<a href="means.html#fig-curve" class="quarto-xref">Figure 1</a>' in text(site / "one/spread.html")
    words = re.sub(r"<[^>]*>", "", page)
    assert "Words that two pages share." in words and "On paper alone" not in words
    assert "Remember" in words and "Exercise 1 (Seven)" in words and "In R" in words
    assert "print(6 * 7)" in words and "#|" not in words and "{python}" not in words


def test_files_that_a_page_names_are_on_the_site(book):
    site, warnings = book
    assert (site / "figures/curve.svg").is_file() and (site / "data.csv").is_file()
    assert 'src="figures/curve.svg"' in text(site / "last.html")  # named from the course's folder
    assert not (site / "figures/solution.svg").exists()  # named by no page
    assert not (site / ".env").exists()
    for said in (
        "last.md:5: figures/gone.svg: there is no such file",
        "last.md:5: .env: not copied",
        "last.md: {{< video … >}}: only Quarto can do this",
    ):
        assert any(said in warning for warning in warnings)


def test_options_of_the_project_hold_beside_those_of_a_header():
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\nlmm: {div-types: [mytask], keep: [exercise]}\n")
    parts = "::: mytask\nSECRET of nine umbrellas.\n:::\n\n::: exercise\nKEPT of nine umbrellas.\n:::\n"
    write("a.qmd", f"---\nlmm: {{div-types: other}}\n---\n\n# A\n\n{parts}")
    done = make_course("--steps check,render,leaks")
    assert done.returncode == 0, done.stderr
    page = text(".lmm/course/site/a.html")
    assert "SECRET" not in page and "KEPT" in page


def test_works_that_a_page_cites():
    write("_quarto.yml", "project: {type: website}\nfilters: [lmm]\nbibliography: refs.bib\n")
    write("refs.bib", "@book{t, author={Tukey, John}, title={Data}, year={1977}}")
    write("week 1/a.md", "# A\n\nSaid by @t.\n")
    assert make_course("--steps check,render").returncode == 0
    page = text(".lmm/course/site/week 1/a.html")
    assert "Tukey (1977)" in page and "References" in page


def test_a_formula_that_cannot_be_converted_is_named_in_one_line():
    write("a.md", "# A\n\nThe sum $\\foobar{x}$ of\n\n$$\na +\n\\frac{1\n$$\n")
    stderr = make_course("--steps check,render").stderr.decode()
    shown = "warning: a formula cannot be converted, and is shown as TeX: "
    assert f"a.md:3: {shown}\\foobar{{x}} (unexpected control sequence \\foobar)\n" in stderr
    assert f"a.md:5: {shown}a + \\frac{{1 (unexpected" in stderr and "expecting" not in stderr


def test_notes_without_a_first_page_get_one():
    write("my notes/config.toml", '[files]\nexclude = ["drafts/"]\n')
    write("my notes/drafts/later.md", "# Later\n")
    write("my notes/week 1/data.md", "# Data\n")
    write("my notes/week 1/index.md", "# Week 1\n")
    write("my notes/start.md", "# Start\n\n---\ntype: exercise\n---\n\n## Only for the exam\n")
    write("my notes/README.md", "# Read me\n")
    write("my notes/week 2/answers.md", "---\nknit: false\n---\n\n# Answers\n")
    assert make_course("'my notes'").returncode == 0
    site = Path("my notes/_site")
    assert pages(site) == {"index.html", "start.html", "week 1/data.html", "week 1/index.html", "week 2/answers.html"}
    first = text(site / "index.html")
    listed = links(re.search(r'<nav class="contents".*?</nav>', first, re.S)[0])
    assert listed == ["start.html", "week%201/index.html", "week%201/data.html"]
    assert "data-lmm-ask" in first and "week 2" not in first  # nothing of its only page is published


def test_a_page_speaks_its_own_language_and_the_frame_that_of_most_notes():
    english = "# Welcome\n\nThis is a lesson on what the mean and the median of a sample tell about it.\n"
    german = "Das Mittel ist die Summe der Werte, geteilt durch die Anzahl der Werte.\n"
    figure = "\n![A curve.](curve.svg){#fig-curve}\n\n@fig-curve @tbl-a\n"
    pages = {"index": english, "a": f"# A\n\n{german}", "b": f"---\nlang: fr-CH\n---\n\n# B\n\n{german}", "c": "# C\n"}
    for name, notes in (pages | {"d": pages["a"], "e": pages["a"]}).items():
        write(f"{name}.md", notes + figure)
    write("tables.md", f"# T\n\n{german}\n::: {{#tbl-a}}\n| a |\n|---|\n| b |\n\nA table.\n:::\n")
    write("curve.svg", SVG)
    assert make_course().returncode == 0
    german_words = ("de", "Abbildung", "Tabelle")
    words = {
        "index": ("en", "Figure", "Table"),
        "b": ("fr-CH", "Figure", "Tableau"),
        "a": german_words,
        "c": german_words,
    }
    for name, (language, figure, table) in words.items():
        page = text(f"_site/{name}.html")
        assert f'<html lang="{language}" data-site-lang="de"' in page and f">{figure} 1</a>" in page
        assert f'tables.html#tbl-a" class="quarto-xref">{table} 1</a>' in page
        assert 'id="lmm-pages" lang="de"' in page and ">Inhalt</a>" in page
    assert '"language":"de"' in text("_site/lmm-ask/data.js")


def test_a_page_in_the_language_of_the_settings_has_their_region():
    write("_quarto.yml", "lang: de-CH\n")
    write("index.md", "# A\n\nDas Mittel ist die Summe der Werte, geteilt durch die Anzahl der Werte.\n")
    assert make_course("--no-quarto").returncode == 0
    assert '<html lang="de-CH" data-site-lang="de-CH"' in text("_site/index.html")


def test_head_and_foot_are_as_the_settings_say():
    settings = (
        '[site]\ntitle = "Means & ends"\nauthor = "A. <b>"\ndate = "May"\nfavicon = "icon.svg"\ncolor = "#7a1f5c"\n'
    )
    write("config.toml", settings)
    write("icon.svg", SVG)
    write("week 1/a.md", "# A\n")
    assert make_course().returncode == 0
    page = text("_site/week 1/a.html")
    assert '<a class="home" href="../index.html">Means &amp; ends</a>' in page
    assert '<footer class="site">A. &lt;b&gt; · May</footer>' in page
    assert '<link rel="icon" href="../icon.svg">' in page and text("_site/icon.svg") == SVG
    assert "--link: #7a1f5c" in page
    write("config.toml", '[site]\ncolor = "red; background: url(//x)"\n')
    assert "site.color" in make_course().stderr.decode()


def test_pandoc_reads_no_file_that_a_text_names(tmp_path):
    secret = write(tmp_path / "secret.bib", "@misc{a, title={SECRET}}")
    source = f"---\nbibliography: {secret}\n---\n\n[@a] ![]({secret})\n\n\\input{{{secret}}}"
    own = write(tmp_path / "own.bib", "@misc{a, title={OWN}}")
    (rendered,) = render_pages([PageJob("a", "A", PageSource(source, "en", (str(own),)))], find_pandoc())
    assert "OWN" in rendered.html and "SECRET}" not in rendered.html
