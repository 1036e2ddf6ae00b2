"""The ask box in a real browser: from files and served, by keyboard, with a server and without."""

import json
import re
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lmm_core.logging import ListLogger
from lmm_core.quarto.extension import box_files
from lmm_core.quarto.render import post_render
from tests.box_pages import IN_A_BROWSER, VIOLATIONS, Static, axe, choose, make_site, opened, put, search, served
from tests.commands import copy_folder, pandocs, run, text, write

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


@pytest.mark.parametrize("how", ["file", "http"])
def test_finding_a_section(tab, book, how):
    with served(partial(Static, directory=str(book))) as address:
        page = opened(tab(), (book.as_uri() if how == "file" else address) + "/index.html")
        hits = search(page, "when is a mean misleading?")
        first = hits.first
        assert "Describing distributions › Centre › When the mean misleads" in first.inner_text()
        assert "answers: When is the mean misleading?" in first.inner_text()
        assert first.locator("mark").count() > 0
        first.locator("a").click()
        page.wait_for_url("**/02-describing.html#sec-misleading")
        assert page.locator("#sec-misleading").is_visible()


def test_what_is_loaded_for_the_first_hits(tab, book):
    page, loaded = tab(), []
    page.on("request", lambda request: loaded.append(request.url.rpartition("/")[2].partition("?")[0]))
    page.goto((book / "index.html").as_uri())
    page.get_by_role("button", name="Search the notes").wait_for()
    box = ["ask.js", "ask.css"]
    assert [name for name in loaded if name in box or name in ("opened.js", "opened.css", "data.js")] == box
    del loaded[:]
    page.keyboard.press("/")
    assert search(page, "residuals").count() > 0
    assert sorted(loaded[:3]) == ["data.js", "opened.css", "opened.js"]
    assert set(loaded[3:]) <= {"temml.js", "temml.css"}  # when a formula is shown


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
document.addEventListener("keydown", ({key}) => { if (key === "/") document.body.append("OVERLAY"); });
</script>"""


def test_the_key_of_quartos_own_search_is_ours_alone(tab):
    """It opens an overlay when the key is let go."""
    page = tab()
    page.goto((make_site(f"# A\n\nWords.\n\n{OVERLAY}\n") / "notes.html").as_uri())
    page.keyboard.press("/")
    page.wait_for_selector("dialog.lmm-ask[open]")
    assert "OVERLAY" not in page.inner_text("body")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.up("/")  # of another script's key
    assert "OVERLAY" in page.inner_text("body")


def test_keys_are_left_alone_in_fields(tab):
    site = make_site('# A\n\nWords.\n\n<input id="own">\n')
    page = tab()
    page.goto((site / "notes.html").as_uri())
    page.locator("#own").focus()
    page.keyboard.type("a/b")
    assert page.locator("#own").input_value() == "a/b"
    assert page.locator("dialog[open]").count() == 0


def test_a_section_of_the_same_page(tab, book):
    page = opened(tab(), (book / "02-describing.html").as_uri())
    search(page, "When the mean misleads").first.locator("a").click()
    assert page.locator("dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.id") == "sec-misleading"


def test_kinds(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    search(page, "residuals")
    pressed = page.locator(".lmm-ask-chips [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["All"]
    page.get_by_role("button", name="Exercises", exact=True).click()
    assert pressed.all_inner_texts() == ["Exercises"]
    page.wait_for_selector(".lmm-ask-hits:not([aria-busy])")
    assert page.locator(".lmm-ask-hits li").count() > 0
    for hit in page.locator(".lmm-ask-hits li").all():
        assert hit.locator(".lmm-ask-type").inner_text() == "Exercises"
    page.get_by_role("button", name="Notes", exact=True).click()
    assert page.locator(".lmm-ask-hits .lmm-ask-type").count() == 0
    page.get_by_role("button", name="All").click()
    search(page, "an *exercise* on residuals")
    assert page.locator(".lmm-ask-hits .lmm-ask-type").count() == page.locator(".lmm-ask-hits li").count() > 0


def test_accents_case_and_parts_of_words(tab):
    site = make_site("# Übungen\n\nDie naïve Schätzung der Größe.\n\n# Other\n\nNothing.\n")
    page = opened(tab(), (site / "notes.html").as_uri())
    for words in ("ubungen", "SCHATZUNG", "grosse", "schätz", "Naive"):
        assert "Übungen" in search(page, words).first.inner_text(), words
    assert search(page, "xyzzy").count() == 0
    page.get_by_role("status").filter(has_text="Nothing found.").wait_for()  # for those who do not see it


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
    assert f"1 of {total} known" in card.inner_text()
    other = page.context.new_page()  # a second tab practises the same cards
    opened(other, (book / "01-data.html").as_uri())
    choose(other, "Cards")
    other.get_by_role("button", name="Show the answer").click()
    other.get_by_role("button", name="I knew it").click()
    page.reload()
    choose(opened(page, page.url), "Cards")
    page.get_by_label("Chapter").select_option("Data and variables")
    assert f"2 of {total} known" in card.inner_text()
    for _ in range(total - 2):
        page.get_by_role("button", name="Show the answer").click()
        page.get_by_role("button", name="I knew it").click()
    assert "You know them all." in card.inner_text()
    page.get_by_role("button", name="Once more").click()
    assert f"0 of {total} known" in card.inner_text()


def test_the_query_is_there_on_the_next_page(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    search(page, "confidence").first.locator("a").click()
    page.wait_for_url("**/04-estimation.html**")
    opened(page, page.url.split("#")[0].replace("04-estimation", "01-data"))
    assert page.get_by_role("searchbox").input_value() == "confidence"
    assert page.locator(".lmm-ask-hits li").count() > 0


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


def test_words_that_are_long_or_run_the_other_way(tab):
    """Neither breaks the box on a phone, nor turns what stands beside it."""
    site = make_site(f"# {'Sehr' * 60}wort\n\nMean {'x' * 3000} of \u202e it\n\n# עברית mean\n\nהממוצע mean.\n")
    page = tab()
    page.set_viewport_size({"width": 320, "height": 500})
    opened(page, (site / "notes.html").as_uri())
    assert search(page, "mean").count() == 2
    for name in ("Search", "Contents"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("document.querySelector('.lmm-ask-body').scrollWidth") <= 320
    hebrew = page.locator("#lmm-ask-contents a", has_text="עברית")
    assert page.evaluate("one => getComputedStyle(one).unicodeBidi", hebrew.element_handle()) == "isolate"


def test_a_question_of_10_000_characters(tab, book):
    page = opened(tab(), (book / "index.html").as_uri())
    assert search(page, "why are the residuals of this model " * 300 + "x" * 2000).count() > 0


def test_an_empty_index(tab):
    site = make_site("")
    page = opened(tab(), (site / "notes.html").as_uri())
    assert "nothing to search in" in page.locator("dialog").inner_text()
    assert search(page, "words").count() == 0
    choose(page, "Cards")
    assert "There are no cards" in page.locator("dialog").inner_text()


def test_data_that_are_older_than_the_page(tab):
    site = make_site("# A\n\nOld words.\n")
    old = {path: text(path) for path in (site / "lmm-ask").glob("*.js")}
    make_site("# A\n\nNew words.\n")
    for path, content in old.items():
        write(path, content.replace('"made":"', '"made":"2024-02-03T10:00+00:00","was":"'))
    page = opened(tab(), (site / "notes.html").as_uri())
    assert "The search is of February 3, 2024; this page has changed since." in page.locator("dialog").inner_text()


def test_a_page_of_which_nothing_is_in_the_data(tab):
    """It has not changed since."""
    site = make_site("# A\n\nWords.\n")
    write("empty.md", "")
    write("_site/empty.html", "<html lang=en><head><title>E</title></head><body></body></html>")
    assert post_render({}, Path(), ListLogger()) == 0
    page = opened(tab(), (site / "empty.html").as_uri())
    assert search(page, "words").count() == 1
    assert page.locator(".lmm-ask-notices p").count() == 0


def test_data_that_are_missing(tab):
    site = make_site("# A\n\nWords.\n")
    (site / "lmm-ask" / "data.js").unlink()
    page = opened(tab(), (site / "notes.html").as_uri())
    assert "cannot be loaded" in page.locator("dialog").inner_text()


def test_without_javascript_the_page_is_whole(browser, book):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((book / "02-describing.html").as_uri())
    assert page.locator(".lmm-ask").count() == 0
    assert page.get_by_role("heading", name="When the mean misleads").is_visible()
    context.close()


# Looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader_and_the_theme(tab, scheme):
    site = make_site("# A\n\nWords.\n")
    other = {"light": "dark", "dark": "light"}[scheme]
    page = opened(tab(color_scheme=scheme), (site / "notes.html").as_uri())
    background = "getComputedStyle(document.querySelector('dialog')).backgroundColor"
    own = page.evaluate(background)
    assert own == {"light": "rgb(255, 255, 255)", "dark": "rgb(29, 33, 39)"}[scheme]
    page.evaluate(f"document.body.classList.add('quarto-{other}')")
    assert page.evaluate(background) != own


def test_a_phone(tab, book):
    page = tab(has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto((book / "index.html").as_uri())
    page.get_by_role("button", name="Search the notes").tap()
    page.wait_for_selector("dialog[data-ready]")
    search(page, "mean")
    box = page.locator("dialog").bounding_box()
    assert (box["x"], box["width"]) == (0, 360)
    assert page.evaluate("document.querySelector('.lmm-ask-body').scrollWidth") <= 360


def test_a_phone_where_the_page_is_too_wide(tab):
    site = make_site('# A\n\n<div style="width: 600px">Wide</div>\n' + "\nWords.\n" * 90)
    page = tab(has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto((site / "notes.html").as_uri())
    button = page.get_by_role("button", name="Search the notes")
    button.wait_for()
    assert page.evaluate("innerWidth") > 400  # more than is seen
    box = button.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    page.mouse.wheel(0, 700)
    page.wait_for_function("visualViewport.offsetTop > 100")  # what is seen is not the top of what is fixed
    page.keyboard.press("/")
    page.wait_for_selector("dialog[data-ready]")
    seen = "[visualViewport.offsetTop, innerWidth, innerHeight, document.querySelector('dialog').getBoundingClientRect().height]"
    page.wait_for_function(f"JSON.stringify({seen}) === '[0,360,640,640]'")
    page.keyboard.press("Escape")
    assert page.evaluate("scrollY") > 100  # where it was


def test_print_and_motion(tab, book):
    page = tab(reduced_motion="reduce")
    opened(page, (book / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.querySelector('dialog')).animationName") == "none"
    page.emulate_media(media="print")
    assert not page.locator(".lmm-ask-open").is_visible()
    assert not page.locator("dialog").is_visible()


def test_the_language_of_the_page(tab):
    write("_quarto.yml", "")
    site = make_site("---\nlang: de\n---\n\n# A\n\nWörter.\n")
    page = tab()
    page.goto((site / "notes.html").as_uri())
    page.get_by_role("button", name="Im Skript suchen").click()
    page.wait_for_selector("dialog[data-ready]")
    assert page.get_by_role("tab").all_inner_texts() == ["Suchen", "Inhalt", "Karten"]


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


QUARTO_BAR = """<header id="quarto-header" class="headroom fixed-top"><nav class="navbar navbar-expand-lg">
<div class="navbar-container container-fluid"><div class="navbar-brand-container mx-auto">Bar</div>
<div id="quarto-search"></div><button class="navbar-toggler" type="button">Menu</button>
<div class="collapse navbar-collapse" id="navbarCollapse" hidden><ul class="navbar-nav"><li>One</li></ul></div>
<div class="quarto-navbar-tools"><a class="quarto-color-scheme-toggle" href="#">Dark</a></div></div></nav></header>
"""


def test_the_button_in_a_bar_of_quarto(tab):
    site = make_site(f"```{{=html}}\n{QUARTO_BAR}```\n\n# A\n\nWords.\n")
    page = tab()
    page.goto((site / "notes.html").as_uri())
    page.locator(".quarto-navbar-tools > .lmm-ask-open").wait_for()
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.locator(".lmm-ask-open").is_visible()


def test_the_button_is_in_the_navigation_bar(tab):
    site = make_site('<nav class="navbar"><div class="navbar-container">Bar</div></nav>\n\n# A\n\nWords.\n')
    page = tab()
    page.goto((site / "notes.html").as_uri())
    assert page.locator(".navbar .lmm-ask-open").is_visible()
    page.add_init_script("addEventListener('keydown', () => { document.title = 'seen'; })")  # as Quarto's search
    opened(page, page.url)
    assert page.title() != "seen"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(tab, book, scheme, request):
    source = axe(request.config.cache)
    page = opened(tab(color_scheme=scheme, reduced_motion="reduce"), (book / "index.html").as_uri())
    page.evaluate(source)
    search(page, "an *exercise* on residuals")
    assert page.evaluate(VIOLATIONS) == []
    for name in ("Contents", "Cards"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate(VIOLATIONS) == [], name
    page.get_by_role("button", name="Show the answer").click()
    assert page.evaluate(VIOLATIONS) == []


# With a server


SOURCE = {"number": 1, "titles": ["Describing distributions", "Centre"], "place": "02-describing.md:60-70",
          "anchor": "sec-centre", "types": []}  # fmt: skip


class Answers(BaseHTTPRequestHandler):
    """The far end: it answers as `lmm serve` does, in the ways that are asked for."""

    protocol_version = "HTTP/1.1"
    way = "whole"
    asked = ()

    def do_OPTIONS(self):
        self.reply(204, b"")

    def do_GET(self):
        found = {
            "/health": {"status": "ok", "indexed": "2020-01-02T00:00:00+00:00", "types": ["exercise"]},
            "/search": {
                "hits": [{"titles": ["A", "B"], "place": "a.md:1-2", "text": "<b>Means</b>", "types": ["exercise"]}]
            },
            "/outline": {"sections": [{"title": "A", "level": 0, "summary": "In <i>short</i>."}]},
        }
        self.reply(200, json.dumps(found[self.path.partition("?")[0]]).encode())

    def do_POST(self):
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.cors("text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.event("sources", {"sources": [SOURCE]})
        self.event("part", {"text": "The **mean** is drawn [1], says <b>he</b> [9].\n\n- one\n- `two`\n\n"})
        if self.way == "dies":
            return None
        if self.way == "errs":
            return self.event("error", {"error": "The model has stopped half-way."})
        self.event("part", {"text": "```{=html}\n<script>document.title='run'</script>\n```\n[x](javascript:document.title='run') "
                                    "<img src=x onerror=\"document.title='run'\">"})  # fmt: skip
        nearest = [{"titles": ["Spread"], "place": "02-describing.md:90", "anchor": "sec-spread"}]
        done = {"answered": True, "cited": [1], "notes": ["A note."], "nearest": nearest, "types": ["exercise"]}
        return self.event(
            "done", done | {"by": "extractive/default" if self.way == "quotes" else "openai/gpt-5.4-mini"}
        )

    def event(self, name, data):
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def reply(self, status, body, headers=()):
        self.send_response(status)
        self.cors("application/json")
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cors(self, kind):
        self.send_header("Content-Type", kind)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "*, Authorization")
        self.send_header("Access-Control-Expose-Headers", "Retry-After")

    def log_message(self, *args):
        pass


@pytest.fixture
def answering(book, tab):
    """Makes a page of the book with its box open, and a server that answers in some way."""
    folder = copy_folder(book, "with a server")
    with served(partial(Static, directory=str(folder))) as site:
        started = []

        def start(way):
            handler = type("Handler", (Answers,), {"way": way, "asked": []})
            server = served(handler)
            started.append(server)
            address = server.__enter__()
            for file in folder.glob("*.html"):
                write(file, text(file).replace("data-page=", f'data-server="{address}" data-page='))
            page = tab()
            opened(page, f"{site}/index.html")
            page.get_by_role("button", name="Ask", exact=True).wait_for()
            return page, handler

        yield start
        for server in started:
            server.__exit__(None, None, None)


def test_an_answer_with_its_sources(answering):
    page, server = answering("whole")
    put(page, "what is the mean?")
    page.get_by_text("A note.").wait_for()
    answer = page.locator(".lmm-ask-answer")
    assert answer.locator("strong").first.inner_text() == "mean"
    assert answer.locator("li").first.inner_text() == "one"
    assert answer.locator(".lmm-ask-cite").all_inner_texts() == ["[1]"]
    assert "[9]" in answer.inner_text()  # no source: no link
    assert answer.locator(".lmm-ask-cite").get_attribute("href").endswith("/02-describing.html#sec-centre")
    assert "Describing distributions › Centre" in answer.inner_text()
    assert "Nearest sections" in answer.inner_text()
    page.get_by_text("Answers are made from the notes as they were on January 2, 2020").wait_for()
    put(page, "and *exercise* on it?")
    page.get_by_text("A note.").nth(1).wait_for()
    assert server.asked[1]["type"] == "exercise"
    assert [turn["question"] for turn in server.asked[1]["history"]] == ["what is the mean?"]


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("quotes", "Best matches in the notes (no model is configured):"),
        ("whole", None),
    ],
)
def test_the_box_says_that_no_model_is_configured(answering, way, told):
    page, _ = answering(way)
    put(page, "what is the mean?")
    page.get_by_text("A note.").wait_for()
    answer = page.locator(".lmm-ask-answer").inner_text()
    assert told in answer if told else "no model" not in answer


def test_accessibility_of_an_answer(answering, request):
    source = axe(request.config.cache)
    page, _ = answering("whole")
    put(page, "what is the mean?")
    page.get_by_text("A note.").wait_for()
    page.evaluate(source)
    assert page.evaluate(VIOLATIONS) == []


REPLY = """1. Draw
   - of *size* n
     as above
   - compute
2. Repeat, see [1, 2] and [1–2], not [1, 9]

| n | SE |
|---|:--:|
| `4` | a \\| b [2] |

> Quoted
> **words**

|x| is no table."""


def test_how_replies_are_set(answering):
    page, _ = answering("whole")
    made = page.evaluate(
        """reply => {
            const cite = (number) => (number > 2 ? null : Object.assign(document.createElement("a"), { innerText: `[${number}]` }));
            const all = document.createElement("div");
            all.append(...window.lmmAsk.markdown(reply, cite));
            return all.innerHTML;
        }""",
        REPLY,
    )
    assert made == (
        "<ol><li>Draw<ul><li>of <em>size</em> n\nas above</li><li>compute</li></ul></li>"
        "<li>Repeat, see <a>[1]</a>, <a>[2]</a> and <a>[1]</a>–<a>[2]</a>, not [1, 9]</li></ol>"
        '<div class="lmm-ask-table" tabindex="0"><table><thead><tr><th>n</th><th>SE</th></tr></thead>'
        "<tbody><tr><td><code>4</code></td><td>a | b <a>[2]</a></td></tr></tbody></table></div>"
        "<blockquote><p>Quoted\n<strong>words</strong></p></blockquote><p>|x| is no table.</p>"
    )


def test_replies_that_would_run(answering):
    page, _ = answering("whole")
    put(page, "<img src=x onerror=\"document.title='run'\">")
    page.get_by_text("A note.").wait_for()
    assert page.locator("dialog").locator("script, img, b").count() == 0
    assert page.locator("dialog a[href^='javascript']").count() == 0
    assert "<script>document.title='run'</script>" in page.locator(".lmm-ask-answer").inner_text()
    assert page.title() != "run"


@pytest.mark.parametrize(
    ("way", "said"), [("dies", "The answer broke off."), ("errs", "The model has stopped half-way.")]
)
def test_what_came_stays(answering, way, said):
    page, server = answering(way)
    put(page, "what is the mean?")
    page.get_by_text(said).last.wait_for()
    assert "The mean is drawn" in page.locator(".lmm-ask-answer").inner_text()
    server.way = "whole"
    page.get_by_role("button", name="Ask again").click()
    page.get_by_text("A note.").wait_for()
    assert page.locator(".lmm-ask-turn").count() == 1
    assert [one["question"] for one in server.asked] == ["what is the mean?"] * 2


def test_the_conversation_goes_from_page_to_page_in_one_tab(answering):
    page, _ = answering("whole")
    put(page, "what is the mean?")
    page.get_by_text("A note.").wait_for()
    opened(page, page.url.replace("index.html", "01-data.html"))
    assert "A note." in page.locator(".lmm-ask-answer").inner_text()
    other = page.context.new_page()
    opened(other, page.url)
    assert other.locator(".lmm-ask-turn").count() == 0
    page.get_by_role("button", name="New conversation").click()
    assert page.locator(".lmm-ask-turn").count() == 0


def test_a_server_that_is_down(tab):
    with served(Answers) as address:
        pass
    site = make_site("# A\n\nWords on means.\n", ask=f"{{server: '{address}'}}")
    page = opened(tab(), (site / "notes.html").as_uri())
    page.get_by_text("The server that answers cannot be reached.").first.wait_for()
    assert not page.get_by_role("button", name="Ask", exact=True).is_visible()
    assert search(page, "means").count() == 1


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b'{"error": "The notes are in the middle of an update."}', "in the middle of an update"),
        (502, b"<h1>Bad Gateway</h1>", "cannot be reached"),
        (429, b'{"error": "Too many questions at once."}', ""),
        (200, b"<h1>Another page</h1>", "cannot be reached"),
    ],
)
def test_what_the_server_says_of_itself(tab, status, body, said):
    handler = type("Handler", (Answers,), {"do_GET": lambda self: self.reply(status, body)})
    with served(handler) as address:
        site = make_site("# A\n\nWords on means.\n", ask=f"{{server: '{address}'}}")
        page = opened(tab(), (site / "notes.html").as_uri())
        if said:
            page.locator(".lmm-ask-notices p", has_text=said).wait_for()
        is_up = "reached" not in said
        page.get_by_role("button", name="Ask", exact=True).wait_for(state="visible" if is_up else "hidden")
        assert page.locator(".lmm-ask-notices p").count() == bool(said)


def test_a_page_without_data(tab):
    """Of a course that has no site: the server has all."""
    for name, script in box_files().items():
        write(f"page/box/{name}", script)
    handler = type("Handler", (Answers,), {"asked": []})
    with served(handler) as address, served(partial(Static, directory="page")) as site:
        write("page/index.html", '<html lang="en"><head><title>T</title></head>'
              f'<body><h1>T</h1><script src="box/ask.js" data-server="{address}"></script></body></html>')  # fmt: skip
        page = opened(tab(), f"{site}/index.html")
        page.get_by_role("button", name="Exercises", exact=True).wait_for()
        search(page, "means")
        page.get_by_text("A › B").wait_for()
        assert "<b>Means</b>" in page.locator(".lmm-ask-hits").inner_text()
        put(page, "what is the mean?")
        page.get_by_text("A note.").wait_for()
        choose(page, "Contents")
        assert "In <i>short</i>." in page.locator("#lmm-ask-contents").inner_text()
        page.get_by_role("tab", name="Search").click()
        page.get_by_role("button", name="Notes", exact=True).click()  # what is found is an exercise
        search(page, "means")
        page.wait_for_selector(".lmm-ask-nothing")
        assert page.locator(".lmm-ask-hits li").count() == 0
        search(page, "")
        page.wait_for_selector(".lmm-ask-hits:not(.lmm-ask-nothing)", state="attached")


ROUGH = """# Spread

```python
from statistics import spread
```

| spread | words |
|--------|-------|
| much   | 1     |

The spread says how far the values $x_i$ lie from $\\mu$.

# Only in code

Nothing of it is said here.

```python
zebra = 1
```
"""


def test_a_snippet_begins_in_prose(tab):
    make_site(ROUGH)
    page = opened(tab(), Path("_site/notes.html").absolute().as_uri())
    snippet = search(page, "spread").locator(".lmm-ask-snippet").first
    assert snippet.inner_text().startswith("…The spread says how far the values")
    snippet.locator("math").nth(1).wait_for()  # formulas are set once the snippet is there
    assert snippet.locator("math").count() == 2
    assert "zebra = 1" in search(page, "zebra").locator(".lmm-ask-snippet").first.inner_text()
