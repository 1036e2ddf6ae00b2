"""The retriever, with langchain-core itself."""

import asyncio

import pytest

from lmm_core.errors import StoreError
from lmm_core.indexing.api import markdown_upload
from lmm_core.settings.config import ConfigSettings
from tests.commands import write
from tests.indexing import document

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from lmm_core.langchain import AsyncQdrantVectorStoreRetriever, QdrantVectorStoreRetriever


@pytest.fixture
def config(request):
    """An index of a collection for each test: the store lasts as long as this process."""
    write("notes.md", document("median", "variance", "residual"))
    made = ConfigSettings(storage={"memory": True}, database={"collection_name": request.node.name})
    assert markdown_upload(["notes.md"], made).written == 3
    return made


def test_the_retriever_finds_documents(config):
    retriever = QdrantVectorStoreRetriever.from_config_settings(config, limit=2)
    results = retriever.invoke("Where is the variance explained?")
    assert isinstance(results[0], Document)
    assert "the variance is explained" in results[0].page_content
    assert len(results) == 2
    metadata = results[0].metadata
    assert (metadata["source"], metadata["titles"], metadata["line_start"]) == ("notes.md", ["T", "About variance"], 11)
    assert metadata["score"] > 0
    assert "page_content" not in metadata


def test_the_asynchronous_retriever_finds_the_same(config):
    retriever = AsyncQdrantVectorStoreRetriever.from_config_settings(config)
    found = asyncio.run(retriever.ainvoke("residual"))
    assert [one.id for one in found] == [one.id for one in retriever.invoke("residual")]
    assert "the residual is" in found[0].page_content


def test_the_retriever_is_made_and_asked_where_a_loop_runs(config):
    async def work():
        return QdrantVectorStoreRetriever.from_config_settings(config).invoke("residual")

    assert "the residual is" in asyncio.run(work())[0].page_content


def test_the_retriever_stands_in_a_chain(config):
    chain = QdrantVectorStoreRetriever.from_config_settings(config) | RunnableLambda(
        lambda found: found[0].page_content
    )
    assert "the median is" in chain.invoke("median")
    assert len(chain.batch(["median", "variance"])) == 2


def test_an_index_that_is_not_there_is_an_error():
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "nothing"})
    retriever = QdrantVectorStoreRetriever.from_config_settings(config)
    with pytest.raises(StoreError, match="lmm index FILES"):
        retriever.invoke("median")
