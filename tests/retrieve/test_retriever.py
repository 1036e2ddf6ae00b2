"""From a question to passages."""

from lmm_core.errors import ModelError
from lmm_core.models.chat import run
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import Retriever
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.commands import write
from tests.indexing import document, lmm

WORDS = ["oak", "birch", "elm"]


class Counting:
    """An expander that counts how often it is asked, and then gives these queries or fails."""

    def __init__(self, given):
        self.given, self.times = given, 0

    async def expand(self, question, earlier=()):
        self.times += 1
        if isinstance(self.given, Exception):
            raise self.given
        return [question, *self.given]


def retrieved(folder, question, given=(), earlier=(), **options):
    """What is found for a question in a text about trees, and how often the expander was asked."""
    write(folder / "trees.md", document(*WORDS, "moss"))
    lmm(f"index {folder} -q")
    expander = Counting(given)

    async def retrieve():
        library = await open_library(load_project(folder / "-"), Models())
        try:
            return await Retriever(library, expander, **options).retrieve(question, earlier=earlier)
        finally:
            library.store.close()

    return run(retrieve()), expander.times


def first(found):
    return found.sections[0].section.titles[-1]


def test_where_the_question_s_own_words_suffice_no_model_is_asked(tmp_path):
    found, asked = retrieved(tmp_path, "What is explained about the birch?", ["elm"])
    assert (asked, first(found)) == (0, "About birch")
    assert found.queries == ("What is explained about the birch?",)


def test_where_they_do_not_suffice_the_model_s_queries_add(tmp_path):
    found, asked = retrieved(tmp_path, "What has white bark?", ["birch"])
    assert (asked, first(found)) == (1, "About birch")


def test_a_model_that_fails_leaves_the_question_alone(tmp_path):
    found, _ = retrieved(tmp_path, "What is the beech?", ModelError("nonsense"))
    assert found.missed == ("searching by the question alone",)


def test_a_question_about_nothing_but_a_type_finds_what_there_is_of_it(tmp_path):
    write(tmp_path / "cups.md", "# Cups\n\n---\ntype: exercise\n---\n\n## Ten\n\nHow many are there?\n")
    lmm(f"index {tmp_path} -q")
    assert "How many are there?" in lmm("ask 'Give me an *exercise*!'")[0]
    assert "Nothing in your notes" in lmm("ask 'an *exercise* on saucers'")[0]
