"""`lmm index` on files: what is written, what is not, and what goes wrong."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmm_core.indexing import sources as files_to_index
from lmm_core.indexing.documents import find_docid
from lmm_core.markdown.files import read_markdown
from lmm_core.settings.project import load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from tests.commands import BIN, counting, run, text, write
from tests.embedding_server import EmbeddingServer
from tests.indexing import LONG, counts, document, found, lmm, section, stored
from tests.model_server import ModelServer
from tests.qdrant_server import FailingServer

# What a user gets


def test_a_book_is_indexed_and_found_with_nothing_else_said(sample_book):
    _, told = lmm("index sample-book")
    assert re.search(r"\n\d+ documents, \d+ chunks written, 0 removed, 0 unchanged, \d+\.\d s\n$", told)
    assert "Only words are compared (BM25)" in told
    printed, _ = lmm("search 'when is a mean misleading?' -k 1")
    assert re.match(r"\d+\.\d+  Describing distributions > .*\n +sample-book/02-describing\.md:\d+-\d+\n", printed)


def test_a_second_run_looks_into_nothing(sample_book, monkeypatch):
    monkeypatch.chdir(sample_book)
    first = counts(".")
    before = stored()
    assert counts(".") == (0, 0, 0, first[0], 0)
    assert stored() == before


def test_what_holds_for_all_files_is_read_once(monkeypatch):
    write("_quarto.yml", "project:\n  type: website\nlang: en\n")
    for name in ("a.md", "b.md", "c.md"):
        write(name, document(name))
    counts("a.md b.md c.md")
    settings, links = (
        counting(monkeypatch, files_to_index, "quarto_language"),
        counting(monkeypatch, os.path, "realpath"),
    )
    assert counts("a.md b.md c.md")[3] == 3
    of_three = links.count((Path("a.md"),))
    links.clear()
    counts("a.md b.md")
    assert links.count((Path("a.md"),)) == of_three  # of one file as often as there are files would be too often
    assert len(settings) == 2  # one a run


def test_one_changed_paragraph_is_one_chunk(sample_book, monkeypatch):
    monkeypatch.chdir(sample_book)
    total = counts(".")[0]
    before = stored()
    path = sample_book / "05-linear-models.md"
    one = next(p for p in before.values() if p["source"].endswith(path.name) and "|" not in p["page_content"])
    paragraph = one["page_content"].split("\n\n")[0]
    write(path, text(path).replace(paragraph, paragraph + " Indeed.", 1))
    written, moved, removed, unchanged, documents = counts(".")
    assert (written, removed, moved + unchanged, documents) == (1, 1, total - 1, 1)
    assert moved < 5  # only chunks of the same section, which name the text around them
    after = stored()
    assert len(before.keys() & after.keys()) == total - 1


def test_what_moves_keeps_its_id():
    write("notes.md", document("alpha", "beta", "gamma"))
    counts("notes.md")
    before = stored()
    write("notes.md", document("omega", "alpha", "beta", "gamma"))
    assert counts("notes.md") == (1, 3, 0, 0, 1)
    after = stored()
    assert before.keys() < after.keys()
    ((_, beta),) = [item for item in after.items() if "beta is" in item[1]["page_content"]]
    assert (beta["sequence"], beta["section_path"]) == (2, ["3"])
    assert "beta is" in text("notes.md").splitlines()[beta["line_start"] - 1]


def sources(collection="chunks"):
    return sorted({one["source"] for one in stored(collection).values()})


def test_a_file_that_is_gone_leaves_with_its_folder_or_when_asked():
    for name in ("a.md", "sub/b.md", "other/c.md"):
        write(name, document(name.split("/")[-1]))
    counts(".")
    Path("sub/b.md").unlink()
    os.rename("other/c.md", "other/d.md")
    _, told = lmm("index a.md")
    assert "2 indexed files are gone (other/c.md, sub/b.md). Run `lmm index` on the folder to remove" in told
    assert counts(". --dry-run") == (1, 0, 2, 1, 1)
    assert sources() == ["a.md", "other/c.md", "sub/b.md"]
    assert counts("other") == (1, 0, 1, 0, 1)
    assert sources() == ["a.md", "other/d.md", "sub/b.md"]
    assert counts("a.md --prune") == (0, 0, 1, 1, 0)
    assert sources() == sources("documents") == sources("chunks.files") == ["a.md", "other/d.md"]
    assert "gone" not in lmm("index .")[1]


def test_a_file_in_a_folder_that_cannot_be_looked_into_is_not_gone(monkeypatch):
    write("a.md", document("alpha"))
    write("sub/b.md", document("beta"))
    counts(".")
    monkeypatch.setattr(Path, "exists", refuse(Path.exists, "b.md"))
    Path("sub/b.md").unlink()
    assert counts(".") == (0, 0, 0, 1, 0)
    assert sources() == ["a.md", "sub/b.md"]


def refuse(exists, name):
    """Return a function that does what `exists` does, but may not look at files of a name."""

    def exists_unless_named(path, **options):
        if path.name == name:
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path, **options)

    return exists_unless_named


def test_damage_is_told_though_no_file_has_changed():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    shard = Path(".lmm/index/chunks/shard/edge_config.json")
    whole = shard.read_bytes()
    shard.write_text("x")
    _, told = lmm("index .", status=1)
    assert f"The collection 'chunks' in {Path.cwd()}/.lmm/index is damaged (" in told
    assert f"Remove {Path.cwd()}/.lmm/index/chunks and index again." in told
    shard.write_bytes(whole)
    assert counts(".") == (0, 0, 0, 2, 0)


@pytest.mark.parametrize("command", ["search alpha", "index ."])
@pytest.mark.parametrize("byte", [b"\xa5", b"\0"])
def test_payload_that_cannot_be_decoded_is_told_with_the_remedy(command, byte):
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    for page in Path(".lmm/index/chunks/shard").glob("segments/*/payload_storage/page_0.dat"):
        page.write_bytes(byte * page.stat().st_size)
    _, told = lmm(command, status=1)
    assert f"remove {Path.cwd()}/.lmm/index/chunks and index again" in told
    assert counts("--rebuild .") == (2, 0, 0, 0, 1)
    assert found("alpha")


def test_chunks_that_were_lost_are_told_though_no_file_has_changed():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    store = open_store(LocalStorage(".lmm/index"))
    store.delete("chunks", [next(store.scroll("chunks")).id])
    store.close()
    _, told = lmm("index .", status=1)
    assert "The collection 'chunks' is damaged: it has 1 of the 2 chunks that were written." in told
    assert counts("--rebuild .") == (2, 0, 0, 0, 1)
    assert counts(".") == (0, 0, 0, 2, 0)


def test_a_dry_run_writes_nothing():
    write("notes.md", document("alpha", "beta"))
    _, told = lmm("index --dry-run notes.md")
    assert "1 document, 2 chunks would be written, 0 removed, 0 unchanged" in told
    assert not os.path.exists(".lmm")
    counts("notes.md")
    before = stored(), stored("chunks.files")
    write("notes.md", document("alpha", "gamma"))
    assert counts("--dry-run notes.md") == (1, 0, 1, 1, 1)
    assert (stored(), stored("chunks.files")) == before


def test_a_rebuild_makes_all_anew():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    before = stored()
    assert counts("notes.md") == (0, 0, 0, 2, 0)
    assert counts("--rebuild notes.md") == (2, 0, 0, 0, 1)
    assert stored() == before


def test_a_rebuild_whose_embedding_model_does_not_answer_leaves_the_index(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    before = stored()
    write("config.toml", '[embeddings]\ndense_model = "openai/text-embedding-3-small"\n')
    assert "OPENAI_API_KEY is not set" in lmm("index --rebuild notes.md", 1)[1]
    assert stored() == before


def test_settings_that_change_chunks_are_noticed_in_unchanged_files():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    write("config.toml", "[embeddings]\nannotations = []\n")
    assert counts("notes.md") == (2, 0, 0, 0, 1)
    write("config.toml", "[embeddings]\nannotations = []\n[split]\nsize = 60\nmax_size = 90\n")
    assert counts("notes.md")[0] > 2


def test_an_index_below_is_searched_where_there_is_none_here():
    for name in ("one", "two"):
        write(f"{name}/_quarto.yml", "")
        write(f"{name}/notes.md", document(name))
    counts("one")
    printed, _ = lmm("search one -k 1")
    assert "one/notes.md:7-7" in printed
    counts("two")
    _, told = lmm("search one", status=2)
    assert "several folders below: one, two" in told


# Annotations


@pytest.fixture
def model(monkeypatch):
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
        yield server


def test_annotating_when_it_is_asked_for_also_where_the_file_is_indexed(model):
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    assert counts("--annotate --dry-run notes.md")[0] == 0
    assert (model.count, "questions" in text("notes.md")) == (0, False)
    assert counts("--annotate notes.md") == (3, 0, 0, 0, 1)  # one is a summary
    assert model.count
    assert text("notes.md").count("~questions") == 2
    assert counts("--annotate notes.md") == (0, 0, 0, 3, 0)


# Identity


def test_the_docid_is_the_headers_else_the_path_from_the_root():
    write("config.toml", "")
    write("part/one.md", document("alpha"))
    write("two.md", document("beta", header="docid: second"))
    counts("part two.md")
    assert {one["source"]: one["docid"] for one in stored().values()} == {
        "part/one.md": "part/one.md",
        "two.md": "second",
    }


def test_folders_without_a_project_are_told_apart():
    for number, name in enumerate(("a", "b")):
        write(f"{name}/notes.md", document("alphabet"[number:]))
    assert counts("a b")[0] == 2
    assert {one["source"] for one in stored().values()} == {"a/notes.md", "b/notes.md"}


def test_another_docid_leaves_nothing_under_the_old_one():
    write("notes.md", document("alpha", "beta", header="docid: old"))
    counts("notes.md")
    write("notes.md", document("alpha", "beta", header="docid: new"))
    assert counts("notes.md") == (2, 0, 2, 0, 1)
    assert {one["docid"] for one in stored().values()} == {"new"}
    assert {one["docid"] for one in stored("documents").values()} == {"new"}


def test_a_docid_twice_is_an_error_before_anything_is_written():
    write("a.md", document("alpha", header="docid: same"))
    write("b.md", document("beta", header="docid: same"))
    _, told = lmm("index a.md b.md", status=1)
    assert told == "a.md and b.md have the same docid 'same': change one; nothing was written\n"
    assert not os.path.exists(".lmm")
    counts("a.md")
    _, told = lmm("index b.md", status=1)
    assert "a.md and b.md have the same docid 'same'" in told
    assert [one["source"] for one in stored().values()] == ["a.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_reported_and_leaves_the_index_of_the_others():
    write("a.md", document("alpha"))
    Path(os.fsdecode(b"b\xff.md")).write_text(document("beta"))
    for words in ("index .", "index --rebuild ."):
        _, told = lmm(words, status=1)
        assert "b\ufffd.md: its name is not UTF-8: rename it\n" in told
        assert [one["source"] for one in stored().values()] == ["a.md"]


def test_what_is_wrong_in_files_is_said_before_a_docid_that_is_there_twice():
    write("a.md", document("alpha", header="docid: same") + f"::: excercise\nCompute it, {LONG}\n:::\n")
    write("b.md", document("beta", header="docid: same"))
    _, told = lmm("index a.md b.md", status=1)
    first, second = told.splitlines()
    assert first.startswith("a.md:") and "excercise" in first
    assert second.endswith("nothing was written")
    assert not os.path.exists(".lmm")


def test_a_file_that_is_not_indexed_has_no_docid():
    write("a.md", document("alpha", header="docid: same"))
    write("b.md", document("beta", header="docid: same\nsplit: 3"))
    _, told = lmm("index a.md b.md", status=1)
    assert "b.md:1: `split`" in told
    assert "1 document, 1 chunk written" in told
    assert "b.md" not in json.dumps(stored("chunks.files"))


@pytest.mark.parametrize(
    ("header", "docid"),
    [
        ("docid: mine", "mine"),
        ("~docid: mine", "mine"),
        ("docid=: mine\ndocid: other", "mine"),
        ("docid: 7", "7"),
        ("docid: [a, b]", "['a', 'b']"),
        ("docid:\n~docid: other", "notes.md"),
        ("title: T", "notes.md"),
    ],
)
@pytest.mark.parametrize("words", [("alpha",), ()], ids=["chunks", "none"])
def test_the_header_alone_says_the_docid(header, docid, words):
    write("notes.md", document(*words, header=header))
    assert find_docid(read_markdown(Path("notes.md")), load_project(Path("notes.md"))) == docid
    counts("notes.md")
    assert [one["docid"] for one in stored("chunks.files").values()] == [docid]
    assert {one["docid"] for one in stored().values()} == {docid} if words else not stored()


def test_a_renamed_file_with_a_docid_moves_and_one_without_is_pruned():
    write("a.md", document("alpha", header="docid: mine"))
    write("b.md", document("beta"))
    counts("a.md b.md")
    os.rename("a.md", "c.md")
    os.rename("b.md", "d.md")
    assert counts("c.md d.md") == (1, 1, 0, 0, 2)
    assert counts("c.md d.md --prune") == (0, 0, 1, 2, 0)
    assert {one["source"] for one in stored().values()} == {"c.md", "d.md"}


# What is stored

SECRETS = """---
title: T
private: no
~~secret: SECRET
?: SECRET
~chat:
  - user: SECRET
  - model: SECRET
---

# One

---
level: easy
~~mine: SECRET
?: SECRET
~chat:
  - user: SECRET
  - model: SECRET
---

The first text, LONG

::: exercise
Compute what the div asks for, LONG
:::

---
skip: true
---

# Two

SECRET, which is left out, LONG

---
=: make it shorter
~edit: before
---

The old text of an open edit, LONG

---
~edit: after
---

SECRET, the new text, LONG
"""


def test_no_private_key_chat_or_edit_is_stored_anywhere(tmp_path):
    write("notes.md", SECRETS.replace("LONG", LONG))
    counts("notes.md")
    payloads = [*stored().values(), *stored("documents").values()]
    assert "SECRET" not in json.dumps([one for one in payloads if "left out" not in one["page_content"]])
    assert not [key for one in payloads for key in one if key.startswith(("~", "?", "="))]
    assert not [one for one in stored().values() if "left out" in one["page_content"]]
    kinds = {one["page_content"][:7]: one.get("type") for one in stored().values()}
    assert kinds["The fir"] is None
    assert "exercise" in kinds.values()
    assert {one["level"] for one in stored().values() if one["page_content"].startswith("The first")} == {"easy"}


def test_the_old_text_of_an_open_edit_counts(model):
    write("notes.md", document("alpha").replace("Here the", "<!-- lmm -->Here the"))
    write("notes.md", f"---\ntitle: T\n---\n\n# One\n\n---\n=: Make it shorter.\n---\n\nThe old one, {LONG}\n")
    model.reply = "The new one."
    lmm("chat notes.md")
    assert "The new one." in text("notes.md")
    counts("notes.md")
    (one,) = stored().values()
    assert one["page_content"] == f"The old one, {LONG}"


# Odd documents


@pytest.mark.parametrize("change", [lambda s: s.replace("\n", "\r\n"), lambda s: "\ufeff" + s], ids=["crlf", "mark"])
def test_line_ends_and_marks_do_not_move_lines(change):
    write("notes.md", change(document("alpha", "beta")))
    counts("notes.md")
    (one, *_) = found("beta")
    assert one["line_start"] == one["line_end"] == 11
    assert "\ufeff" not in one["page_content"]


@pytest.mark.parametrize(
    ("lang", "content", "query"),
    [
        ("ar", "المتوسط الحسابي هو مجموع القيم مقسوما على عددها في هذا الكتاب الطويل", "المتوسط"),
        ("ja", "平均 は 合計 を 個数 で 割った もの です。 とても 長い 文章 です。", "平均"),
        ("de", "Die Häufigkeiten der Würfel werden hier ausführlich beschrieben.", "Häufigkeit"),
    ],
)
def test_other_languages_are_found(lang, content, query):
    write("notes.md", f"---\nlang: {lang}\n---\n\n# A\n\n{content}\n\n# B\n\nNothing of it is to be found in here.\n")
    counts("notes.md")
    assert found(f"'{query}' -k 1")[0]["page_content"] == content


def test_the_header_says_how_a_document_is_split():
    write("notes.md", document("alpha", "beta", header="split: {size: 50, max_size: 80}"))
    assert counts("notes.md")[0] > 4
    assert all(len(one["page_content"]) <= 80 for one in stored().values())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{siez: 50}", "unknown key `split.siez` (known: size, max_size, overlap, unit, documents)"),
        ("{rules: 50}", "unknown key `split.rules` (known: size, max_size, overlap, unit, documents)"),
        ("{1: 50}", "unknown key `split.1` (known: size, max_size, overlap, unit, documents)"),
        ("{size: many}", "`split`: size: "),
        ("{size: 5000}", "`split`: max_size (2000) should be at least size (5000)"),
        ("{unit: words}", "`split`: unit: "),
        ("small", "`split`: should be a mapping, not 'small'"),
    ],
)
@pytest.mark.parametrize("command", ["index", "chunks", "chunks --markdown"])
def test_wrong_split_options_are_told_with_their_place(said, told, command):
    write("notes.md", document("alpha", header=f"split: {said}"))
    _, error = lmm(f"{command} notes.md", status=1)
    assert error.splitlines()[-1 if command != "index" else 0].startswith(f"notes.md:1: {told}")
    assert "Traceback" not in error


def test_one_bad_file_keeps_no_other_from_the_index():
    write("a.md", document("alpha"))
    Path("b.md").write_bytes(b"\xff\xfe bad")
    write("c.md", document("gamma", header="split: 3"))
    _, told = lmm("index a.md b.md c.md", status=1)
    assert "b.md:1: not UTF-8" in told
    assert "c.md:1: `split`" in told
    assert "1 document, 1 chunk written" in told


# Failures


@pytest.mark.slow
def test_a_run_that_is_killed_is_completed_by_the_next():
    for number in range(40):
        write(f"notes/{number}.md", document(*(f"w{number}x{part}" for part in range(15))))
    for delay in (0.55, 0.75, 0.95):
        process = subprocess.Popen([str(BIN / "lmm"), "index", "-q", "notes"])
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
    written, moved, removed, unchanged, _ = counts("notes")
    assert (written + unchanged, moved, removed) == (600, 0, 0)
    points = stored().values()
    assert len({(one["docid"], one["sequence"]) for one in points}) == len(points) == 600
    assert len(stored("documents")) == 600
    assert counts("notes") == (0, 0, 0, 600, 0)


def test_a_run_that_ended_before_its_records_were_made():
    write("notes.md", document("alpha"))
    counts("notes.md")
    store = open_store(LocalStorage(".lmm/index"))
    store.drop("chunks.files")
    store.close()
    assert counts("notes.md") == (0, 0, 0, 1, 1)
    assert counts("notes.md") == (0, 0, 0, 1, 0)


def test_a_folder_that_is_in_use_is_told_in_one_sentence():
    write("notes.md", document("alpha"))
    counts("notes.md")
    store = open_store(LocalStorage(".lmm/index"))
    try:
        for command in ("lmm index notes.md", "lmm search alpha"):
            done = run(command)
            assert done.returncode == 1
            assert re.fullmatch(
                rb"The index in .* is in use by another process \(pid \d+\). Try again .*\n", done.stderr
            )
    finally:
        store.close()


def test_a_folder_that_cannot_be_made_is_told_in_one_sentence():
    write("notes.md", document("alpha"))
    write(".lmm", "a file, where the folder should be\n")
    _, told = lmm("index notes.md", status=1)
    assert re.fullmatch(r"/.*/\.lmm is a file, not a folder: move it away, or name another folder\n", told)


@pytest.fixture
def far_server(monkeypatch):
    """A server of embeddings that is not on this machine: the proxy answers in its place."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
        monkeypatch.setenv("HTTP_PROXY", server.url)
        yield server


def test_an_index_of_words_says_how_it_takes_the_model_that_is_named_later():
    write("notes.md", document("alpha"))
    lmm("index notes.md")
    with EmbeddingServer() as server:
        write("config.toml", f'[sources.near]\nbase_url = "{server.url}"\n[embeddings]\ndense_model = "near/e"\n')
        told = lmm("index notes.md")[1]
        assert "with near/e, run `lmm index --rebuild`" in told and server.count == 0
        assert "words" not in lmm("index --rebuild notes.md")[1] and server.count


def test_a_key_in_the_environment_is_no_consent_to_send_notes(far_server):
    write("notes.md", document("alpha"))
    assert "Only words are compared" in lmm("index notes.md")[1]
    lmm("search alpha")
    assert far_server.count == 0


def test_what_is_sent_where_is_said_before_it_is_sent(far_server):
    write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
    write("notes.md", document("alpha", "beta"))
    sent = r"embedding 2 chunks with openai/small, about \d+ tokens to http://models\.example/v1"
    assert re.match(sent, lmm("index notes.md")[1])
    assert "embedding" not in lmm("index notes.md")[1]
    write("notes.md", document("alpha", "gamma"))
    far_server.status = 401
    said = lmm("index notes.md", status=1)[1].splitlines()
    assert said[0].startswith("embedding 1 chunk with openai/small, about ")
    assert "refuses the key" in said[1]


def test_without_the_key_of_its_model_an_index_is_searched_by_words(far_server, monkeypatch):
    write("notes.md", document("alpha") + f"---\nquestions: What is beta?\n---\n\n{section('beta')}")
    named = {"LMM_MODEL_EMBEDDING": "openai/small"}
    lmm("index notes.md", env=named)
    monkeypatch.delenv("OPENAI_API_KEY")
    for env in ({}, named):
        for command in ("search alpha", "ask alpha"):
            found, said = lmm(command, env=env)
            assert "alpha" in found
            assert "warning: searching by words alone: openai/small: OPENAI_API_KEY is not set" in said
            assert "run `lmm index --rebuild`" in said
        for command in ("toc", "cards"):
            assert "OPENAI_API_KEY" not in "".join(lmm(command, env=env))
    write("notes.md", document("gamma"))
    assert "run `lmm index --rebuild`" in lmm("index notes.md", status=1)[1]
    lmm("index --rebuild notes.md")
    found, said = lmm("search gamma")
    assert "gamma" in found and "words alone" not in said


@pytest.mark.qdrant
def test_what_is_in_an_index_on_a_server(qdrant):
    with FailingServer(qdrant) as server:
        write("config.toml", f'[storage]\nurl = "{server.url}"\n')
        assert "nothing is indexed" in lmm("index --info")[0]
        write("notes.md", document("alpha", "beta"))
        lmm("index notes.md")
        shown = lmm("index --info")[0].splitlines()
        assert re.fullmatch(rf"{re.escape(server.url)}/?: 1 document, last written \d+ seconds? ago", shown[0])
        assert shown[1] == "  chunks: 2 points; bm25 (words alone); English 2"
        assert json.loads(lmm("index --info --json")[0])["size"] is None
        assert f"{server.url}" in lmm("doctor")[0] and "not asked" in lmm("doctor")[0]
        assert "1 document, last written" in lmm("doctor --online")[0]
    assert "No Qdrant server answers" in lmm("index --info", status=1)[1]


def test_a_failing_embedding_server_leaves_the_old_version(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        write("notes.md", document("alpha", "beta"))
        assert counts("notes.md")[0] == 2
        before, asked = stored(), server.count
        assert counts("--rebuild notes.md")[0] == 2
        assert server.count == asked  # all vectors come from the cache
        server.status = 401
        write("notes.md", document("alpha", "gamma"))
        _, told = lmm("index notes.md", status=1)
        assert "401" in told or "key" in told
        assert stored() == before
        server.status = 200
        assert counts("notes.md") == (1, 0, 1, 1, 1)


class RefusingServer(EmbeddingServer):
    """Refuses texts with a word in them."""

    def answer(self, body, key):
        self.status = 401 if any(self.word in text for text in body["input"]) else 200
        return super().answer(body, key)


def test_what_a_model_made_of_one_document_is_kept_when_it_fails_at_the_next(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
    write("a.md", document("alpha"))
    write("b.md", document("beta"))
    with RefusingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.word = "beta"
        lmm("index a.md b.md", status=1)
        assert {one["source"] for one in stored().values()} == {"a.md"}
        server.word = "gamma"
        assert counts("a.md b.md") == (1, 0, 0, 1, 1)


def test_a_model_that_is_not_there_is_an_error_and_never_another_one():
    write("notes.md", document("alpha"))
    _, told = lmm("index notes.md", status=1, env={"LMM_MODEL_EMBEDDING": "fastembed/BAAI/bge-small-en-v1.5"})
    assert "lmm models get" in told
    assert not os.path.exists(".lmm/index/chunks")


def test_a_collection_of_another_encoding_is_an_error_and_nothing_changes():
    write("notes.md", document("alpha"))
    counts("notes.md")
    before = stored()
    write("config.toml", '[embeddings]\nencoding = "sparse"\n')
    write("notes.md", document("beta"))
    for command in ("index notes.md", "search alpha"):
        _, told = lmm(command, status=1)
        assert "'chunks' was made otherwise (encoding bm25, now sparse" in told
        assert "lmm index --rebuild" in told
    assert stored() == before
    assert counts("--rebuild notes.md")[0] == 1


def test_each_document_has_a_language_of_its_own():
    write("notes.md", document("The houses of the city", header="lang: en"))
    write("more.md", document("Die Mittelwerte der Verteilungen", header="lang: de"))
    lmm("index notes.md more.md")
    assert all(one in lmm("index --info")[0] for one in ("English 1", "German 1"))
    for query in ("house", "Mittelwert"):
        assert lmm(f"search {query}")[0].strip()
    write("config.toml", '[embeddings]\nlanguage = "fr"\n')
    write("third.md", document("gamma"))
    lmm("index third.md")
    assert "French 1" in lmm("index --info")[0]


def test_an_encoding_of_questions_alone_is_warned_of_where_most_texts_have_none():
    write("config.toml", '[embeddings]\nencoding = "sparse"\n')
    write("notes.md", document("alpha"))
    said = lmm("index notes.md")[1]
    assert "the encoding `sparse` finds texts by their titles and questions alone, and 1 of 1 chunk" in said
    write("notes.md", "# A\n\n---\nquestions: What is alpha?\n---\n\nalpha\n")
    assert "alone" not in lmm("index notes.md")[1]


def test_what_the_annotations_leave_out_is_not_ranked():
    write("config.toml", '[embeddings]\nannotations = ["titles"]\n')
    write("notes.md", "# A\n\n---\nquestions: What is a zebra?\n---\n\nalpha\n\n# B\n\nA zebra and another zebra.\n")
    lmm("index notes.md -q")
    assert [point["titles"][-1] for point in found("zebra")] == ["B"]


def test_git_leaves_an_index_alone():
    write("notes.md", document("alpha"))
    subprocess.run(["git", "init", "-q"], check=True)
    lmm("index notes.md")
    seen = subprocess.run(["git", "status", "--short", "-uall"], capture_output=True, text=True, check=True).stdout
    assert ".lmm/index" not in seen and "notes.md" in seen


def test_a_document_is_indexed_by_its_blocks():
    from lmm_core.indexing.api import blocklist_upload, global_client_from_config
    from lmm_core.markdown import parse_markdown_text

    blocks = parse_markdown_text("---\ntitle: T\ndocid: by-blocks\n---\n\n# A\n\nA mean is a sum by a count.\n")
    assert blocklist_upload(blocks).written == 1
    again = blocklist_upload(blocks)
    assert (again.written, again.unchanged) == (0, 1)
    global_client_from_config().close()
