"""The text of the notes as pages of `lmm serve`: what is shown, where, to whom, and what never."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.course.render import find_pandoc, render_pages
from lmm_core.course.served.addresses import Addresses
from lmm_core.course.served.clean import clean_html
from lmm_core.course.served.notes import served_notes
from lmm_core.course.text import PageSource
from lmm_core.errors import RenderError
from lmm_core.quarto.ask_box.data import FORMAT
from lmm_core.serving.tokens import add_token
from tests.commands import write
from tests.serving import ASK, Served
from tests.woods import OAKS, PNG, make_woods

pytestmark = [
    pytest.mark.skipif(shutil.which("pandoc") is None, reason="no pandoc"),
]
pytest.importorskip("nh3")


@pytest.fixture
def woods(tmp_path, monkeypatch):
    return make_woods(tmp_path, monkeypatch)


def test_sources_contents_and_cards_lead_to_the_text(woods):
    with Served(woods, notes=True) as served:
        sources = served.events({"question": "When is an oak cut?"})[0][1]["sources"]
        data = served.client.get("/contents").json()
        page = served.client.get("/text/oaks.html")
        elms = served.client.get("/text/sub/elms.html").text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    pages = {source: name for name, source, _ in data["data"]["documents"]}
    assert pages == {"oaks.md": "text/oaks.html", "_shared.md": "text/oaks.html", "sub/elms.md": "text/sub/elms.html"}
    anchors = {one["anchor"] for one in sources if one["place"].startswith("oaks.md") and not one["kinds"]}
    assert anchors and all(f'id="{anchor}"' in page.text for anchor in anchors)
    assert {row[3] for row in data["part-1"][1:]} >= {"oaks", "cut", "after-it", "elms-grow"}
    assert '<a href="sub/elms.html#elms-grow"' in page.text and '<a href="../oaks.html"' in elms
    assert '<math display="inline"' in page.text and "<mover>" in page.text
    assert "<title>Oaks &amp; elms" in page.text and 'rel="next"' in page.text
    assert "Elms are shared." in page.text and "<script>" not in page.text and "onclick" not in page.text


def test_nothing_left_out_is_served(woods):
    with Served(woods, notes=True) as served:
        index = served.client.get("/text/").text
        pages = [served.client.get(f"/text/{name}.html") for name in ("oaks", "sub/elms")]
        said = index + "".join(page.text for page in pages) + served.client.get("/contents").text
        for name in ("keys.html", "draft.html", "later.html", "_shared.html", "nothing.html"):
            assert served.client.get(f"/text/{name}").status_code == 404, name
    assert re.findall(r"SECRET\S*", said.replace("SECRET-SUMMARY", "")) == []
    assert "SECRET-SUMMARY" not in index + "".join(page.text for page in pages)
    assert [page.status_code for page in pages] == [200, 200]


def test_what_the_leak_check_looks_for_is_not_on_the_pages(woods):
    """The check that a site has to pass, on the pages as they are served."""
    from lmm_core.logging import ListLogger
    from lmm_core.quarto.leaks import look_for_leaks
    from lmm_core.settings.project import load_project

    with Served(woods, notes=True) as served:
        for name in ("index", "oaks", "sub/elms"):
            write(woods / f"../served/{name}.html", served.client.get(f"/text/{name}.html").text)
    inputs = [woods / name for name in ("oaks.md", "keys.md", "sub/elms.md", "_shared.md")]
    project = load_project(woods / "-")
    assert look_for_leaks([woods.parent / "served"], inputs, project, ListLogger()).leaks == []


@pytest.mark.parametrize(
    "path",
    ["oaks.md", "config.toml", "../config.toml", "%2e%2e/config.toml", "..%2f..%2foutside.png", "figures/secret.png",
     "figures/unused.png", "key.py", ".lmm/x.png", ".lmm/index", "figures", "figures/../oaks.md", "//etc/passwd",
     "figures/rings.png%00.md", "%00", "figures\\rings.png", "../outside.png", "/etc/passwd", "a" * 3000],
)  # fmt: skip
def test_only_files_that_a_page_shows_are_served(woods, path):
    with Served(woods, notes=True) as served:
        response = served.client.get(f"/text/{path}")
    assert response.status_code in (404, 400), path


def test_images_and_data_of_the_notes_are_served_and_run_nothing(woods):
    with Served(woods, notes=True) as served:
        page = served.client.get("/text/oaks.html").text
        image, data = served.client.get("/text/figures/rings.png"), served.client.get("/text/rings.csv")
        (woods / "figures/rings.png").unlink()
        (woods / "figures/rings.png").symlink_to(woods.parent / "outside.png")
        moved = served.client.get("/text/figures/rings.png")
    assert re.findall(r'<img[^>]* src="([^"]*)"', page) == ["figures/rings.png"] and 'width="50.0%"' in page
    assert image.content == PNG and image.headers["content-type"] == "image/png"
    assert "sandbox" in image.headers["content-security-policy"]
    assert data.text == "rings\n80\n" and data.headers["content-disposition"] == "attachment"
    assert moved.status_code == 404


def test_a_change_of_the_notes_is_seen_and_a_left_out_part_gone_at_once(woods, monkeypatch):
    from lmm_core.course.served import notes

    monkeypatch.setattr(notes, "LOOK", 0.0)
    with Served(woods, notes=True) as served:
        assert "Cut it in autumn." in served.client.get("/text/oaks.html").text
        write(woods / "oaks.md", OAKS.replace("## Cutting", "---\ntype: exercise\n---\n## Cutting"))
        page = served.client.get("/text/oaks.html").text
        data = served.client.get("/contents").text
        (woods / "sub/elms.md").unlink()
        assert served.client.get("/text/sub/elms.html").status_code == 404
    assert "Cut it in autumn." not in page + data and "Elms are shared." in page


def test_pandoc_is_run_once_until_the_notes_change(woods, monkeypatch):
    from lmm_core.course.served import notes

    runs = []
    real = notes.render_pages
    monkeypatch.setattr(notes, "render_pages", lambda *given: runs.append(given[0]) or real(*given))
    monkeypatch.setattr(notes, "LOOK", 0.0)
    age(woods)
    with Served(woods, notes=True) as served:
        for _ in range(3):
            served.client.get("/text/oaks.html")
            served.client.get("/contents")
        assert len(runs) == 1
        write(woods / "oaks.md", OAKS + "\nMore.\n")
        assert "More." in served.client.get("/text/oaks.html").text
        assert len(runs) == 2


# What is left out while the server runs


def test_settings_that_come_later_leave_pages_out(woods, monkeypatch):
    from lmm_core.course.served import notes

    monkeypatch.setattr(notes, "LOOK", 0.0)
    write(woods / "_quarto.yml", "project:\n  type: default\n")
    age(woods)
    place = woods / "sub/_metadata.yml"
    with Served(woods, notes=True) as served:
        assert served.client.get("/text/sub/elms.html").status_code == 200
        for settings in ("draft: true\n", "knit: false\n", "lmm:\n  ask: false\n"):
            write(place, settings)
            assert served.client.get("/text/sub/elms.html").status_code == 404, settings
            assert "Elms grow" not in served.client.get("/contents").text
            place.unlink()
            assert served.client.get("/text/sub/elms.html").status_code == 200


def test_what_changes_while_it_is_read_is_read_again(woods, monkeypatch):
    from lmm_core.course.served import documents, notes

    monkeypatch.setattr(notes, "LOOK", 0.0)
    age(woods)
    real = documents.read_contents

    def saved_meanwhile(*given):
        monkeypatch.setattr(documents, "read_contents", real)
        write(woods / "oaks.md", OAKS.replace("docid: oaks", "docid: oaks\ndraft: true"))
        return real(*given)

    monkeypatch.setattr(documents, "read_contents", saved_meanwhile)
    with Served(woods, notes=True) as served:
        served.client.get("/text/")
        assert served.client.get("/text/oaks.html").status_code == 404


def test_a_page_that_changes_while_the_others_are_read_is_not_shown(woods, monkeypatch):
    """What it includes now may be left out of the notes."""
    from lmm_core.course.served import notes

    real = notes.read_page_source

    def saved_meanwhile(*given):
        write(woods / "oaks.md", OAKS + "\n{{< include keys.md >}}\n")
        return real(*given)

    monkeypatch.setattr(notes, "read_page_source", saved_meanwhile)
    with Served(woods, notes=True) as served:
        page = served.client.get("/text/oaks.html")
    assert page.status_code == 503 and "SECRET" not in page.text
    assert any("the notes have just been changed" in line for line in served.log)


@pytest.mark.parametrize(
    "block",
    ["---\ntype: exercise\nquestions: [\n---\n", "::: {.lmm .content-hidden}\n``` yaml\ntype: [exercise\n```\n:::\n\n"],
)
def test_a_page_whose_metadata_cannot_be_read_is_not_shown(woods, monkeypatch, block):
    """Half a block that is being typed must not show the solution that it leaves out."""
    from lmm_core.course.served import notes

    monkeypatch.setattr(notes, "LOOK", 0.0)
    write(
        woods / "oaks.md",
        f"---\ntitle: Oaks\ndocid: oaks\n---\n# Oaks\n\n{block}## SECRET-EXERCISE\n\nSECRET-SOLUTION\n",
    )
    with Served(woods, notes=True) as served:
        page, data = served.client.get("/text/oaks.html"), served.client.get("/contents").text
        assert served.client.get("/text/sub/elms.html").status_code == 200
    assert page.status_code == 503 and "SECRET-SOLUTION" not in page.text + data
    assert any(
        "oaks.md: the text is not shown: line 7: this metadata block cannot be read" in line for line in served.log
    )


def test_what_a_type_in_an_included_file_leaves_out_of_the_page_is_not_in_the_data(woods):
    write(woods / "_shared.md", "---\ntitle: Shared\ndocid: shared\ntype: exercise\n---\n\nSECRET-TYPED\n")
    with Served(woods, notes=True) as served:
        page = served.client.get("/text/oaks.html")
        assert page.status_code == 200 and "SECRET-TYPED" not in page.text + served.client.get("/contents").text


def age(folder):
    """Make the files of a folder an hour old."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)


# Who may read


def test_with_a_token_the_text_needs_it_too(woods):
    token = add_token(woods, "forestry")
    headers = {"Authorization": f"Bearer {token}"}
    with Served(woods, notes=True) as served:
        for path in ("/text/oaks.html", "/text/sub/elms.html", "/text/", "/text/nothing.html"):
            locked = served.client.get(path)
            assert locked.status_code == 401 and "served.js" in locked.text, path
            assert not re.search("oak|elm|Forest", locked.text, re.I), path
        for path in ("/text/figures/rings.png", "/text/rings.csv", "/contents"):
            assert served.client.get(path).json() == {"error": "This server needs an access token."}
        assert "Cut it in autumn." in served.client.get("/text/oaks.html", headers=headers).text
        assert served.client.get("/text/figures/rings.png", headers=headers).content == PNG


def test_a_link_of_another_site_may_lead_to_the_text_but_no_picture(woods):
    other = {"Sec-Fetch-Site": "cross-site"}
    follows = other | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with Served(woods, notes=True) as served:
        assert served.client.get("/text/oaks.html", headers=follows).status_code == 200
        for strange in (other, other | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}):
            assert served.client.get("/text/figures/rings.png", headers=strange).status_code == 403
        assert served.client.get("/contents", headers=follows).status_code == 403


def test_the_log_names_no_page(woods):
    with Served(woods, notes=True) as served:
        served.client.get("/text/oaks.html")
        served.client.get("/text/who-is-anna.html")
    assert any("GET /text/ 200" in line for line in served.log)
    assert not any("oaks" in line or "anna" in line for line in served.log)


# What cannot be done


def test_who_follows_an_old_link_reads_a_sentence_and_finds_the_contents(woods):
    with Served(woods, notes=True, title="Woods & <b>") as served:
        page = served.client.get("/text/sub/gone.html")
    assert page.status_code == 404 and page.headers["content-type"].startswith("text/html")
    assert (
        "<p>There is no such page of the notes." in page.text and '<a class="home" href="../index.html">' in page.text
    )
    assert "<title>Woods &amp; &lt;b&gt;</title>" in page.text and "gone" not in page.text


def test_without_pandoc_it_is_said_and_the_rest_goes_on(woods, monkeypatch):
    from lmm_core.course.served import notes
    from lmm_core.errors import CourseError

    def none():
        raise CourseError("none")

    monkeypatch.setattr(notes, "find_pandoc", none)
    told = []
    assert served_notes(woods, told.append) is None
    assert told == ["there is no pandoc on this machine: sources show their place, and their text is not shown"]
    with Served(woods, notes=True) as served:
        assert served.client.get("/text/oaks.html").status_code == served.client.get("/contents").status_code == 404
        assert served.events(ASK)[0][0] == "sources"


def test_a_page_that_pandoc_cannot_make_is_told_and_the_others_are_shown(woods, monkeypatch):
    from lmm_core.course.served import notes

    real = notes.render_pages

    def broken(pages, *given):
        rendered = real(pages, *given)
        return [replace(page, html="", problem="no") if "elms" in page.name else page for page in rendered]

    monkeypatch.setattr(notes, "render_pages", broken)
    with Served(woods, notes=True) as served:
        assert served.client.get("/text/sub/elms.html").status_code == 503
        assert served.client.get("/text/oaks.html").status_code == 200
        documents = served.client.get("/contents").json()["data"]["documents"]
    assert [source for _, source, _ in documents] == ["oaks.md", "_shared.md"]
    assert any("sub/elms.md: the text is not shown: no" in line for line in served.log)


def test_pandoc_has_so_many_seconds(tmp_path):
    slow = tmp_path / "pandoc"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(RenderError, match=r"more than 0\.2 s"):
        render_pages([("a", "A", PageSource("x", "en"))], "served-parts.html", "en", str(slow), 0.2)


def test_pandoc_reads_no_file_that_a_text_names(tmp_path):
    write(tmp_path / "secret.bib", "@misc{a, title={SECRET}}")
    text = f"---\nbibliography: {tmp_path}/secret.bib\n---\n\n[@a] ![]({tmp_path}/secret.bib)\n\n\\input{{{tmp_path}/secret.bib}}"
    write(tmp_path / "own.bib", "@misc{a, title={OWN}}")
    page = PageSource(text, "en", (str(tmp_path / "own.bib"),))
    (rendered,) = render_pages([("a", "A", page)], "served-parts.html", "en", find_pandoc())
    assert "OWN" in rendered.html and "SECRET}" not in rendered.html


# Cleaning


@pytest.mark.parametrize(
    "hidden",
    ["hidden", 'hidden="until-found"', 'style="display:none"', 'style="color: red; DISPLAY : none !important"', "style='visibility: hidden'",
     'style="visibility:collapse;"'],
)  # fmt: skip
def test_what_is_hidden_stays_hidden_without_its_style(hidden):
    addresses = Addresses("a.html", Path("/course/a.md"), Path("/course"), {})
    clean = clean_html(f"<div {hidden}>The solution</div>", addresses.link, addresses.image)
    assert re.fullmatch(r'<div hidden="[a-z-]*">The solution</div>', clean)
    shown = clean_html('<p style="background: x; --y: display:none-y">Shown</p>', addresses.link, addresses.image)
    assert shown == "<p>Shown</p>"


@pytest.mark.parametrize(
    "dirty",
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg><script>alert(1)</script></svg>",
     '<a href="javascript:alert(1)">x</a>', '<a href=" java&#x0A;script:alert(1)">x</a>', '<a href="data:text/html,x">x</a>',
     "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
     '<math href="javascript:alert(1)">x</math>', '<math><annotation-xml encoding="text/html"><script>alert(1)</script></annotation-xml></math>',
     '<form action="/ask"><input name="x"></form>', '<base href="https://example.org">', '<meta http-equiv="refresh" content="0">',
     '<link rel="stylesheet" href="https://example.org">', '<p style="position:fixed">x</p>', '<object data="x"></object>',
     '<embed src="x">', "<!-- SECRET -->", "<style>p { color: red }</style>", '<div id="lmm-ask-field">x</div>',
     '<a id="lmmAsk">x</a>', "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>"],
)  # fmt: skip
def test_what_could_run_or_load_goes(dirty):
    addresses = Addresses("a.html", Path("/course/a.md"), Path("/course"), {})
    clean = clean_html(f"<p>before</p>{dirty}<p>after</p>", addresses.link, addresses.image)
    assert clean.startswith("<p>before</p>") and clean.endswith("<p>after</p>")
    pattern = r"<script|<style|<svg|<object|<embed|<base|<meta|<link|<form|<iframe|onerror=|javascript:|data:|style=|SECRET|lmm-?ask|src="
    assert not re.search(pattern, re.sub(r"&lt;.*?&gt;", "", clean), re.I), clean
    assert clean_html(clean, addresses.link, addresses.image) == clean


def test_the_data_of_the_box_are_compressed_and_known_by_a_tag(woods):
    with Served(woods, notes=True) as served:
        first = served.client.get("/contents")
        again = served.client.get("/contents", headers={"If-None-Match": first.headers["etag"]})
    assert first.headers["content-encoding"] == "gzip" and json.loads(first.text)["data"]["format"] == FORMAT
    assert again.status_code == 304 and not again.content
