"""The retrievers, with langchain-core itself."""

import asyncio
import subprocess
import sys

import pytest
from pydantic import ValidationError

from lmm_core.errors import StoreError
from lmm_core.indexing.api import blocklist_upload, markdown_upload
from lmm_core.markdown import parse_markdown_text
from lmm_core.settings.config import ConfigSettings
from tests.commands import write
from tests.indexing import document

pytestmark = pytest.mark.xdist_group("qdrant_client")
SUMMED_UP = "---\n~summary: How models predict.\n---\n\n# Models\n\n## Logit\n\nThe logit is a logarithm of the odds.\n"


@pytest.fixture
def langchain():
    return pytest.importorskip("lmm_core.langchain")


@pytest.fixture
def config(request):
    """An index of a collection for each test: the store lasts as long as this process."""
    write("notes.md", document("median", "variance", "residual"))
    settings = ConfigSettings(storage={"memory": True}, database={"collection_name": request.node.name})
    assert markdown_upload(["notes.md"], settings).written == 3
    return settings


def test_the_retriever_finds_documents_with_their_places(langchain, config):
    retriever = langchain.QdrantVectorStoreRetriever.from_config_settings(config, limit=2)
    results = retriever.invoke("Where is the variance explained?")
    assert len(results) == 2 and type(results[0]).__name__ == "Document"
    assert "the variance is explained" in results[0].page_content
    metadata = results[0].metadata
    assert (metadata["source"], metadata["titles"], metadata["line_start"]) == ("notes.md", ["T", "About variance"], 11)
    assert metadata["score"] > 0 and "page_content" not in metadata


def test_the_asynchronous_retriever_finds_the_same(langchain, config):
    retriever = langchain.AsyncQdrantVectorStoreRetriever.from_config_settings(config)
    found = asyncio.run(retriever.ainvoke("residual"))
    assert [one.id for one in found] == [one.id for one in retriever.invoke("residual")]
    assert "the residual is" in found[0].page_content


def test_a_retriever_is_made_of_a_client_of_qdrant(langchain):
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    with pytest.raises(ValidationError, match="embedding_model"):
        langchain.QdrantVectorStoreRetriever(client, "documents", "densest")
    retriever = langchain.QdrantVectorStoreRetriever(client, collection_name="none", embedding_model="bm25")
    with pytest.raises(StoreError, match="lmm index FILES"):
        retriever.invoke("median")


def test_a_grouped_retriever_returns_sections_under_the_summary_around_them(langchain):
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "grouped"})
    blocklist_upload(parse_markdown_text(SUMMED_UP), config)
    grouped = langchain.QdrantVectorStoreRetrieverGrouped.from_config_settings(config, max_companion_docs=1)
    (found,) = grouped.invoke("logit")
    assert found.page_content.startswith("How models predict.\n\nThe logit is")
    assert found.metadata["context_summary"] == "How models predict."


def test_without_its_extra_langchain_says_what_to_install():
    code = "import sys; sys.modules['langchain_core'] = None; import lmm_core.langchain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'lmm-markdown[langchain]'" in done.stderr
