"""A search by what is kept beside a collection finds the same as one by all of its chunks, and never an earlier state."""

from contextlib import contextmanager

import pytest

from lmm_core.models.chat import run
from lmm_core.retrieve import library as libraries
from lmm_core.retrieve.kept import collection
from lmm_core.retrieve.kept.counts import KeptStems
from lmm_core.retrieve.kept.material import KeptMaterial
from lmm_core.retrieve.passages import build_material
from lmm_core.retrieve.ranking.lexical import LexicalIndex
from lmm_core.retrieve.search import search_points
from lmm_core.settings.project import load_project
from lmm_core.store.edge_store import EdgeStore
from lmm_core.workflows.ask import make_conversation, open_library
from lmm_core.workflows.models import Models
from tests.indexing import lmm
from tests.retrieve.questions import SETS, questions

FURTHER = [
    "standrad eror", "Varianzz", "vari medi", "quokka", "2.8", "SD of the SE", "*exercise*", "*summary* of variance",
    "what is the meaning of ANOVA", "Was ist der Unterschied zwischen Median und Mittelwert?",
]  # fmt: skip


@pytest.fixture
def book(indexed_book, monkeypatch):
    """The sample book, indexed, of which all is kept though it is small."""
    monkeypatch.setattr(collection, "LEAST", 1)
    return indexed_book


@contextmanager
def opened(**changes):
    """A library of the working folder, with some fields changed."""
    library = run(open_library(load_project(None), Models()))
    vars(library).update(changes)
    try:
        yield library
    finally:
        library.store.close()


def state():
    """What there is in the working folder's index, and whether that was kept."""
    with opened() as library:
        material, lexical = run(library.material()), run(library.lexical())
        assert isinstance(lexical.counts.stems, KeptStems) == isinstance(material, KeptMaterial)
        return isinstance(material, KeptMaterial), contents(material)


def contents(material):
    sections = [
        (one.key, one.source, one.titles, one.anchor, one.depth, one.place, one.summary, one.questions, one.language,
         [passage.id for passage in one.passages], [child.key for child in one.children],
         one.parent.key if one.parent else None)
        for one in material.walk()
    ]  # fmt: skip
    counted = [list(material.kinds.items()), list(material.languages.items()), material.system, material.size]
    whole = [material.sources, dict(material.ranks), dict(material.titles), list(material.sections)]
    return sections, list(material.passages.items()), counted, whole


def made_anew():
    """The same, made of all chunks."""
    with opened() as library:
        material = build_material(library.store.scroll(library.collection), library.order)
        material.system = run(library.material()).system
        return contents(material)


async def found(library, asked):
    """All that is found for some questions, with the scores."""
    project = load_project(None)
    for question in asked:
        points = await search_points(library, question, 6, None)
        talk = make_conversation(project, Models(), library, with_model=False)
        retrieval, context = await talk.look(question)
        answer = await talk.answer(question, retrieval, context)
        sections = [(one.section.key, one.score) for one in retrieval.sections]
        yield (
            points, retrieval.queries, retrieval.spans, sections, context, answer.text, answer.cited,
            [one.section.key for one in answer.nearest],
        )  # fmt: skip


def results(asked, **changes):
    async def collected(library):
        return [one async for one in found(library, asked)]

    with opened(**changes) as library:
        return run(collected(library)), run(library.lexical())


def test_what_was_kept_is_the_same_as_what_is_made_of_all_chunks(book):
    assert state() == (False, made_anew())
    assert state() == (True, made_anew())


def test_each_question_finds_the_same_with_the_same_scores(book):
    asked = [question for name in SETS for question, _ in questions(name)] + FURTHER
    before, counted = results(asked)
    after, kept = results(asked)
    assert after == before
    assert not isinstance(counted.counts.stems, KeptStems) and isinstance(kept.counts.stems, KeptStems)


def test_each_word_is_known_alike(book):
    (_, counted), (_, kept) = results([]), results([])
    one, other = counted.vocabulary, kept.vocabulary
    assert dict(other.counts) == dict(one.counts)
    stems = [*one.counts, "", "zzz", "stat", "中", "\U0010ffff"]
    for stem in stems:
        assert list(other.stems.starting(stem)) == list(one.stems.starting(stem))
        assert other.stems.form(stem) == one.stems.form(stem)
        assert other.counts[stem] == one.counts[stem]
    for initial, length in [*one.stems.words, ("?", 3)]:
        assert list(other.stems.alike(initial, length)) == list(one.stems.alike(initial, length))
    assert {docid: dict(stems) for docid, stems in kept.counts.stems_in.items()} == counted.counts.stems_in
    assert kept.synonyms.pairs() == counted.synonyms.pairs()
    assert list(kept.stemmers.languages) == list(counted.stemmers.languages)


def test_a_change_of_the_notes_is_seen_at_once(book):
    state()
    notes = book / "02-describing.md"
    changed = notes.read_text(encoding="utf-8").replace("variance", "quokkance")
    notes.write_text(changed, encoding="utf-8")
    lmm("index . -q")
    assert state() == (False, made_anew())
    assert any("quokkance" in passage.text for _, passage in state()[1][1])
    notes.unlink()
    lmm("index . -q --prune")
    assert state() == (False, made_anew())
    lmm("index . -q --rebuild")
    assert state() == (False, made_anew())
    assert state()[0]


def test_files_that_are_saved_again_as_they_were_change_nothing(book):
    state()
    for path in book.glob("*.md"):
        path.write_bytes(path.read_bytes())
    lmm("index . -q")
    assert state()[0]


def test_a_search_reads_no_chunk_but_those_that_it_shows(book, monkeypatch):
    results(["variance"])
    scrolled, read = [], []
    scroll, document = EdgeStore.scroll, KeptMaterial.document
    monkeypatch.setattr(EdgeStore, "scroll", lambda self, name, *a: scrolled.append(name) or scroll(self, name, *a))
    monkeypatch.setattr(KeptMaterial, "document", lambda self, at: read.append(at) or document(self, at))
    results(["variance"])
    assert set(scrolled) == {"chunks.files"}
    with opened() as library:
        read.clear()
        material = run(library.material())
        assert (len(material.documents), material.size, len(material.passages)) and material.sources
        run(library.lexical())
        assert read == []


def test_settings_have_their_own(book):
    """What another order of chapters, other names or another version of the program made is not used."""
    results([])
    for change in ({"order": ["01-data.md"]}, {"synonyms": {"mean": ("average",)}}):
        assert not isinstance(results([], **change)[1].counts.stems, KeptStems)
        assert isinstance(results([], **change)[1].counts.stems, KeptStems)


def test_another_version_of_the_program_makes_its_own(book, monkeypatch):
    state()
    monkeypatch.setattr(collection, "program_mark", lambda: b"another")
    assert not state()[0]


def test_a_copy_with_the_chunks_of_other_files_is_not_mistaken(book):
    with opened() as library:
        run(library.material())
        records = libraries.records_in(library._state)
        keys = {collection.key_for(some, (), {}, "en") for some in (records, records[1:], [*reversed(records)])}
    assert len(keys) == 2


def test_a_write_that_fails_does_not_fail_the_search(book, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmm_core.store.kept_files.replace_file", fail)
    assert results(["variance"])[0][0][0]
    assert not state()[0]


def test_small_collections_are_read_as_they_are(indexed_book):
    state()
    assert not list(indexed_book.glob(".lmm/index/*/kept-*"))


def test_chunks_that_are_changed_behind_the_records_are_seen(book):
    """As by the functions of the store, which write no records of files."""
    before = state()[1]
    with opened() as library:
        point = next(library.store.scroll("chunks"))
        library.store.set_payload("chunks", {point.id: {**point.payload, "page_content": "Quokkas."}})
    kept, after = state()
    assert (kept, after) == (False, made_anew())
    assert after != before


def test_what_was_read_stays_as_it_was(book):
    """A material that is in use goes on to give what it was made of, also of documents that it has not read yet."""
    state()
    with opened() as library:
        material = run(library.material())
        expected = contents(build_material(library.store.scroll("chunks"), library.order))
    lmm("index . -q --rebuild")
    assert contents(material)[0] == expected[0]


def test_the_counts_are_those_of_the_language_of_the_question(book):
    """The synonyms go by the language of the material, whichever languages were met last."""
    results([])
    (_, kept) = results([])
    assert isinstance(kept, LexicalIndex) and kept.meant("whats a constant") == [{"constant": 1.0}]
