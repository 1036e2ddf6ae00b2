"""The ask box, in a real browser, and the real `lmm serve`: from another origin, as a file, and on the server's own page."""

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from lmm_core.course.site import STYLE
from lmm_core.quarto.extension import box_files as files_of_box
from lmm_core.serving.page import box_files
from lmm_core.study.asked.recordings import Recordings, recordings_path
from tests.box_pages import IN_A_BROWSER, Static, opened, put, search, served
from tests.commands import copy_folder, text, write
from tests.effort import PATIENCE, wait_for
from tests.model_server import ModelServer
from tests.serving import Served

pytestmark = IN_A_BROWSER
KEY = "sk-of-the-teacher"
QUESTION = "What is the standard error?"
HOSTILE = """The **error** is drawn [1]. <script>document.title='run'</script> <img src=x onerror="document.title='run'">

```{=html}
<script>document.title='run'</script>
```

[click](javascript:document.title='run') ![x](x" onerror="document.title='run') <svg onload="document.title='run'"></svg>
<math><mtext><style><img src=x onerror="document.title='run'"></style></mtext></math> \u202etxet desrever
"""


class Course:
    """The sample book in a folder whose name is no plain one, served twice: its pages by a
    static host, answers by `lmm serve`."""

    def __init__(self, folder, address):
        self.folder, self.site, self.address = folder, folder / "_book", address
        self.process = self.log = self.answers = None

    def start(self, *options, settings="", **environment):
        write(self.folder / "config.toml", f'[serve]\norigins = ["{self.address}", "null"]\n{settings}\n')
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lmm_core", "serve", "--port", "0", *options], cwd=self.folder,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        self.log = []
        for line in self.process.stderr:
            if found := re.search(r"at (http://127\.0\.0\.1:\d+)/", line):
                self.answers = found[1]
                break
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        for file in self.site.glob("*.html"):
            write(
                file,
                re.sub(r'(data-lmm-ask)(?: data-server="[^"]*")?', rf'\1 data-server="{self.answers}"', text(file)),
            )

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)


@pytest.fixture
def book_site(book):
    with served(partial(Static, directory=str(book_copy(book) / "_book"))) as address:
        made = Course(Path("Kurs für alle").resolve(), address)
        yield made
        made.stop()


def book_copy(book):
    return copy_folder(book.parent, "Kurs für alle")


@contextmanager
def model(monkeypatch, **options):
    with ModelServer(**options) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
        yield server


def answered(page):
    page.locator(".lmm-ask-turn:last-child .lmm-ask-answer[aria-busy=false]").wait_for()
    return page.locator(".lmm-ask-turn").last


def ready(page, url):
    opened(page, url)
    page.locator("dialog").get_by_role("button", name="Ask", exact=True).wait_for()
    return page


def test_an_answer_of_the_best_passages_to_a_page_from_a_file(book_site, tab):
    book_site.start()
    page = ready(tab(), f"{book_site.site.as_uri()}/02-describing.html")
    assert page.locator(".lmm-ask-notices p").count() == 0
    assert page.locator(".lmm-ask-recording").is_hidden()
    put(page, QUESTION)
    turn = answered(page)
    assert "Best matches in the notes (no model is configured):" in turn.inner_text()
    assert "has a name of its own, the standard error" in turn.inner_text()
    assert turn.locator(".lmm-ask-judging").count() == 0
    link = turn.locator(".lmm-ask-cite").first
    assert link.get_attribute("href").endswith("/04-estimation.html#sec-se")
    link.click()
    page.wait_for_url("**/04-estimation.html#sec-se")
    assert page.locator("#sec-se").is_visible()
    page.go_back()
    opened(page, page.url)
    put(page, "Who won the cup in the garden of the oak last year?")
    assert "Nothing in the notes fits this question well" in answered(page).inner_text()
    assert answered(page).locator("h4", has_text="Nearest sections").count() == 1


def test_stopping_ends_the_answer_at_the_model_and_keeps_what_was_said(book_site, tab, monkeypatch):
    faults = iter(["stall", None])
    with model(
        monkeypatch, reply="Precisely: the standard error [1] is part of it.", fault=lambda *_: next(faults)
    ) as server:
        book_site.start()
        page = ready(tab(), f"{book_site.address}/index.html")
        put(page, QUESTION)
        said = page.locator(".lmm-ask-answer", has_text="Precisely")
        said.wait_for()
        page.get_by_role("button", name="Stop", exact=True).click()
        assert server.left.acquire(timeout=PATIENCE)
        turn = answered(page)
        assert "Precisely" in turn.inner_text() and "Stopped." in turn.inner_text()
        assert page.get_by_role("button", name="Stop", exact=True).count() == 0
        put(page, "Go on")
        assert "is part of it" in answered(page).inner_text()
        before = [one["content"] for one in server.requests[1]["messages"] if one["role"] == "assistant"]
        assert before and before[0].startswith("Precisely")


def test_a_hostile_model(book_site, tab, monkeypatch):
    with model(monkeypatch, reply=HOSTILE) as server:
        book_site.start()
        page = tab()
        seen = []
        page.on("response", lambda response: seen.append(str(response.all_headers())))
        ready(page, f"{book_site.address}/index.html")
        put(page, "<svg onload=\"document.title='run'\"> and the standard error?")
        turn = answered(page)
        assert "<script>document.title='run'</script>" in turn.inner_text()
        assert page.locator("dialog").locator("script, img, svg, math, style").count() == 0
        assert page.locator("dialog a[href^='javascript']").count() == 0
        assert turn.locator(".lmm-ask-cite").count() == 1
        put(page, "and why is it so?")
        page.locator(".lmm-ask-turn").nth(1).wait_for()
        answered(page)
        sent = [message["content"] for message in server.requests[-1]["messages"]]
        assert any("and the standard error?" in said for said in sent[:-1])  # what was asked before
        assert page.title() != "run"
        kept = page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")
        assert KEY not in kept + page.content() + "".join(seen)


def test_the_reason_of_a_refusal_is_shown(book_site, tab):
    book_site.start(settings="rate = 2")
    page = ready(tab(), f"{book_site.address}/index.html")
    put(page, "why " * 2500)
    assert re.search("2,?000 characters", answered(page).inner_text())
    put(page, QUESTION)
    assert "Too many questions at once. Try again in" in answered(page).locator(".lmm-ask-notice").inner_text()


def test_a_server_that_dies_half_way(book_site, tab, monkeypatch):
    with model(monkeypatch, reply="word " * 200, pause=0.05):
        book_site.start()
        page = ready(tab(), f"{book_site.address}/index.html")
        put(page, QUESTION)
        page.get_by_text("word word").first.wait_for()
        book_site.stop()
        page.locator(".lmm-ask-answer .lmm-ask-notice", has_text="The answer broke off.").wait_for()
        assert "word word" in answered(page).inner_text()
        answered(page).get_by_role("button", name="Ask again").click()
        page.locator(".lmm-ask-notices p", has_text="cannot be reached").wait_for()
        assert search(page, "mean").count() > 0


def test_the_page_of_the_server(book_site, tab):
    """Its field and its example questions open the box with an answer."""
    book_site.start()
    page = tab()
    page.goto(book_site.answers)
    page.locator("#home-field").fill(QUESTION)
    page.keyboard.press("Enter")
    assert "the standard error" in answered(page).inner_text()
    page.keyboard.press("Escape")
    example = page.locator(".lmm-example").first
    example.click()
    page.locator(".lmm-ask-turn").nth(1).wait_for()
    assert answered(page).locator("h3").first.inner_text() == example.inner_text()


def test_a_token_with_signs_of_any_language(book_site, tab):
    """Before it is known, the page shows no example questions, which are of the notes."""
    book_site.start(LMM_SERVE_TOKEN="šésame, 开门")
    page = ready(tab(), book_site.answers)
    assert page.locator(".lmm-example").count() == 0
    put(page, QUESTION)
    for token in ("wrong", "šésame, 开门"):
        turn = answered(page)
        turn.get_by_label("Access code").fill(token)
        with page.expect_response("**/ask"):
            turn.get_by_role("button", name="Ask again").click()
    assert "the standard error" in answered(page).inner_text()


# What is recorded


def recorded(book_site):
    recordings = Recordings(recordings_path(book_site.folder))
    return recordings.turns()


RECORDED = 'record = "conversations"\nkeep_days = 30\nprivacy = "privacy.html#data"'


def test_an_answer_is_judged_by_the_keyboard_alone(book_site, tab):
    book_site.start(settings=RECORDED)
    page = ready(tab(), f"{book_site.address}/index.html")
    told = page.locator(".lmm-ask-recording")  # before anything is asked
    assert told.inner_text().startswith("Questions, answers and comments are recorded")
    assert "without who asks, for 30 days" in told.inner_text()
    assert told.locator("a").get_attribute("href") == f"{book_site.address}/privacy.html#data"
    assert page.get_by_role("searchbox").get_attribute("aria-describedby") == told.get_attribute("id")
    put(page, QUESTION)
    turn = answered(page)
    down, comment = turn.get_by_role("button", name="Not helpful"), turn.get_by_role("textbox")
    assert comment.is_hidden()
    down.focus()
    page.keyboard.press("Enter")
    turn.get_by_role("status").get_by_text("Recorded. Thank you.").wait_for()
    assert down.get_attribute("aria-pressed") == "true"
    assert turn.get_by_role("button", name="Helpful", exact=True).get_attribute("aria-pressed") == "false"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("<b>Too</b> short")
    page.keyboard.press("Control+Enter")
    wait_for(lambda: [(turn.thumb, turn.comment) for turn in recorded(book_site)] == [(-1, "<b>Too</b> short")])
    down.press("Space")  # taken back
    wait_for(lambda: [turn.thumb for turn in recorded(book_site)] == [0])


# The teacher's texts

VOICE = {
    "title": "Bäume <b>II</b>", "language": "de",
    "greeting": "Hallo! <img src=x onerror=\"document.title='run'\">", "max_question": 40,
}  # fmt: skip


def test_the_box_greets_in_the_words_of_the_teacher(book, tab):
    with Served(book.parent, files=box_files(files_of_box(), STYLE), **VOICE) as served:
        shown = tab()
        shown.goto(str(served.client.base_url))
        shown.keyboard.press("/")
        greeting = shown.locator(".lmm-ask-greeting")
        greeting.wait_for()
        assert greeting.inner_text() == VOICE["greeting"]
        assert shown.title() == shown.locator("h1").inner_text() == VOICE["title"]
        dialog = shown.locator("dialog")
        assert dialog.get_attribute("lang") == "de" and dialog.get_attribute("aria-label") == VOICE["title"]

        put(shown, "How is the oak explained? " * 3)
        turn = shown.locator(".lmm-ask-answer[aria-busy=false]")
        turn.wait_for()
        assert "Sie darf 40 Zeichen haben." in turn.inner_text()
