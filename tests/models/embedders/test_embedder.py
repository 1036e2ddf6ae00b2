"""The cache of embeddings, and embedding through it."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmm_core.errors import ModelError
from lmm_core.models.cache import Cache
from lmm_core.models.embedders.embedder import MOST_TEXTS, CachedEmbedder


class Lengths:
    """An embedder that embeds a text as its length and its first character."""

    window = 100

    def __init__(self, name="test/lengths", fail_at="", dimensions=2):
        self.name, self.fail_at, self.dimensions = name, fail_at, dimensions
        self.seen = []
        self.running = self.most = 0

    async def embed(self, texts):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        if self.fail_at and self.fail_at in texts:
            raise ModelError("no more")
        self.seen += texts
        return [[len(text) + 0.1, *[float(ord(text[:1] or "\0"))] * (self.dimensions - 1)] for text in texts]

    async def close(self):
        pass


@pytest.fixture
def cache(tmp_path):
    cache = Cache(tmp_path / "cache")
    yield cache
    cache.close()


def cached(model, cache, **more):
    warnings = []
    embedder = CachedEmbedder(model, cache, warnings.append, **more)
    return embedder, warnings


def embed(embedder, texts):
    return asyncio.run(embedder.embed(texts))


# Embedding


def test_a_text_is_embedded_once_by_each_model(cache):
    first = embed(cached(Lengths(), cache)[0], ["a", "\ud800", "a"])
    for name, asked in (("test/lengths", []), ("test/other", ["\ud800", "a"])):
        embedder, warnings = cached(Lengths(name), Cache(cache.path.parent))
        assert embed(embedder, ["\ud800", "a"]) == [first[1], first[0]]
        assert (embedder.embedder.seen, warnings) == (asked, [])


def test_a_model_that_has_become_another_one_under_its_name_embeds_anew(cache):
    embed(cached(Lengths(), cache)[0], ["a", "b"])
    model = Lengths(dimensions=3)
    assert [len(vector) for vector in embed(cached(model, cache)[0], ["a", "new"])] == [3, 3]
    assert sorted(set(model.seen)) == ["a", "new"]


def test_any_number_of_texts_in_their_order(cache):
    texts = [f"{number} " * (number % 7) for number in range(3 * MOST_TEXTS + 1)]
    model = Lengths()
    embedder = cached(model, cache, at_once=2)[0]
    alone = [embed(CachedEmbedder(Lengths(), None), [text])[0] for text in texts]
    assert embed(embedder, texts) == alone
    assert model.most == 2
    assert embed(embedder, list(reversed(texts))) == list(reversed(alone))
    assert len(model.seen) == len(set(texts))


def test_what_was_embedded_before_an_error_is_kept(cache):
    texts = [f"text {number}" for number in range(4 * MOST_TEXTS)]
    embedder = cached(Lengths(fail_at=texts[2 * MOST_TEXTS]), cache, at_once=1)[0]
    with pytest.raises(ModelError, match="no more"):
        embed(embedder, texts)
    assert embedder.embedder.seen == texts[: 2 * MOST_TEXTS]
    again = Lengths()
    embed(cached(again, cache)[0], texts)
    assert again.seen == texts[2 * MOST_TEXTS :]


# The file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.binary(max_size=20), st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=9)))
def test_any_vector_comes_back(cache, vectors):
    cache.keep_vectors(vectors)
    assert cache.find_vectors(list(vectors)) == vectors
    assert cache.find_vectors([b"there is no such key, it is too long"]) == {}
