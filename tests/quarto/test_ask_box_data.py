"""The data of the ask box: what is in them, what is not, and that each link leads somewhere."""

import json
import re
from pathlib import Path

import pytest

from lmm_core.logging import ListLogger
from lmm_core.quarto.render import run_stage
from tests.commands import pandocs, run, text, write

NOTES = """---
title: Means
lang: en
---

::: {.lmm .content-hidden}
``` yaml
questions: ["When is a&ZeroWidthSpace; mean mis&#108;eading?"]
summary: The mean is drawn by extreme values.
?: Could a first-year student follow this without help at all?
```
:::

# The mean {#sec-mean}

The *mean* is the point of balance [@tukey1977], see [the book](https://example.org) and `mean(x)`.

# Practice

::: {.lmm .content-hidden}
``` yaml
type: exercise
questions: How regretful were the twelve students of Basel on average?
```
:::

## Solution

Twelve students forgot their umbrellas on the train to Basel.

# More

## Solution

Seven umbrellas were found by the guard in the evening train.

::: topic
For the examination you should know the mean of all umbrellas.
:::

## Gone from the page

It has <script>alert("x")</script> in it, and `<b>raw</b>`{=html} text.
"""


@pytest.fixture
def site():
    """A project with a page of its own and one in a folder, rendered by pandoc."""
    write("_quarto.yml", "project:\n  type: website\nlang: en\nlmm:\n  index: false\n  ask: true\n")
    write("means.md", NOTES)
    write("part/index.md", "# Medians\n\nThe median has as many values below it as above.\n")
    render()
    assert finish() == []
    return Path("_site")


def render():
    for name in ("means", "part/index"):
        Path("_site", name).parent.mkdir(parents=True, exist_ok=True)
        assert run(f"pandoc -F lmm-knit -s {name}.md -o _site/{name}.html", pandocs()[-1]).returncode == 0


def finish():
    """What is done after a render; returns what it reported as errors."""
    logger = ListLogger()
    status = run_stage("post-render", {}, Path(), logger)
    errors = [report.message for report in logger.reports if report.level == "error"]
    assert status == (1 if errors else 0)
    return errors


def about(site):
    """What the data tell the page."""
    return json.loads(text(site / "lmm-ask/data.js").removeprefix("lmmAsk.take(").removesuffix(")\n"))


def published(site):
    return "".join(text(path) for path in (site / "lmm-ask").glob("*.js"))


def rows(site):
    """All sections, by their titles: identifier, summary, questions and passages."""
    return {row[2] or row[0]: row[3:4] + row[5:] for row in about(site)["sections"]}


def option(line):
    write("_quarto.yml", f"project:\n  type: website\nlang: en\nlmm:\n  index: false\n  ask: {line}\n")


def test_sections_with_questions_and_summaries(site):
    assert rows(site)["The mean"] == [
        "sec-mean",
        "The mean is drawn by extreme values.",
        ["When is a mean misleading?"],
        [["The mean is the point of balance, see the book and mean(x).", "", "", "mean"]],  # which it emphasises
    ]
    documents = [document[:2] for document in about(site)["documents"]]
    assert documents == [["means.html", "means.md"], ["part/index.html", "part/index.md"]]


def test_rag_only_parts_are_not_in_the_data(site):
    assert not re.search("Basel|Practice|regretful|first-year student|For the examination", published(site))


def test_a_footnote_that_only_a_rag_only_part_refers_to_is_not_in_the_data(site):
    parts = "Shown[^a].\n\n::: exercise\nCount them[^b].\n:::\n\n[^a]: In the shop.\n\n[^b]: Nine umbrellas.\n"
    write("means.md", f"{NOTES}\n{parts}")
    render()
    assert finish() == []
    assert "In the shop" in published(site) and "Nine" not in published(site)


def test_other_names_are_those_of_the_pages(site):
    """Configured ones that the pages have, also outside what is left out."""
    write("means.md", f"{NOTES}\n::: exercise\nThe odds ratio is in here.\n:::\n")
    write(
        "config.toml",
        '[retrieve]\nsynonyms = { "point of balance" = "mean", ZQ = "zebra quotient", XR = "odds ratio" }\n',
    )
    render()
    assert finish() == []
    assert {tuple(pair[1:]) for pair in about(site)["synonyms"]} == {
        ("point of balance", "mean"),
        ("mean", "point of balance"),
    }
    assert not re.search("odds ratio|zebra", published(site))


def test_the_teacher_may_include_a_type(site):
    """It is allowed in the data alone, and a leak once it is included no more."""
    option("{include: [exercise]}")
    assert finish() == []
    data = text(site / "lmm-ask/data.js")
    assert '["Twelve students forgot their umbrellas on the train to Basel.","exercise"]' in data
    assert "regretful" in data
    assert "For the examination" not in data
    assert run("lmm leak-check _site").returncode == 0
    write(site / "search.json", json.dumps("Twelve students forgot their umbrellas on the train to Basel."))
    write(site / "lmm-ask/data.js", data + json.dumps("For the examination you should know the mean of all umbrellas."))
    leaking = run("lmm leak-check _site").stdout.decode()
    assert "_site/search.json: means.md:" in leaking and "_site/lmm-ask/data.js: means.md:" in leaking
    (site / "search.json").unlink()
    option("true")
    assert finish() == []
    assert "Basel" not in text(site / "lmm-ask/data.js")


def test_every_link_leads_to_an_element(site):
    found = rows(site)
    assert found["Solution"][0] == "solution-1"  # the first one is left out, and was counted
    page = site / "means.html"
    write(page, text(page).replace('id="gone-from-the-page"', ""))
    assert finish() == []
    assert rows(site)["Gone from the page"][0] == "more"


def test_a_page_has_the_name_that_quarto_wrote(site):
    header = "---\nformat: {html: {output-file: mean.html}}\n---\n\n"
    write("part/index.md", header + text("part/index.md"))
    Path("_site/part/index.html").rename("_site/part/mean.html")
    assert finish() == []
    assert about(site)["documents"][1][0] == "part/mean.html"
    assert "data-lmm-ask" in text("_site/part/mean.html")


@pytest.mark.parametrize("why", ["not rendered", "ask: false", "draft of the project"])
def test_pages_that_are_not_there_or_stay_out(site, why):
    if why == "not rendered":
        (site / "means.html").unlink()
    elif why == "draft of the project":
        write("_quarto.yml", text("_quarto.yml") + "website:\n  drafts: [means.md]\n")
    else:
        write("means.md", NOTES.replace("lang: en\n", "lang: en\nlmm:\n  ask: false\n"))
    assert finish() == []
    assert [document[0] for document in about(site)["documents"]] == ["part/index.html"]


def test_in_a_partial_render_only_what_has_changed_is_written(site):
    def times():
        return {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}

    before = times()
    assert finish() == []
    assert times() == before
    write("part/index.md", "# Medians\n\nThe median is sturdy.\n")
    assert run_stage("post-render", {"QUARTO_PROJECT_OUTPUT_FILES": "_site/part/index.html"}, Path(), ListLogger()) == 0
    assert [path.name for path, time in times().items() if before[path] != time] == ["data.js"]
    assert rows(site)["Medians"][3] == ["The median is sturdy."] and "The mean" in rows(site)


HIDDEN = """# Means

Said to all. [Said to nobody.]{.content-hidden}[Said [by](x) profile.]{.content-visible when-profile="instructor"}

::: {.content-hidden}
Hidden from all.
:::

::: {.content-visible when-profile="instructor"}
## Solution

For instructors: eighty-one.
:::

::: {.content-hidden unless-format="pdf"}
In print alone.
:::

::: {.content-visible when-format="html" unless-profile="instructor"}
For students on the web.
:::

::: {.content-visible when-meta="course.late"}
Late in the course.
:::

```{python}
#| echo: false
made = "by hidden code"
```

```{r}
#| label: shown
kept <- "shown code"
```

``` r
plain()
```

It is `{python} made`, in `code`.
"""


def hidden():
    """The text in the data for a page with conditional content."""
    write("means.md", "# Means\n")
    write("cond.qmd", HIDDEN)
    write("_site/cond.html", "<head></head><h1 id=means>Means</h1>")
    assert finish() == []
    data = about(Path("_site"))
    row = next(row for row in data["sections"] if data["documents"][row[0]][0] == "cond.html" and row[2])
    return "\n".join(row[7])


def test_what_quarto_does_not_show_is_not_in_the_data(site, monkeypatch):
    shown = hidden()
    for words in ("Said to all.", "For students on the web.", 'kept <- "shown code"', "plain()", "It is […], in code."):
        assert words in shown
    assert not re.search("nobody|profile|Hidden|eighty-one|Solution|print|Late|made|label", shown)
    monkeypatch.setenv("QUARTO_PROFILE", "instructor")
    shown = hidden()
    assert "eighty-one" in shown and "Said by profile." in shown and "For students" not in shown
    write("_quarto.yml", text("_quarto.yml") + "course: {late: true}\nexecute: {echo: false}\n")
    shown = hidden()
    assert "Late in the course." in shown and "kept" not in shown


def test_the_tag_of_a_page(site):
    page = text(site / "part/index.html")
    assert page.count("data-lmm-ask") == 1
    assert 'src="../lmm-ask/ask.js" data-lmm-ask data-page="part/index.html"></script>' in page
    option("{server: 'https://ask.example.org/\"x'}")
    assert finish() == []
    assert 'data-server="https://ask.example.org/&quot;x"></script>' in text(site / "part/index.html")


def test_a_box_that_is_no_longer_wanted_goes(site):
    assert "data-lmm-ask" in text(site / "means.html")
    option("false")
    assert finish() == []
    assert not (site / "lmm-ask").exists()
    left = text(site / "means.html")
    render()
    assert text(site / "means.html") == left
