"""The teacher's texts in the ask box and on the server's own page, in a real browser."""

from lmm_core.course.site import STYLE
from lmm_core.quarto.extension import box_files as files_of_box
from lmm_core.serving.page import box_files, our_texts
from tests.box_pages import IN_A_BROWSER
from tests.serving import Served

pytestmark = IN_A_BROWSER
VOICE = {
    "title": "Bäume <b>II</b>", "language": "de",
    "greeting": "Hallo! <img src=x onerror=\"document.title='run'\">", "max_question": 40,
}  # fmt: skip


def test_the_box_greets_in_the_words_of_the_teacher(course, tab):
    with Served(course, files=box_files(files_of_box(), STYLE), **VOICE) as served:
        shown = tab()
        shown.goto(str(served.client.base_url))
        shown.keyboard.press("/")
        greeting = shown.locator(".lmm-ask-greeting")
        greeting.wait_for()
        assert greeting.inner_text() == VOICE["greeting"]
        assert shown.title() == shown.locator("h1").inner_text() == VOICE["title"]
        dialog = shown.locator("dialog")
        assert dialog.get_attribute("lang") == "de" and dialog.get_attribute("aria-label") == VOICE["title"]

        ask = shown.locator("dialog").get_by_role("button", name="Fragen", exact=True)
        ask.click()
        notice = shown.locator("[data-name=question]")
        assert notice.inner_text() == our_texts("de")["empty"] and greeting.is_visible()

        shown.locator("#lmm-ask-field").fill("How is the oak explained? " * 3)
        ask.click()
        turn = shown.locator(".lmm-ask-answer[aria-busy=false]")
        turn.wait_for()
        assert "Sie darf 40 Zeichen haben." in turn.inner_text()
        assert notice.count() == 0 and greeting.is_hidden()
        shown.get_by_role("button", name="Neues Gespräch").click()
        assert greeting.is_visible() and shown.title() == VOICE["title"]
