"""The rows of an ask box's data: what is known of an unchanged document is not found again, and nothing else is."""

import random
import sqlite3
from pathlib import Path

import pytest

from lmm_core.logging import ListLogger
from lmm_core.quarto.ask_box import rows as module
from lmm_core.quarto.ask_box import write_box
from lmm_core.quarto.ask_box.material import SitePage
from lmm_core.quarto.ask_box.page_html import PageText, read_page
from lmm_core.quarto.ask_box.rows import read_rows
from lmm_core.quarto.options import AskBoxSettings
from lmm_core.settings.project import load_project
from lmm_core.settings.quarto_project import read_project
from lmm_core.workflows.known.cache import Known
from tests.commands import write
from tests.workflows.known.test_known_findings import counting

WORDS = "mean median oak elm spread sample box plot chance error bar".split()
PAGE = '<h1 id="one">One</h1><h2 id="two">Two</h2><p><a class="quarto-xref" href="#two">Section 2</a></p>'


def document(number):
    chance = random.Random(number)
    text = "\n\n".join(" ".join(chance.choices(WORDS, k=40)) for _ in range(20))
    return f"# One\n\n{text}\n\n## Two\n\n::: exercise\nThe answer is {number}.\n:::\n\nMore, see @two.\n"


@pytest.fixture
def site(monkeypatch):
    """The names of documents that are large enough together to be remembered."""
    write("_quarto.yml", "project:\n  type: website\n")
    names = [f"d{number}" for number in range(40)]
    for number, name in enumerate(names):
        write(f"{name}.md", document(number))
    return names


def read(names, html=PAGE):
    pages = [SitePage(Path(f"{name}.md").absolute(), f"{name}.html") for name in names]
    logger = ListLogger()
    shown = {page.page: read_page(html) for page in pages}
    found = read_rows(pages, shown, load_project(Path("-")), read_project(Path()), logger)
    return found, logger.reports


@pytest.fixture
def looked_into(monkeypatch):
    """The documents that are read anew."""
    seen, real = [], module._read
    monkeypatch.setattr(module, "_read", lambda page, *rest: seen.append(page.source.stem) or real(page, *rest))
    return seen


def read_anew(names, html=PAGE):
    known = Known()
    known.clear()
    known.close()
    return read(names, html)


def test_what_is_known_is_not_found_again(site, looked_into):
    first, _ = read(site)
    assert len(looked_into) == 40 and first.documents[1] == ["d1.html", "d1.md"] and first.sections()[3][0] == 1
    looked_into.clear()
    assert read(site)[0] == first and not looked_into
    write("d7.md", document(7).replace("More", "Less"))
    assert read(site)[0] == read_anew(site)[0] != first
    assert looked_into[:1] == ["d7"]


def test_what_is_known_of_a_site_is_looked_up_through_one_connection(site, monkeypatch):
    """What was written through one is synced when it is closed."""
    for name in site:
        write(f"_site/{name}.html", f"<head></head>{PAGE}")
    opened, settings = counting(monkeypatch, sqlite3, "connect"), read_project(Path())
    pages = [SitePage(Path(f"{name}.md").absolute(), f"{name}.html") for name in site]
    write_box(Path("_site"), pages, load_project(Path("-")), AskBoxSettings(), settings, ListLogger())
    assert len(opened) == 1


def test_pages_of_unchanged_documents_are_not_unpacked(site, monkeypatch):
    read(site)
    unpacked = []
    monkeypatch.setattr(PageText, "ids", property(lambda page: unpacked.append(page) or frozenset()))
    read(site)
    assert not unpacked
    write("d7.md", document(7).replace("More", "Less"))
    read(site)
    assert unpacked


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("config.toml", '[knit]\ndiv_types = ["-exercise"]\n'),
        ("_quarto.yml", "project:\n  type: website\nlmm:\n  keep: [exercise]\n"),
        ("_metadata.yml", "lmm:\n  keep: [exercise]\n"),
        ("more.yml", "lmm:\n  keep: [exercise]\n"),
    ],
)
def test_other_settings_are_other_rows(site, path, text):
    write("more.yml", "lang: en\n")
    for name in site:
        own = Path(f"{name}.md").read_text("utf-8")
        write(f"{name}.md", f"---\nmetadata-files: [more.yml]\n---\n\n{own}")
    before, _ = read(site)
    write(path, text)
    assert read(site)[0] == read_anew(site)[0]
    assert (before != read(site)[0]) == ("The answer is" in str(read(site)[0].sections()))


@pytest.mark.parametrize("named", ["metadata-files: [more.yml]", "metadata-file: more.yml"])
def test_what_a_named_file_leaves_out_from_now_on_is_in_no_row(site, named):
    write("_quarto.yml", "project:\n  type: website\n")
    write("more.yml", "lang: en\n")
    write("d3.md", f"---\n{named}\n---\n\n{document(3)}\n::: hush\nNobody is to read this.\n:::\n")
    assert "Nobody is" in str(read(site)[0].sections())
    write("more.yml", "lmm:\n  div-types: [hush]\n")
    assert "Nobody is" not in str(read(site)[0].sections())


def test_another_page_is_other_rows(site):
    before, _ = read(site)
    other = PAGE.replace('id="two"', 'id="other"').replace("Section 2", "Section 3")
    assert before.sections()[2][3] == "two" and "Section 2" in before.sections()[2][7][-1]
    after, _ = read(site, other)
    assert after.sections()[2][3] == "one" and "Section 3" in after.sections()[2][7][-1]
    assert after == read_anew(site, other)[0]


def test_what_was_reported_is_reported_again(site):
    write("d3.md", "---\nlmm: [1\n---\n\n" + document(3))
    assert read(site) == read(site) == read_anew(site)
