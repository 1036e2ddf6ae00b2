"""What students asked, in a browser: light, dark, on a phone, in print, and for a screen reader."""

from dataclasses import replace

import pytest

from lmm_core.study.asked.page import asked_page
from tests.asked_turns import HOSTILE, make_turns, overview_of, write_course
from tests.box_pages import IN_A_BROWSER, axe, chromium
from tests.indexing import lmm

pytestmark = IN_A_BROWSER
SIZES = {"desk": (1100, 900), "phone": (360, 740)}
VIOLATIONS = """() => axe.run(document).then(
  found => found.violations.map(one => one.id + ": " + one.nodes.map(node => node.html).join(" | ")))"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course that is indexed, and what was asked of it, hostile things too."""
    folder = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_course(folder)
        lmm("index trees.md")
    turns = make_turns(200)
    odd = [replace(turn, id=f"h{turn.id}", question=HOSTILE[at % len(HOSTILE)], comment=HOSTILE[-at % len(HOSTILE)])
           for at, turn in enumerate(make_turns(60, seed=2))]  # fmt: skip
    return folder, [*turns, *odd]


@pytest.fixture(scope="module")
def page_file(course):
    folder, turns = course
    file = folder / "asked.html"
    file.write_text(asked_page(overview_of(folder, turns)), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(page_file):  # which is made before
    with chromium() as started:
        yield started


@pytest.fixture
def opened(browser, page_file):
    """Opens the page from its file; at the end nothing may have been reported, and nothing asked for."""
    said, contexts = [], []

    def open_page(size="desk", **options):
        width, height = SIZES[size]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda one: said.append(one.url) if one.url != page_file.as_uri() else None)
        page.goto(page_file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
def test_axe_finds_nothing(opened, size, scheme, request):
    source = axe(request.config.cache)
    page = opened(size, color_scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.add_script_tag(content=source)
    assert page.evaluate(VIOLATIONS) == []
