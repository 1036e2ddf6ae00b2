"""The course's site as part of `lmm serve`: what is served, to whom, and what never."""

import shutil

import pytest

from lmm_core.cli.commands.asking.serve import _site
from lmm_core.course.site import STYLE
from lmm_core.quarto.extension import box_files as files_of_box
from lmm_core.serving.page import box_files
from lmm_core.serving.tokens import add_token
from tests.box_pages import IN_A_BROWSER, chromium
from tests.commands import copy_folder, write
from tests.indexing import document, lmm
from tests.serving import Served

pytestmark = pytest.mark.skipif(shutil.which("pandoc") is None, reason="no pandoc")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A course that is indexed, with a published site."""
    folder = tmp_path_factory.mktemp("published")
    write(folder / "trees.md", document("oak", "birch", header="title: Trees\ndocid: trees"))
    write(folder / "secret.md", "---\ntitle: Keys\ndraft: true\n---\n\n# SECRET\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lmm("course --no-quarto")
    return folder


@pytest.fixture
def course(published, tmp_path, monkeypatch):
    """A copy of it, as the working folder."""
    monkeypatch.chdir(folder := copy_folder(published, tmp_path / "course"))
    return folder


def in_a_browser(test):
    """Mark a test that needs a browser."""
    for mark in IN_A_BROWSER:
        test = mark(test)
    return test


def served(course, **options):
    return Served(course, site=_site(course), files=box_files(files_of_box(), STYLE), **options)


def test_the_own_page_leads_to_the_site(course):
    with served(course) as server:
        home = server.client.get("/").text
        page = server.client.get("/site/trees.html")
        assert server.client.get("/site/").text == server.client.get("/site/index.html").text
    assert '<a href="site/trees.html">Trees</a>' in home and "SECRET" not in home + page.text
    assert 'src="site/lmm-ask/ask.js" data-page="" data-server="."' in home
    assert page.headers["content-type"].startswith("text/html") and "About oak" in page.text
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]


@in_a_browser
def test_from_a_source_to_its_place(course):
    with served(course, rate=1000) as server, chromium() as browser:
        tab = browser.new_page()
        tab.goto(f"http://127.0.0.1:{server.port}/")
        tab.get_by_role("searchbox").first.fill("How is the oak explained?")
        tab.keyboard.press("Enter")
        tab.locator(".lmm-ask-cite").first.click()
        tab.wait_for_url("**/site/trees.html#about-oak")


def test_nothing_else_is_served(course):
    (course / "_site/link.md").symlink_to(course / "trees.md")
    paths = ["../config.toml", "%2e%2e/trees.md", "..%2f..%2fsecret.md", "secret.html", "link.md"]
    with served(course) as server:
        for path in paths:
            assert server.client.get(f"/site/{path}").status_code in (400, 404), path


def test_only_a_site_that_was_published_here_is_served(course):
    shutil.move(course / "_site", course.parent / "kept")
    assert _site(course) is None
    write("_site/index.html", "by hand")
    assert _site(course) is None
    with Served(course) as server:
        assert server.client.get("/site/index.html").status_code == 404
        assert "<li>Trees</li>" in server.client.get("/").text


def test_with_a_token_the_site_needs_it_too(course):
    token = add_token(course, "forestry")
    with served(course) as server:
        for path in ("/site/", "/site/trees.html", "/site/lmm-ask/data.js", "/site/nothing.html"):
            refused = server.client.get(path)
            assert refused.status_code == 401 and refused.headers["www-authenticate"].startswith("Basic "), path
        assert server.client.get("/site/trees.html", auth=("anybody", token)).status_code == 200
        assert server.client.get("/site/trees.html", auth=("anybody", "wrong")).status_code == 401
        home = server.client.get("/").text
    assert "site/" not in home and "Trees" not in home


def test_a_link_of_another_site_may_lead_to_a_page_but_no_picture(course):
    other = {"Sec-Fetch-Site": "cross-site"}
    follows = other | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with served(course) as server:
        assert server.client.get("/site/trees.html", headers=follows).status_code == 200
        for strange in (other, other | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}):
            assert server.client.get("/site/trees.html", headers=strange).status_code == 403
