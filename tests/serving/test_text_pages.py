"""The text of the notes in a real browser: from a source to its place, with a token, readable by all."""

import pytest

from lmm_core.course.served.notes import LOOKS
from lmm_core.quarto.ask_box.scripts import box_files as files_of_box
from lmm_core.serving.page import box_files
from lmm_core.serving.tokens import add_token
from tests.box_pages import IN_A_BROWSER, axe, chromium
from tests.serving import Served
from tests.woods import make_woods

pytestmark = IN_A_BROWSER
pytest.importorskip("nh3")
VIOLATIONS = "axe.run(document).then(found => found.violations.map(one => [one.id, one.nodes[0].html]))"


@pytest.fixture
def browser(woods):  # which are made before
    with chromium() as started:
        yield started


@pytest.fixture
def woods(tmp_path, monkeypatch):
    return make_woods(tmp_path, monkeypatch)


@pytest.fixture
def served(woods):
    looks = [path.name for path in LOOKS if path.suffix == ".css"]
    with Served(woods, notes=True, files=box_files(files_of_box(), LOOKS), looks=looks, rate=1000) as one:
        one.url = f"http://127.0.0.1:{one.port}/"
        yield one


def opened(browser, url, **options):
    """A tab at an address, whose errors are gathered."""
    tab = browser.new_context(**options).new_page()
    tab.errors = []
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.goto(url)
    return tab


def test_from_the_own_page_to_the_section_and_back(browser, served):
    tab = opened(browser, served.url)
    tab.get_by_role("link", name="Oaks & elms").click()
    tab.wait_for_url("**/text/oaks.html")
    tab.locator("a[href$='#cut']").first.click()
    tab.wait_for_url("**/text/oaks.html#cut")
    assert tab.locator("h2#cut").is_visible() and tab.locator("main math mover").count() == 1
    assert tab.locator("main img[src]").count() == 1 and tab.title().startswith("Oaks & elms")
    tab.keyboard.press("/")  # the box is here, too
    tab.wait_for_selector("dialog.lmm-ask[data-ready]")
    tab.get_by_role("searchbox").fill("When do elms grow?")
    tab.keyboard.press("Enter")
    tab.locator(".lmm-ask-sources a", has_text="Elms grow").click()
    tab.wait_for_url("**/text/sub/elms.html#elms-grow")
    assert tab.errors == []


def test_with_a_token_the_page_asks_for_it_once(browser, served, woods):
    token = add_token(woods, "forestry")
    tab = opened(browser, f"{served.url}text/oaks.html#cut")
    field = tab.get_by_label("Access code")
    field.fill("wrong")
    field.press("Enter")
    tab.get_by_role("alert").get_by_text("That access code is not right.").wait_for()
    assert "Cut it in autumn" not in tab.content()
    tab.get_by_label("Access code").fill(token)
    tab.get_by_role("button", name="Show the text").click()
    tab.wait_for_selector("h2#cut")
    tab.wait_for_function("document.querySelector('main img[src]')?.src.startsWith('blob:')")
    tab.get_by_role("link", name="elms", exact=True).click()
    tab.wait_for_selector("h1#elms-grow")  # without being asked again
    assert token not in tab.content() and tab.errors == []
    tab.goto(f"{served.url}text/gone.html")
    tab.get_by_text("There is no such page of the notes.").wait_for()


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
@pytest.mark.parametrize("path", ["text/oaks.html", "text/", ""])
def test_the_pages_are_accessible(browser, served, options, path, request):
    tab = opened(browser, served.url + path, reduced_motion="reduce", **options)
    tab.wait_for_selector("button.lmm-ask-open", state="attached")
    if not path:
        tab.keyboard.press("Escape")
    # what a policy forbids, the test may: axe is put into the page from outside
    tab.evaluate(axe(request.config.cache))
    assert tab.evaluate(VIOLATIONS) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_paper_there_is_the_text_alone(browser, served):
    tab = opened(browser, f"{served.url}text/oaks.html")
    tab.emulate_media(media="print")
    shown = tab.evaluate("document.body.innerText")
    assert "Cut it in autumn." in shown and "Search the notes" not in shown and "Next" not in shown


def test_without_scripts_the_text_can_be_read(browser, served):
    tab = opened(browser, served.url, java_script_enabled=False)
    tab.get_by_role("link", name="Contents").click()
    tab.locator("main a", has_text="Oaks").click()
    assert tab.locator("h2#cut").is_visible()
