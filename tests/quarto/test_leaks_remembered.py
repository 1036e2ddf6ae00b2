"""What the leak check remembers spares it work, and never hides a leak."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown.rag_only import KnitRules
from lmm_core.quarto import after_render, pages
from lmm_core.quarto.leaks import check, look_for_leaks, sources
from lmm_core.quarto.leaks.known import files, memory
from lmm_core.quarto.options import AskBoxSettings
from lmm_core.settings.project import Project
from lmm_core.settings.quarto_inputs import find_inputs
from lmm_core.workflows.known import forks, remember
from lmm_core.workflows.known.cache import Known
from tests.commands import write
from tests.workflows.known.test_known_findings import counting

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
SECRET = "Twelve students forgot their umbrellas on the train to Basel"
OTHER = "The median has as many values below it as above it"
EXERCISE = "# {0}\n\nAbout the {0} of things.\n\n::: exercise\n{1}.\n:::\n"


@pytest.fixture(autouse=True)
def site(monkeypatch):
    """A site of two pages without leaks, of which all is remembered after the first look."""
    monkeypatch.setattr(remember, "WORTH", 0)
    write("one.md", EXERCISE.format("mean", SECRET))
    write("two.md", EXERCISE.format("median", OTHER))
    write("site/one.html", "<p>About the mean of things.</p>")
    write("site/two.html", "<p>About the median of things.</p>")


def look(project=None, logger=None, **more):
    """What the leak check finds in the site."""
    sources = sorted(Path().glob("*.md"))
    return look_for_leaks(Path("site"), sources, project or Project(Path()), logger or ListLogger(), **more)


def places(found):
    return [(leak.file.name, leak.source.name, leak.line) for leak in found.leaks]


@pytest.fixture
def read(monkeypatch):
    """The files that are looked into, and the documents that are parsed, after a first look."""
    assert look().leaks == []
    return counting(monkeypatch, files, "read_texts"), counting(monkeypatch, memory, "pack")


def test_what_has_not_changed_is_not_read_again(read):
    first = look()
    assert (first.leaks, first.parts, first.files) == ([], 2, 2)
    assert read == ([], [])


def test_a_document_is_parsed_for_what_is_left_out_and_not_again_for_what_stays_in(monkeypatch):
    """Other processes do the first, and hand over what the second needs."""
    look_at_kept = check.look_at_kept

    def without_blocks(notes, memory):
        for note in notes:
            note.document.__dict__.pop("blocks", None)
        monkeypatch.setattr(sources, "parse_markdown_text", None)
        return look_at_kept(notes, memory)

    monkeypatch.setattr(check, "look_at_kept", without_blocks)
    found = look(ask=AskBoxSettings())
    assert (found.leaks, found.parts) == ([], 2)


def test_an_edit_takes_a_look_at_what_was_edited(read):
    write("one.md", EXERCISE.format("mean", SECRET) + "\nMore of it.\n")
    write("site/one.html", "<p>About the mean of things.</p><p>More of it.</p>")
    assert look().leaks == []
    texts, packed = read
    assert [path.name for path, *_ in texts] == ["one.html"]
    assert len(packed) == 2  # the page, and what stays in of the document


def test_what_is_known_of_documents_and_texts_is_looked_up_at_once(read, monkeypatch):
    """Only what an edit has made new is looked up by itself."""
    found = []
    real = Known.find
    monkeypatch.setattr(Known, "find", lambda known, keys: found.append([*keys]) or real(known, found[-1]))
    assert look().leaks == []
    assert len([key for keys in found for key in keys]) == 1
    write("one.md", EXERCISE.format("mean", SECRET) + "\nMore of it.\n")
    found.clear()
    assert look().leaks == []
    assert len([key for keys in found for key in keys]) == 3  # the last look, what is left out of one.md, what stays in


def test_a_part_that_is_gone_and_comes_back(read):
    """Its keys are looked for as new ones: what was seen of them is forgotten, the text may have changed since."""
    write("one.md", EXERCISE.format("mean", "Compute it"))
    write("site/two.html", f"<p>{SECRET}</p>")
    assert look().leaks == []
    write("one.md", EXERCISE.format("mean", SECRET))
    assert places(look()) == [("two.html", "one.md", 5)]


def test_a_part_of_two_documents_is_looked_for_while_one_has_it(read):
    write("three.md", EXERCISE.format("mode", SECRET))
    write("site/two.html", f"<p>{SECRET}</p>")
    assert len(look().leaks) == 2
    write("one.md", EXERCISE.format("mean", "Compute it"))
    assert places(look()) == [("two.html", "three.md", 5)]


def test_a_new_part_is_found_in_an_old_page(read):
    write("site/two.html", f"<p>{SECRET[7:]} and their hats as well.</p>")
    write("one.md", EXERCISE.format("mean", "Compute it"))
    assert look().leaks == []
    write("one.md", EXERCISE.format("mean", f"{SECRET} and their hats as well"))
    assert places(look()) == [("two.html", "one.md", 5)]


def test_an_old_part_is_found_in_a_new_page(read):
    write("site/three.html", f"<p>{OTHER}</p>")
    assert places(look()) == [("three.html", "two.md", 5)]


def test_words_that_the_notes_say_no_longer_are_a_leak(read):
    said = EXERCISE.format("median", OTHER) + f"\n{SECRET}.\n"
    write("two.md", said)
    write("site/two.html", f"<p>{SECRET}</p>")
    assert look().leaks == []
    write("two.md", said.replace(SECRET, "Something else"))
    assert places(look()) == [("two.html", "one.md", 5)]


def test_a_part_that_is_gone_hides_no_other(read):
    write("one.md", EXERCISE.format("mean", "x y to z") + f"\n::: exercise\n- {SECRET}\n:::\n\n{SECRET}.\n")
    write("site/two.html", f"<p>{SECRET}</p>")
    assert look().leaks == []
    write("one.md", EXERCISE.format("mean", SECRET))
    assert places(look()) == [("two.html", "one.md", 5)]


def test_rules_that_change_are_no_longer_the_same(read):
    write("site/one.html", f"<p>{SECRET}</p>")
    kept = Project(Path(), rules=KnitRules(keep=frozenset({"exercise"})))
    assert look(kept).leaks == []
    assert places(look()) == [("one.html", "one.md", 5)]
    assert look(kept).leaks == []


def test_short_parts_are_found_when_none_was_looked_for_before(read):
    write("site/two.html", "<ul><li>Answer: fourty</li></ul>")
    assert look().leaks == []
    write("one.md", EXERCISE.format("mean", "Answer: fourty"))
    assert places(look()) == [("two.html", "one.md", 5)]


def test_a_file_that_is_hidden_from_now_on(read):
    write("two.md", EXERCISE.format("median", OTHER) + "\nThe hidden file says this of all the cats.\n")
    write("site/two.html", "<p>The hidden file says this of all the cats.</p>")
    assert look().leaks == []
    write("one.md", EXERCISE.format("mean", "{{< include two.md >}}"))
    assert places(look()) == [("two.html", "two.md", 9)]


def test_files_that_cannot_be_read_are_reported_in_their_order(read, monkeypatch):
    for name in ("a", "z"):
        Path(f"site/{name}.zip").write_bytes(b"PK\x03\x04 broken")

    def refused(path):
        if path.name == "one.html":
            raise PermissionError(13, "Permission denied")
        return path.read_bytes()

    monkeypatch.setattr(files, "contents_of", refused)
    logger = ListLogger()
    found = look(logger=logger)
    assert (found.leaks, found.files) == ([], 1)
    assert [str(report).partition(":")[0] for report in logger.reports] == ["site/a.zip", "site/one.html", "site/z.zip"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")
@pytest.mark.parametrize("worth", [0, 10**9])
def test_what_may_not_be_looked_at_is_reported_and_hides_nothing_else(monkeypatch, worth):
    """A link to what may not be looked at stands in the way of no other file in its folder, whatever their order."""
    monkeypatch.setattr(remember, "WORTH", worth)
    for name in "abcdef":
        write(f"site/{name}.html", f"<p>{SECRET}</p>")
    write("site/sub/one.html", f"<p>{SECRET}</p>")
    write("own/secret.html", "")
    links = [Path(f"site/link-{name}.html") for name in "abc"]
    for link in links:
        link.symlink_to("../own/secret.html")
    Path("site/broken.html").symlink_to("nowhere.html")
    refused = [*map(str, links), str(Path("site/sub"))]
    _refuse(monkeypatch, refused)
    logger = ListLogger()
    assert [leak.file.name for leak in look(logger=logger).leaks] == [f"{name}.html" for name in "abcdef"]
    assert [str(report) for report in logger.reports] == [f"{path}: Permission denied" for path in refused]


def _refuse(monkeypatch, names):
    """Let nobody look at what has some names, not even root."""

    def refusing(do):
        def done(path, *args, **more):
            if not isinstance(path, int) and os.fspath(path) in names and more.get("follow_symlinks", True):
                raise PermissionError(13, "Permission denied")
            return do(path, *args, **more)

        return done

    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    monkeypatch.setattr(files, "contents_of", refusing(files.contents_of))


def test_the_data_of_an_ask_box(read):
    write("site/lmm-ask/data.js", f'x("{OTHER}")')
    assert look(ask=AskBoxSettings(include=frozenset({"exercise"}))).leaks == []
    assert places(look(ask=AskBoxSettings())) == [("data.js", "two.md", 5)]


@pytest.mark.parametrize("processors", [1, pytest.param(3, marks=ON_LINUX)])
def test_leaks_and_warnings_are_reported_each_time(read, monkeypatch, processors):
    monkeypatch.setattr(forks, "ENOUGH", 1)
    monkeypatch.setattr(forks, "_processors", lambda: processors)
    write("site/one.html", f"<p>{SECRET}</p>")
    write("site/bad.zip", b"PK\x03\x04 broken")
    write("site/nul.html", f"<p>{OTHER}</p>".replace("e", "e\0", 1))
    looks = []
    for _ in range(3):
        logger = ListLogger()
        looks.append((look(logger=logger), [str(report) for report in logger.reports]))
    assert looks[0] == looks[1] == looks[2]
    assert len(looks[0][0].leaks) == len(looks[0][1]) == 2


@pytest.mark.parametrize("content", [b"", b"no database at all", None])
def test_without_a_cache_all_is_looked_at(read, content):
    place = Path("cache/lmm/known.sqlite")
    if content is None:
        shutil.rmtree("cache")
    else:
        write(place, content)
    write("site/one.html", f"<p>{SECRET}</p>")
    assert places(look()) == [("one.html", "one.md", 5)]


# Properties

WORDS = st.sampled_from("alpha beta gamma delta mean median of the in students umbrella train 42 Straße".split())
SENTENCE = st.lists(WORDS, min_size=1, max_size=9).map(" ".join)
PART = st.sampled_from(["{}", "::: exercise\n{}\n:::", "## {}", "---\nquestions: {}\n---\n\nText.", "- {}"])
TEXT = st.lists(st.builds(str.format, PART, SENTENCE), min_size=1, max_size=5).map("\n\n".join)
PAGE = st.lists(SENTENCE.map("<p>{}</p>".format), min_size=1, max_size=4).map("\n".join)
NAMES = st.sampled_from(["one.md", "two.md", "site/one.html", "site/two.html", "site/lmm-ask/data.js"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NAMES, TEXT, PAGE), min_size=1, max_size=6), st.sampled_from([None, AskBoxSettings()]))
def test_what_is_remembered_changes_nothing(monkeypatch, edits, ask):
    for name, notes, page in edits:
        write(name, notes if name.endswith(".md") else page)
        remembered = look(ask=ask)
        with monkeypatch.context() as patch:
            patch.setattr(remember, "WORTH", 10**9)
            assert look(ask=ask) == remembered


def test_what_pages_include_is_looked_for_once(monkeypatch):
    write("_quarto.yml", "project:\n  type: website\n")
    write("three.md", "# Three\n\n{{< include _more.md >}}\n")
    write("_more.md", "More of it.\n")
    searched, read_again = counting(monkeypatch, pages, "named_in"), counting(monkeypatch, after_render, "included_in")
    found = pages.read_pages(find_inputs(Path()), Path())
    after_render.report_leaks([Path("site")], found, Path(), ListLogger())
    assert [Path(path).name for _, path, _ in searched] == ["one.md", "three.md", "two.md", "_more.md"]
    assert read_again == []
