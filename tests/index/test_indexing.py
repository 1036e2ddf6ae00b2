"""`lmm index` on files: what is written, what is not, and what goes wrong."""

import os
import re
import sys
from pathlib import Path

import pytest

from lmm_core.store.places import LocalStorage, open_store
from tests.commands import text, write
from tests.embedding_server import EmbeddingServer
from tests.indexing import counts, document, lmm, stored
from tests.qdrant_server import FailingServer

# What a user gets


def test_a_book_is_indexed_and_found_and_a_changed_paragraph_is_one_chunk(sample_book):
    _, notes = lmm("index sample-book")
    assert re.search(r"\n\d+ documents, \d+ chunks written, 0 removed, 0 unchanged, \d+\.\d s\n$", notes)
    printed, _ = lmm("search 'when is a mean misleading?' -k 1")
    assert re.match(r"Describing distributions > .*\n +sample-book/02-describing\.md:\d+-\d+\n", printed)
    before = stored(folder="sample-book/.lmm/index")
    path = sample_book / "05-linear-models.md"
    contents = [chunk["page_content"] for chunk in before.values() if chunk["source"].endswith(path.name)]
    paragraph = next(content for content in contents if "|" not in content).split("\n\n")[0]
    write(path, text(path).replace(paragraph, paragraph + " Indeed.", 1))
    written, moved, removed, unchanged, documents = counts("sample-book")
    assert (written, removed, moved + unchanged, documents) == (1, 1, len(before) - 1, 1)
    assert len(before.keys() & stored(folder="sample-book/.lmm/index").keys()) == len(before) - 1


def sources(collection="chunks"):
    return sorted({one["source"] for one in stored(collection).values()})


def test_a_file_that_is_gone_leaves_with_its_folder_or_when_asked():
    for name in ("a.md", "sub/b.md", "other/c.md"):
        write(name, document(name.split("/")[-1]))
    counts(".")
    Path("sub/b.md").unlink()
    os.rename("other/c.md", "other/d.md")
    _, stderr = lmm("index a.md")
    assert "2 indexed files are gone (other/c.md, sub/b.md). Run `lmm index` on the folder to remove" in stderr
    assert counts("other") == (1, 0, 1, 0, 1)
    assert sources() == ["a.md", "other/d.md", "sub/b.md"]
    assert counts("a.md --prune") == (0, 0, 1, 1, 0)
    assert sources() == sources("documents") == sources("chunks.files") == ["a.md", "other/d.md"]
    assert "gone" not in lmm("index .")[1]


def test_a_file_in_a_folder_that_cannot_be_looked_into_is_not_gone(monkeypatch):
    write("a.md", document("alpha"))
    write("sub/b.md", document("beta"))
    counts(".")
    exists = Path.exists

    def refuse(path, **options):
        if path.name == "b.md":
            raise PermissionError(13, "Permission denied", str(path))
        return exists(path, **options)

    monkeypatch.setattr(Path, "exists", refuse)
    Path("sub/b.md").unlink()
    assert counts(".") == (0, 0, 0, 1, 0)
    assert sources() == ["a.md", "sub/b.md"]


# Damage


def damage_settings():
    Path(".lmm/index/chunks/shard/edge_config.json").write_text("x")


def damage_payload():
    for page in Path(".lmm/index/chunks/shard").glob("segments/*/payload_storage/page_0.dat"):
        page.write_bytes(b"\xa5" * page.stat().st_size)


def lose_a_chunk():
    store = open_store(LocalStorage(".lmm/index"))
    store.delete("chunks", [next(store.scroll("chunks")).id])
    store.close()


@pytest.mark.parametrize(
    ("damage", "command"), [(damage_settings, "index ."), (damage_payload, "search alpha"), (lose_a_chunk, "index .")]
)
def test_damage_is_reported_though_no_file_has_changed(damage, command):
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    damage()
    _, error = lmm(command, status=1)
    assert "The collection 'chunks'" in error
    assert "index again" in error or "lmm index --rebuild" in error


def test_a_dry_run_writes_nothing():
    write("notes.md", document("alpha", "beta"))
    _, stderr = lmm("index --dry-run notes.md")
    assert "1 document, 2 chunks would be written, 0 removed, 0 unchanged" in stderr
    assert not os.path.exists(".lmm")
    counts("notes.md")
    before = stored(), stored("chunks.files")
    write("notes.md", document("alpha", "gamma"))
    assert counts("--dry-run notes.md") == (1, 0, 1, 1, 1)
    assert (stored(), stored("chunks.files")) == before


def test_a_rebuild_makes_all_anew_and_leaves_the_index_if_the_model_does_not_answer():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    before = stored()
    assert counts("--rebuild notes.md") == (2, 0, 0, 0, 1)
    assert stored() == before
    write("config.toml", '[embeddings]\ndense_model = "openai/text-embedding-3-small"\n')
    assert "OPENAI_API_KEY is not set" in lmm("index --rebuild notes.md", 1)[1]
    assert stored() == before


def test_settings_that_change_chunks_are_noticed_in_unchanged_files():
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    write("config.toml", "[embeddings]\nannotations = []\n")
    assert counts("notes.md") == (2, 0, 0, 0, 1)


# Annotations


@pytest.mark.parametrize(("asked", "is_said"), [("questions: Why?", False), ("tags: a", True)])
def test_with_titles_and_questions_alone_texts_without_questions_are_told(asked, is_said):
    write("config.toml", '[embeddings]\nencoding = "sparse"\n')
    write("notes.md", document("alpha").replace("# About", f"---\n{asked}\n---\n\n# About"))
    assert ("1 of 1 chunk have no questions" in lmm("index notes.md")[1]) is is_said


def test_what_a_page_hides_is_not_in_its_index():
    write("a.qmd", "# A\n\n```{r, include=FALSE}\nhidden()\n```\n\nIt is `r x`.\n\n```{r}\nshown()\n```\n")
    lmm("index a.qmd")
    (chunk,) = stored().values()
    assert (chunk["page_content"], chunk["line_start"]) == ("It is […].\n\n```{r}\nshown()\n```", 7)
    write("_quarto.yml", "execute: {echo: false}\n")
    lmm("index a.qmd")
    assert [chunk["page_content"] for chunk in stored().values()] == ["It is […]."]


def test_annotating_when_it_is_asked_for_also_where_the_file_is_indexed(model, monkeypatch):
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
    write("notes.md", document("alpha", "beta"))
    counts("notes.md")
    assert counts("--annotate --dry-run notes.md")[0] == 0
    assert (model.count, "questions" in text("notes.md")) == (0, False)
    assert counts("--annotate notes.md") == (3, 0, 0, 0, 1)  # one is a summary
    assert model.count
    assert text("notes.md").count("~questions") == 2
    assert counts("--annotate notes.md") == (0, 0, 0, 3, 0)


# Identity


@pytest.mark.parametrize(
    ("header", "docid"),
    [("~docid: mine", "mine"), ("docid=: mine\ndocid: other", "mine"), ("title: T", "part/notes.md")],
)
def test_the_docid_is_the_headers_else_the_path_from_the_root(header, docid):
    write("config.toml", "")
    write("part/notes.md", document("alpha", header=header))
    counts("part")
    assert [record["docid"] for record in stored("chunks.files").values()] == [docid]
    assert {chunk["docid"] for chunk in stored().values()} == {docid}


def test_a_docid_twice_is_an_error_before_anything_is_written():
    write("a.md", document("alpha", header="docid: same"))
    write("b.md", document("beta", header="docid: same"))
    _, stderr = lmm("index a.md b.md", status=1)
    assert stderr == "Error: a.md and b.md have the same docid 'same'. Change one. Nothing was written.\n"
    assert not os.path.exists(".lmm")
    counts("a.md")
    _, stderr = lmm("index b.md", status=1)
    assert "a.md and b.md have the same docid 'same'" in stderr
    assert [one["source"] for one in stored().values()] == ["a.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_reported_and_leaves_the_index_of_the_others():
    write("a.md", document("alpha"))
    Path(os.fsdecode(b"b\xff.md")).write_text(document("beta"))
    _, stderr = lmm("index .", status=1)
    assert "b\ufffd.md: its name is not UTF-8: rename it\n" in stderr
    assert [one["source"] for one in stored().values()] == ["a.md"]


def test_a_renamed_file_with_a_docid_moves_and_one_without_is_pruned():
    write("a.md", document("alpha", header="docid: mine"))
    write("b.md", document("beta"))
    counts("a.md b.md")
    os.rename("a.md", "c.md")
    os.rename("b.md", "d.md")
    assert counts("c.md d.md") == (1, 1, 0, 0, 2)
    assert counts("c.md d.md --prune") == (0, 0, 1, 2, 0)
    assert {one["source"] for one in stored().values()} == {"c.md", "d.md"}


# Odd documents


def test_one_bad_file_keeps_no_other_from_the_index():
    write("a.md", document("alpha", header="docid: same"))
    Path("b.md").write_bytes(b"\xff\xfe bad")
    write("c.md", document("gamma", header="docid: same\nsplit: {siez: 50}"))
    _, error = lmm("index a.md b.md c.md", status=1)
    assert "b.md:1: not UTF-8" in error
    assert "c.md:1: unknown key `split.siez` (known: size, max_size" in error
    assert "1 document, 1 chunk written" in error
    assert sources("chunks.files") == ["a.md"]  # the one that is not indexed has no docid


# Failures


@pytest.fixture
def far_server(monkeypatch):
    """A server of embeddings that is not on this machine: the proxy answers in its place."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
        monkeypatch.setenv("HTTP_PROXY", server.url)
        yield server


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
    write("notes.md", document("alpha"))
    lmm("index notes.md", env={"LMM_MODEL_EMBEDDING": "openai/small"})
    monkeypatch.delenv("OPENAI_API_KEY")
    printed, warnings = lmm("search alpha")
    assert "alpha" in printed
    assert "warning: searching by words alone: openai/small: OPENAI_API_KEY is not set" in warnings
    write("notes.md", document("gamma"))
    assert "lmm index --rebuild" in lmm("index notes.md", status=1)[1]
    lmm("index --rebuild notes.md")
    assert "words alone" not in lmm("search gamma")[1]


@pytest.mark.qdrant
def test_what_is_in_an_index_on_a_server(qdrant):
    with FailingServer(qdrant) as server:
        write("config.toml", f'[storage]\nurl = "{server.url}"\n')
        assert "Nothing is indexed" in lmm("index --info")[0]
        write("notes.md", document("alpha", "beta"))
        lmm("index notes.md")
        place, chunks, *_ = lmm("index --info")[0].splitlines()
        assert place.startswith(server.url) and ": 1 document, last written" in place
        assert chunks == "  chunks: 2 points; bm25 (words alone); English 2"
        assert "not asked" in lmm("doctor")[0]
        assert "1 document, last written" in lmm("doctor --online")[0]
    assert "No Qdrant server answers" in lmm("index --info", status=1)[1]


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


def test_each_document_has_a_language_of_its_own():
    write("notes.md", document("The houses of the city", header="lang: en"))
    write("more.md", document("Die Mittelwerte der Verteilungen", header="lang: de"))
    lmm("index notes.md more.md")
    info, _ = lmm("index --info")
    assert "English 1" in info and "German 1" in info
    for query in ("house", "Mittelwert"):
        assert lmm(f"search {query}")[0].strip()
