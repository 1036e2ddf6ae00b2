"""Embeddings by the real client, from a server on loopback."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import ModelError
from lmm_core.models.embedders.embedder import Embedder, batches
from lmm_core.models.embedders.openai_embedder import OpenAIEmbedder
from lmm_core.models.names import ModelName
from lmm_core.models.sources import ModelOptions, ModelSource
from tests.embedding_server import EmbeddingServer

NAME = ModelName("local", "embedding")


def embed(server, texts, **limits):
    embedder = OpenAIEmbedder(NAME, ModelSource("local", server.url), ModelOptions(max_retries=0, **limits))

    async def work():
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.close()

    return asyncio.run(work()), embedder


def test_each_text_gets_its_vector_in_order():
    with EmbeddingServer() as server:
        vectors, embedder = embed(server, [f"text {n}" * n for n in range(1, 9)])
    assert [vector[0] for vector in vectors] == [len(f"text {n}") * n for n in range(1, 9)]
    assert isinstance(embedder, Embedder)


def test_a_server_that_loses_texts_is_an_error():
    with EmbeddingServer(lose=1) as server, pytest.raises(ModelError, match="1 vectors for 2 texts"):
        embed(server, ["a", "b"])


@given(st.lists(st.text(max_size=30), max_size=20), st.integers(1, 5), st.integers(1, 50))
def test_batches_hold_all_texts_in_order_within_their_limits(texts, most, characters):
    groups = list(batches(texts, most, characters))
    assert [text for group in groups for text in group] == texts
    assert all(len(group) <= most for group in groups)
    assert all(len(group) == 1 or sum(map(len, group)) <= characters for group in groups)
