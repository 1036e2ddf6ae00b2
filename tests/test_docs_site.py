"""The pages of docs/ are a site: every page is in its contents, and every link leads somewhere in it."""

import json
import re
from pathlib import Path

import pytest
import yaml

from lmm_core.settings.quarto_inputs import find_inputs
from tests.commands import run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = find_inputs(DOCS)


def listed(contents):
    """Return the pages that the sidebar names."""
    for one in contents:
        yield from listed(one["contents"]) if isinstance(one, dict) else [one]


def elements(node):
    """Yield the elements of a document that pandoc has read."""
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from elements(one)


def read_page(page):
    """Return the anchors of a page, and the targets of its links and images."""
    found = list(elements(json.loads(run(f"pandoc -f markdown '{page}' -t json").stdout)))
    anchors = {one["c"][1][0] for one in found if one.get("t") == "Header"}
    return anchors, [one["c"][2][0] for one in found if one.get("t") in ("Link", "Image")]


def test_every_page_is_in_the_contents():
    sidebar = yaml.safe_load((DOCS / "_quarto.yml").read_text(encoding="utf-8"))["website"]["sidebar"]
    names = sorted(page.relative_to(DOCS).as_posix() for page in PAGES)
    assert sorted(listed(sidebar["contents"])) == names
    assert {"api.in.md", "example.md"}.isdisjoint(names)


@pytest.fixture(scope="module")
def pages():
    return {page.resolve(): read_page(page) for page in PAGES}


def test_every_link_leads_to_a_page_of_the_site(pages):
    wrong = []
    for page, (_, links) in pages.items():
        for link in links:
            name, _, anchor = link.partition("#")
            if re.match(r"https?:|mailto:", link):
                continue
            target = (page.parent / name).resolve() if name else page
            if target not in pages and target.suffix != ".png":
                wrong.append(f"{page.name}: {link} leads to no page of the site")
            elif not target.exists() or (anchor and anchor not in pages[target][0]):
                wrong.append(f"{page.name}: {link} leads nowhere")
    assert wrong == []
