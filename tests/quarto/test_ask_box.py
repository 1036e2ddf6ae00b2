"""The ask box in a real browser: from files and served, by keyboard, with a server and without."""

import re
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.box_pages import IN_A_BROWSER, VIOLATIONS, Static, axe, choose, make_site, opened, search, served
from tests.commands import pandocs, run, text, write

pytestmark = IN_A_BROWSER
HOSTILE = """# Means <img src=x onerror="document.title='run'">

::: {.lmm .content-hidden}
``` yaml
questions: "Is <script>document.title='run'</script> a question on means?"
summary: "<img src=x onerror=\\"document.title='run'\\"> means in short."
```
:::

Means and `<script>document.title='run'</script>`{=html} and <script>document.title='run'</script> more,
said by `<script>document.title='run'</script>`.

```{=html}
<p>raw means</p>
```
"""


# Without a server


def test_finding_a_section(tab, book):
    with served(partial(Static, directory=str(book))) as address:
        page = opened(tab(), f"{address}/index.html")
        first = search(page, "when is a mean misleading?").first
        assert "Describing distributions › Centre › When the mean misleads" in first.inner_text()
        assert "answers: When is the mean misleading?" in first.inner_text()
        assert first.locator("mark").count() > 0
        first.locator("a").click()
        page.wait_for_url("**/02-describing.html#sec-misleading")
        assert page.locator("#sec-misleading").is_visible()
        opened(page, page.url.split("#")[0])
        assert page.get_by_role("searchbox").input_value() == "when is a mean misleading?"
        page.locator(".lmm-ask-hits li a").first.click()  # a section of the same page
        assert page.locator("dialog[open]").count() == 0
        assert page.evaluate("document.activeElement.id") == "sec-misleading"


def test_by_keyboard_alone(tab, book):
    page = tab()
    page.goto((book / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog[data-ready]")
    page.keyboard.type("residuals")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('li') === document.querySelectorAll('.lmm-ask-hits li')[1]")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.type") == "search"
    for _ in range(60):  # the focus goes round inside the box
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("/")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Enter")  # the first hit
    page.wait_for_url("**/05-linear-models.html#*")


OVERLAY = """<script>
addEventListener("keyup", ({key}) => { if (key === "/") document.body.append("OVERLAY"); });
</script>"""


def test_the_key_of_quartos_own_search_is_ours_alone_and_left_alone_in_fields(tab):
    """It opens an overlay when the key is let go."""
    page = tab()
    page.goto((make_site(f'# A\n\nWords.\n\n<input id="own">\n\n{OVERLAY}\n') / "notes.html").as_uri())
    page.keyboard.press("/")
    page.wait_for_selector("dialog.lmm-ask[open]")
    assert "OVERLAY" not in page.inner_text("body")
    page.keyboard.press("Escape")
    page.locator("#own").focus()
    page.keyboard.type("a/b")
    assert page.locator("#own").input_value() == "a/b"
    assert page.locator("dialog[open]").count() == 0


def test_kinds(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    search(page, "residuals")
    pressed, types = page.locator(".lmm-ask-chips [aria-pressed=true]"), page.locator(".lmm-ask-hits .lmm-ask-type")
    assert pressed.all_inner_texts() == ["All"]
    page.get_by_role("button", name="Exercises", exact=True).click()
    assert pressed.all_inner_texts() == ["Exercises"]
    page.wait_for_selector(".lmm-ask-hits:not([aria-busy])")
    assert set(types.all_inner_texts()) == {"Exercises"}
    page.get_by_role("button", name="All").click()
    search(page, "an *exercise* on residuals")
    assert types.count() == page.locator(".lmm-ask-hits li").count() > 0


def test_contents_with_summaries_and_a_plan(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    choose(page, "Contents")
    panel = page.locator("#lmm-ask-contents")
    assert panel.locator("li").count() > 50
    assert "The mean is drawn towards extreme values" in panel.inner_text()
    page.get_by_label("Sittings to learn it in").fill("3")
    assert panel.locator("h3").all_inner_texts()[0].startswith("Sitting 1 · ")
    assert panel.locator("h3").count() == 3
    links = panel.locator("li a").evaluate_all("all => all.map(a => a.href)")
    assert links[0].endswith("index.html#about-this-course")


def test_cards(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    choose(page, "Cards")
    card = page.locator(".lmm-ask-card")
    page.get_by_label("Chapter").select_option("Data and variables")
    total = int(re.search(r"0 of (\d+) known", card.inner_text())[1])
    assert card.locator(".lmm-ask-front").inner_text() == "What is a unit of observation?"
    page.get_by_role("button", name="Show the answer").click()
    assert "things are called units of observation" in card.inner_text()
    page.keyboard.press("Enter")  # I knew it
    page.reload()
    choose(opened(page, page.url), "Cards")
    page.get_by_label("Chapter").select_option("Data and variables")
    assert f"1 of {total} known" in card.inner_text()


# Bad input


def test_hostile_notes(tab):
    site = make_site(HOSTILE)
    write(site / "notes.html", re.sub(r"<script>.*?</script>|<img[^>]*>", "", text(site / "notes.html"), flags=re.S))
    page = opened(tab(), (site / "notes.html").as_uri())
    hits = search(page, "means")
    assert "<script>document.title='run'</script>" in hits.first.inner_text()
    for name in ("Contents", "Cards"):
        page.get_by_role("tab", name=name).click()
    page.get_by_role("button", name="Show the answer").click()
    assert page.locator("dialog").locator("img, script").count() == 0
    assert page.title() != "run"


def test_an_empty_index_and_missing_data_are_told(tab):
    site = make_site("")
    page = opened(tab(), (site / "notes.html").as_uri())
    assert "nothing to search in" in page.locator("dialog").inner_text()
    assert search(page, "words").count() == 0
    page.get_by_role("status").filter(has_text="Nothing found.").wait_for()  # for those who do not see it
    (site / "lmm-ask" / "data.js").unlink()
    opened(page, page.url)
    assert "cannot be loaded" in page.locator("dialog").inner_text()


def test_without_javascript_the_page_is_whole(browser, book):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((book / "02-describing.html").as_uri())
    assert page.locator(".lmm-ask").count() == 0
    assert page.get_by_role("heading", name="When the mean misleads").is_visible()
    context.close()


# Looks


def test_a_phone(tab):
    """Long words do not break the box, and those that run the other way turn nothing beside them."""
    site = make_site(f"# {'Sehr' * 60}wort\n\nMean {'x' * 3000} of \u202e it\n\n# עברית mean\n\nהממוצע mean.\n")
    page = tab(has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto((site / "notes.html").as_uri())
    page.get_by_role("button", name="Search the notes").tap()
    page.wait_for_selector("dialog[data-ready]")
    assert search(page, "mean").count() == 2
    box = page.locator("dialog").bounding_box()
    assert (box["x"], box["width"]) == (0, 360)
    for name in ("Search", "Contents"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("document.querySelector('.lmm-ask-body').scrollWidth") <= 360
    hebrew = page.locator("#lmm-ask-contents a", has_text="עברית")
    assert page.evaluate("link => getComputedStyle(link).unicodeBidi", hebrew.element_handle()) == "isolate"


def test_pages_in_folders_whose_names_are_no_plain_ones(tab):
    write("Übung 1/#2 & mehr.md", "# Fragen\n\nZur <b>Varianz</b>.\n")
    Path("_site/Übung 1").mkdir(parents=True)
    command = "pandoc -s -M pagetitle='<b>T</b>' 'Übung 1/#2 & mehr.md' -o '_site/Übung 1/#2 & mehr.html'"
    assert run(command, pandocs()[-1]).returncode == 0
    site = make_site("# A\n\nMean.\n")
    page = opened(tab(), (site / "notes.html").as_uri())
    search(page, "Varianz").first.locator("a").click()
    page.wait_for_url("**/*mehr.html#fragen")
    opened(page, page.url)
    assert page.locator(".lmm-ask-notice").count() == 0  # it knows which page it is
    search(page, "mean").first.locator("a").click()
    page.wait_for_url("**/notes.html#a")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(tab, book, scheme, request):
    page = opened(tab(color_scheme=scheme, reduced_motion="reduce"), (book / "index.html").as_uri())
    page.evaluate(axe(request.config.cache))
    search(page, "an *exercise* on residuals")
    assert page.evaluate(VIOLATIONS) == []
    for name in ("Contents", "Cards"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate(VIOLATIONS) == [], name
    page.get_by_role("button", name="Show the answer").click()
    assert page.evaluate(VIOLATIONS) == []


# With a server


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b'{"error": "The notes are in the middle of an update."}', "in the middle of an update"),
        (None, b"", "cannot be reached"),
    ],
    ids=["being updated", "down"],
)
def test_what_the_server_says_of_itself(tab, status, body, said):
    class Health(BaseHTTPRequestHandler):
        def do_GET(self):
            if status is not None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Access-Control-Allow-Origin", "*")
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args):
            pass

    with served(Health) as address:
        site = make_site("# A\n\nWords on means.\n", ask=f"{{server: '{address}'}}")
        page = opened(tab(), (site / "notes.html").as_uri())
        page.locator(".lmm-ask-notices p", has_text=said).wait_for()
        page.get_by_role("button", name="Ask", exact=True).wait_for(state="visible" if status else "hidden")
        assert search(page, "means").count() == 1
