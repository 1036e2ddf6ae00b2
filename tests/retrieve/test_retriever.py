"""From a question to passages."""

import threading

import pytest

from lmm_core.models.chat import run
from lmm_core.retrieve.retriever import Retriever
from lmm_core.settings.project import load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.workflows.ask import open_library
from lmm_core.workflows.models import Models
from tests.commands import write
from tests.effort import PATIENCE
from tests.indexing import document, lmm

WORDS = ["oak", "birch", "elm"]


class Meeting:
    """A store whose searches wait until all have come; a search that comes alone fails."""

    def __init__(self, store, searches):
        self._store, self._all = store, threading.Barrier(searches, timeout=PATIENCE)

    def search(self, *values):
        self._all.wait()
        return self._store.search(*values)

    def __getattr__(self, name):
        return getattr(self._store, name)


class EachWord:
    """An expander that makes a query of each word of the question."""

    async def expand(self, question, language="", earlier=()):
        return question.split()


def test_the_queries_of_a_question_are_searched_for_at_the_same_time(tmp_path):
    write(tmp_path / "trees.md", document(*WORDS, "moss"))
    lmm(f"index {tmp_path} -q")
    project = load_project(tmp_path / "-")
    store = open_store(LocalStorage(tmp_path / ".lmm" / "index"))

    async def retrieve():
        library = await open_library(project, Models(), Meeting(store, len(WORDS)))
        return await Retriever(library, EachWord()).retrieve(" ".join(WORDS))

    found = run(retrieve())
    store.close()
    assert list(found.queries) == WORDS
    assert {one.titles[-1] for one in found.passages} == {f"About {word}" for word in WORDS}


@pytest.mark.parametrize("question", ["*exercise*", "an *exercise*", "Give me an *exercise*!"])
def test_a_question_about_nothing_but_a_type_finds_what_there_is_of_it(tmp_path, question):
    write(tmp_path / "cups.md", "# Cups\n\n---\ntype: exercise\n---\n\n## Ten\n\nHow many are there?\n")
    lmm(f"index {tmp_path} -q")
    assert "How many are there? [1]" in lmm(f"ask '{question}'")[0]
    assert "do not answer" in lmm("ask 'an *exercise* on saucers'")[0]
