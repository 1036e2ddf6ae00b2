"""`lmm clear --annotations`, from the command line to the file."""

import json
import re
import shutil
from pathlib import Path

import pytest

from lmm_core.files.walk import SUFFIXES
from lmm_core.models.sources import STAND_IN_NAME
from lmm_core.scan.documents.passes import markdown_rag
from tests.commands import text, write
from tests.strategies import LONG, CountingAnnotator
from tests.talk import lmm

SAMPLE_BOOK = Path(__file__).parents[2] / "sample-book"
NOTES = f"---\ntitle: Notes\n---\n# One\n\n{LONG}\n\n---\n?: Is it so?\n---\n\n## Two\n\nTwo. {LONG}\n"


@pytest.fixture
def notes():
    write("config.toml", "")
    write("notes.md", NOTES)
    markdown_rag("notes.md", annotator=CountingAnnotator())
    assert text("notes.md") != NOTES
    return text("notes.md")


def count_values(notes):
    return len(re.findall(r"^~\w+:", notes, re.M))


def test_the_file_is_what_it_was(notes):
    done = lmm("lmm clear --annotations notes.md")
    assert text("notes.md") == NOTES
    assert f"cleared: notes.md: {count_values(notes)} annotations\n1 of 1 files cleared\n" in done.stderr
    assert lmm("lmm clear --annotations notes.md").stderr == "0 of 1 files cleared\n"


def test_a_folder_is_what_it_was():
    book = Path(shutil.copytree(SAMPLE_BOOK, "book"))
    before = {path: path.read_bytes() for path in sorted(book.rglob("*")) if path.is_file()}
    for path in before:
        if path.suffix in SUFFIXES and path.name != "README.md":  # which is no chapter
            markdown_rag(path, annotator=CountingAnnotator())
    (book / "index.md").write_bytes(before[book / "index.md"])
    stand_in = CountingAnnotator()
    stand_in.name = STAND_IN_NAME
    markdown_rag(book / "index.md", annotator=stand_in)
    assert "1 of 8 files cleared" in lmm("lmm clear --annotations --by stand-in book").stderr
    assert not any(b"extractive/default" in path.read_bytes() for path in before)
    assert "8 of 8 files cleared" in lmm("lmm clear --annotations book").stderr
    assert {path: path.read_bytes() for path in before} == before


def test_check_diff_and_json_write_nothing_or_say_it_all(notes):
    assert "would be cleared: notes.md" in lmm("lmm clear --annotations --check notes.md", status=1).stderr
    diff = lmm("lmm clear --annotations --diff notes.md").stdout
    assert "-~docid: notes.md\n" in diff
    assert "\n+" not in diff.split("@@", 1)[1]
    assert text("notes.md") == notes
    (said,) = json.loads(lmm("lmm clear --annotations --json notes.md").stdout)
    assert said["changed"] is True
    assert said["detail"] == f"{count_values(notes)} annotations"
    assert lmm("lmm clear --annotations --check notes.md").stderr == "0 of 1 files would be cleared\n"


def test_what_was_corrected_is_kept_and_said(notes):
    corrected = notes.replace("~summary: ", "~summary: My own ", 1)
    write("notes.md", corrected)
    done = lmm("lmm clear --annotations notes.md")
    line = corrected[: corrected.index("~summary: My own")].count("\n") + 1
    assert f"notes.md:{line}: ~summary was corrected by hand and is kept; --all takes it out, too" in done.stderr
    assert text("notes.md").count("~summary") == 1
    lmm("lmm clear --annotations --all notes.md")
    assert text("notes.md") == NOTES


def test_only_the_keys_that_are_named_go(notes):
    lmm("lmm clear --annotations --key summary --key docid notes.md")
    assert "~questions" in text("notes.md")
    assert not {"~summary", "~docid"} & set(text("notes.md").split(":")[0].split())
    assert "~summary:" not in text("notes.md") and "~docid:" not in text("notes.md")
    markdown_rag("notes.md", annotator=CountingAnnotator())
    assert sorted(text("notes.md").splitlines()) == sorted(notes.splitlines())


OWN = """---
title: Notes
topic: rivers   # of the lecture
lang: en
---

# One

One.

---
topic: brooks
# a remark
level: 2
---

## Two

Two.

::: {.lmm .content-hidden}
``` yaml
topic: lakes
```
:::

Three.
"""


def test_a_key_goes_from_all_metadata_whoever_wrote_it():
    write("config.toml", "")
    write("notes.md", OWN)
    assert "-topic: rivers   # of the lecture\n" in lmm("lmm clear --key topic --diff notes.md").stdout
    assert "would be cleared: notes.md: 3 keys" in lmm("lmm clear --key topic --check notes.md", status=1).stderr
    assert text("notes.md") == OWN
    assert "cleared: notes.md: 3 keys\n" in lmm("lmm clear --key topic notes.md").stderr
    wanted = OWN.replace("topic: rivers   # of the lecture\n", "").replace("topic: brooks\n", "")
    wanted = wanted.replace("::: {.lmm .content-hidden}\n``` yaml\ntopic: lakes\n```\n:::\n\n", "")
    assert text("notes.md") == wanted
    assert "no metadata here has the key 'topic'\n" in lmm("lmm clear --key topic notes.md").stderr


def test_several_keys_go_with_what_the_hashes_say_of_them(notes):
    lmm("lmm clear --key '~questions' --key '~summary' --key '~titles' --key '?' notes.md")
    assert not re.search(r"^(~questions|~summary|~titles|\?)", text("notes.md"), re.M)
    assert text("notes.md").count("~~hash") == notes.count("~~hash") - 2  # the header's names its title and docid
    markdown_rag("notes.md", annotator=CountingAnnotator())
    assert count_values(text("notes.md")) == count_values(notes)


def test_a_key_is_exact_and_the_spelling_that_is_there_is_named(notes):
    done = lmm("lmm clear --key summary --key levle notes.md")
    assert "no metadata here has the key 'summary'; did you mean '~summary'?" in done.stderr
    assert "no metadata here has the key 'levle'\n" in done.stderr
    assert text("notes.md") == notes


def test_a_request_whose_edit_waits_is_kept():
    write("config.toml", "")
    waiting = (
        "---\n=: Shorter.\nlevel: 2\n~~edit: {id: a1b2c3}\n---\n\n###### old text {#lmm-old-a1b2c3}\n\n---\nlevel: 3\n---\n\n"
        "Old.\n\n###### new text {#lmm-new-a1b2c3}\n\nNew.\n\n###### end of edit {#lmm-end-a1b2c3}\n"
    )
    write("notes.md", f"# One\n\n{waiting}")
    done = lmm("lmm clear --key = --key level notes.md")
    assert "notes.md:3: warning: an edit waits here; run `lmm accept`" in done.stderr
    assert "keys inside it are kept" in done.stderr
    assert text("notes.md") == f"# One\n\n{waiting}".replace("level: 2\n", "")


def test_an_emptied_header_goes():
    write("config.toml", "")
    write("notes.md", "---\ntopic: rivers\n---\n\n# One\n\nOne.\n")
    lmm("lmm clear --key topic notes.md")
    assert text("notes.md") == "# One\n\nOne.\n"


def test_questions_of_the_writer_stay_and_annotations_stay_without_the_option(notes):
    lmm("lmm clear notes.md")
    assert "?: Is it so?" not in text("notes.md")
    assert "~summary" in text("notes.md")


def test_a_block_that_cannot_be_read_is_an_error(notes):
    write("notes.md", f"{notes}\n---\n~summary: [\n---\n")
    done = lmm("lmm clear --annotations notes.md", status=1)
    assert "this block is left as it is: invalid YAML" in done.stderr
    assert text("notes.md") == f"{NOTES}\n---\n~summary: [\n---\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--by model", "add --annotations"),
        ("--all", "add --annotations"),
        ("--edits --all", "add --annotations"),
        ("--annotations --edits", "--edits excludes"),
        ("--edits --key topic", "--edits excludes"),
        ("--key summary --by model", "add --annotations"),
        ("--annotations --by model --key titles", "questions and summaries alone"),
        ("--annotations --key sumary", "sumary"),
        ("--annotations --by me", "me"),
        ("--annotations --json --diff", "exclude each other"),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(notes, options, said):
    done = lmm(f"lmm clear {options} notes.md", status=2)
    assert said in done.stderr
    assert text("notes.md") == notes
