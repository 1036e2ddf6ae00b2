"""An index on a server answers as one in a folder does."""

import pytest

from lmm_core.models.chat import run
from lmm_core.retrieve.answer import make_conversation
from lmm_core.retrieve.library import open_library
from lmm_core.retrieve.search import search_points
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.indexing import MINILM, lmm
from tests.retrieve.questions import SETS, questions

pytestmark = pytest.mark.qdrant


async def answers(book):
    """What is found for the gold questions, and answered without a model."""
    project = load_project(book / "-")
    library = await open_library(project, Models())
    results = {}
    for question, _ in (one for name in SETS for one in questions(name)):
        points = await search_points(library, question, 10, print)
        answer = await make_conversation(project, Models(), library, with_model=False).ask(question)
        results[question] = ([(point.id, point.payload) for point in points], answer.text, answer.cited)
    await library.close()
    return results


@pytest.mark.parametrize("model", ["none", pytest.param(f"fastembed/{MINILM}", marks=pytest.mark.slow)])
def test_a_server_finds_and_answers_as_a_folder_does(model, sample_book, qdrant, monkeypatch):
    if model != "none" and not MINILM.is_dir():
        pytest.skip("no model beside the repository")
    monkeypatch.chdir(sample_book)
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", model)
    lmm("index . -q")
    in_folder = run(answers(sample_book))
    monkeypatch.setenv("LMM_STORAGE__URL", qdrant)
    lmm("index . -q")
    on_server = run(answers(sample_book))
    assert [question for question in in_folder if in_folder[question] != on_server[question]] == []
