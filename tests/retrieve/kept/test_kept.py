"""A search by what is kept beside a collection finds the same as one by all of its chunks, and never an earlier state."""

from contextlib import contextmanager

import pytest

from lmm_core.models.chat import run
from lmm_core.retrieve.kept import collection
from lmm_core.retrieve.kept.counts import KeptStems
from lmm_core.retrieve.kept.making import Settings
from lmm_core.retrieve.kept.material import KeptMaterial
from lmm_core.retrieve.search import search_points
from lmm_core.settings.project import load_project
from lmm_core.store.edge_store import EdgeStore
from lmm_core.workflows.ask import make_conversation, open_library
from lmm_core.workflows.models import Models
from tests.indexing import lmm
from tests.retrieve.questions import SETS, questions

FURTHER = [
    "standrad eror", "Varianzz", "vari medi", "quokka", "2.8", "SD of the SE", "*exercise*", "*summary* of variance",
    "what is the meaning of ANOVA", "Was ist der Unterschied zwischen Median und Mittelwert?", "QKA", "whats a constant",
]  # fmt: skip
WHOLE, PART = "all chunks", "some chunks"


@pytest.fixture
def reads(monkeypatch):
    """What was read of the chunks since it was asked for last."""
    found = []
    scroll = EdgeStore.scroll

    def noted(self, name, where=None, keys=None):
        if name == "chunks":
            found.append(PART if where else WHOLE)
        return scroll(self, name, where, keys)

    monkeypatch.setattr(EdgeStore, "scroll", noted)

    def told():
        done, found[:] = list(found), []
        return done

    return told


@pytest.fixture
def book(indexed_book, monkeypatch, reads):
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


class NotKeeping:
    """A store that keeps nothing."""

    def __init__(self, store):
        self.store = store

    def __getattr__(self, name):
        if name in ("recall", "keep"):
            raise AttributeError(name)
        return getattr(self.store, name)


def contents(library):
    """All that there is in a library, and all that is counted of it."""
    material, lexical = run(library.material()), run(library.lexical())
    sections = [
        (one.key, one.source, one.titles, one.anchor, one.depth, one.place, one.summary, one.questions, one.language,
         [passage.id for passage in one.passages], [child.key for child in one.children],
         one.parent.key if one.parent else None)
        for one in material.walk()
    ]  # fmt: skip
    stems = lexical.vocabulary.stems
    words = {one: list(stems.alike(one[:1], len(one))) for one in map(str.lower, lexical.counts.stems.counts)}
    return {
        "sections": sections,
        "keys": list(material.sections),
        "passages": list(material.passages.items()),
        "sizes": (material.size, len(material.passages), len(material.documents), len(material.sections)),
        "kinds": list(material.kinds.items()),
        "languages": list(material.languages.items()),
        "language": (material.language, library.language, lexical.language),
        "system": material.system,
        "sources": material.sources,
        "ranks": dict(material.ranks),
        "titles": dict(material.titles),
        "stems": dict(lexical.vocabulary.counts),
        "forms": {stem: stems.form(stem) for stem in lexical.vocabulary.counts},
        "words": words,
        "stems in": {docid: dict(counts) for docid, counts in lexical.counts.stems_in.items()},
        "texts in": dict(lexical.counts.texts_in),
        "fields": (lexical.counts.lengths, lexical.counts.fields),
        "synonyms": (lexical.synonyms.pairs(), lexical.synonyms.found()["exact"]),
        "languages met": list(lexical.stemmers.languages),
    }


def kept(**changes):
    """What there is in the working folder's index, by what is kept of it."""
    with opened(**changes) as library:
        assert isinstance(run(library.material()), KeptMaterial)
        assert isinstance(run(library.lexical()).counts.stems, KeptStems)
        return contents(library)


def made_anew(**changes):
    """The same, by all chunks as they are."""
    with opened(**changes) as library:
        store, library.store = library.store, NotKeeping(library.store)
        try:
            assert not isinstance(run(library.material()), KeptMaterial)
            return contents(library)
        finally:
            library.store = store


def results(asked, keeping=True):
    """All that is found for some questions, with the scores."""

    async def found(library):
        made = []
        for question in asked:
            points = await search_points(library, question, 6, None, print)
            talk = make_conversation(load_project(None), Models(), library, with_model=False)
            retrieval, context = await talk.look(question)
            answer = await talk.answer(question, retrieval, context)
            sections = [(one.section.key, one.score) for one in [*retrieval.sections, *answer.nearest]]
            meant = [list(one.items()) for one in retrieval.lexical.meant(question)]
            made.append(
                (points, retrieval.queries, retrieval.spans, sections, context, answer.text, answer.cited, meant)
            )
        return made

    with opened() as library:
        store = library.store
        library.store = store if keeping else NotKeeping(store)
        try:
            return run(found(library))
        finally:
            library.store = store


def test_what_is_kept_is_the_same_as_what_is_made_of_all_chunks(book, reads):
    expected = made_anew()
    reads()
    assert (kept(), reads()) == (expected, [WHOLE])
    assert (kept(), reads()) == (expected, [])


def test_each_question_finds_the_same_with_the_same_scores(book):
    asked = [question for name in SETS for question, _ in questions(name)] + FURTHER
    expected = results(asked, keeping=False)
    assert results(asked) == expected
    assert results(asked) == expected


def test_each_word_is_known_alike(book):
    with opened() as library:
        other = run(library.lexical()).vocabulary
        library.store, store = NotKeeping(library.store), library.store
        library._material = library._lexical = None
        one = run(library.lexical()).vocabulary
        library.store = store
    for stem in [*one.counts, "", "zzz", "stat", "中", "\U0010ffff"]:
        assert list(other.stems.starting(stem)) == list(one.stems.starting(stem))
        assert (other.stems.form(stem), other.counts[stem]) == (one.stems.form(stem), one.counts[stem])
        assert (stem in other.counts) == (stem in one.counts)
    assert {"zzz"}.isdisjoint(other.counts.keys()) and set(list(one.counts)[:9]) <= other.counts.keys()


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def add_chapter(book):
    (book / "zoo.md").write_text("---\ntitle: Zoo\n---\n\nA quokka.\n", encoding="utf-8")
    change(book / "_quarto.yml", "- 02-describing.md", "- 02-describing.md\n    - zoo.md")


def rename(book):
    (book / "04-estimation.md").rename(book / "zz.md")
    change(book / "_quarto.yml", "04-estimation.md", "zz.md")


CHANGES = {
    "a word": (lambda book: change(book / "02-describing.md", "variance", "quokkance"), PART),
    "a title": (lambda book: change(book / "03-chance.md", "\n## ", "\n## Quokkas and "), PART),
    "a new document": (add_chapter, PART),
    "one less": (lambda book: (book / "04-estimation.md").unlink(), PART),
    "another name": (rename, WHOLE),  # two of eight documents are more than a fifth
    "an abbreviation": (lambda book: change(book / "05-linear-models.md", "variance", "quokka area (QKA)"), "new name"),
    "another word of it": (lambda book: change(book / "01-data.md", "variable", "sd"), PART),
    "most of them": (lambda book: [change(one, "e ", "ze ") for one in book.glob("0[1-5]*.md")], WHOLE),
    "made anew": (lambda book: lmm("index . -q --rebuild"), WHOLE),
}


@pytest.mark.parametrize(("do", "read"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_notes_is_seen_at_once(book, reads, do, read):
    kept()
    do(book)
    lmm("index . -q --prune")
    expected = made_anew()
    reads()
    found = kept()
    assert found == expected
    assert reads() == {"new name": [PART, WHOLE]}.get(read, [read])
    assert (kept(), reads()) == (expected, [])
    assert results(FURTHER) == results(FURTHER, keeping=False)


def test_many_changes_one_after_the_other_add_up(book):
    kept()
    for old, new in (("variance", "quokkance"), ("mean", "numbat"), ("quokkance", "variance"), ("numbat", "mean")):
        change(book / "02-describing.md", old, new)
        lmm("index . -q")
        assert kept() == made_anew()


def test_the_language_of_most_texts_changes(book, reads):
    """Others may be in it, which do not say theirs: all is counted anew."""
    kept()
    for path in book.glob("*.*md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("---\n", "---\nlang: de\n", 1) if "lang:" not in text else text, encoding="utf-8")
    lmm("index . -q")
    assert kept() == made_anew()


def test_files_that_are_saved_again_as_they_were_change_nothing(book, reads):
    kept()
    for path in book.glob("*.md"):
        path.write_bytes(path.read_bytes())
    lmm("index . -q")
    reads()
    kept()
    assert reads() == []


def test_a_run_that_was_killed_twice_at_the_same_place_is_seen(book):
    """The records of files say the same after both."""
    kept()
    for text in ("Quokkas.", "Numbats."):
        with opened() as library:
            point = next(library.store.scroll("chunks"))
            library.store.set_payload("chunks", {point.id: {**point.payload, "page_content": text}})
        found = kept()
        assert text in {passage.text for _, passage in found["passages"]}
        assert found == made_anew()


def test_chunks_that_were_written_by_something_else_are_seen(book, monkeypatch):
    """As by another version of the program, which notes no changes: the records of files tell."""
    kept()
    monkeypatch.setattr("lmm_core.store.edge_store.note_changes", lambda *_: None)
    change(book / "02-describing.md", "variance", "quokkance")
    lmm("index . -q")
    assert kept() == made_anew()


def test_a_search_reads_no_chunk_but_those_that_it_shows(book, reads, monkeypatch):
    results(["variance"])
    reads()
    read = []
    document = KeptMaterial.document
    monkeypatch.setattr(KeptMaterial, "document", lambda self, at: read.append(at) or document(self, at))
    results(["quokka"])
    assert (reads(), read) == ([], [])
    with opened() as library:
        material = run(library.material())
        assert material.size and material.sources and material.ranks and len(material.passages)
        run(library.lexical())
    assert (reads(), read) == ([], [])


@pytest.mark.parametrize(
    ("changed", "read"),
    [
        ({"order": ["05-linear-models.md", "03-chance.md"]}, []),
        ({"order": []}, [WHOLE]),  # as `lmm search` has it, which keeps its own
        ({"synonyms": {"mean": ("average",)}}, []),
        ({"synonyms": {"QKA": ("quokka area",)}}, [WHOLE]),  # a name that may be another word, too
    ],
    ids=["order", "no order", "synonyms", "new name"],
)
def test_other_settings_are_taken_into_account(book, reads, changed, read):
    before = kept()
    expected = made_anew(**changed)
    reads()
    assert (kept(**changed), reads()) == (expected, read)
    assert (kept(**changed), reads()) == (expected, [])
    assert kept() == before


def test_another_version_of_the_program_makes_its_own(monkeypatch):
    one = collection.key_of(Settings((), {}, "en"))
    assert one == collection.key_of(Settings([], {}, "en")) != collection.key_of(Settings([], {}, "de"))
    monkeypatch.setattr(collection, "program_mark", lambda: b"another")
    assert collection.key_of(Settings((), {}, "en")) != one


def test_a_write_that_fails_does_not_fail_the_search(book, reads, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lmm_core.store.folder.kept_files.replace_file", fail)
    kept()
    reads()
    assert (results(["variance"])[0][0] != [], reads()) == (True, [WHOLE])


def test_without_what_keeps_tables_all_is_read(book, reads, monkeypatch):
    """As with an SQLite of before 3.36."""
    expected = results(["variance"])
    reads()
    monkeypatch.setattr("lmm_core.retrieve.library.CAN_KEEP", False)
    assert (results(["variance"]), reads()) == (expected, [WHOLE])


def test_small_collections_are_read_as_they_are(indexed_book, reads):
    results(["variance"])
    results(["variance"])
    assert reads() == [WHOLE, WHOLE]
    assert not list(indexed_book.glob(".lmm/index/*/kept-*"))


def test_what_was_read_stays_as_it_was(book):
    """A material that is in use goes on to give what it was made of, also of documents that it has not read yet."""
    kept()
    expected = made_anew()
    with opened() as library:
        run(library.material()), run(library.lexical())
        vars(library)["use"] = None
    change(book / "02-describing.md", "variance", "quokkance")
    lmm("index . -q --rebuild")
    material = library._material
    assert list(material.passages.items()) == expected["passages"]
    assert dict(library._lexical.vocabulary.counts) == expected["stems"]
