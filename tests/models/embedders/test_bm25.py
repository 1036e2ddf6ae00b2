"""BM25 vectors: weighted as those of fastembed, without fastembed, of words of any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.embedder import Sparse


@given(st.lists(st.text(max_size=60), max_size=5), st.sampled_from(["", "de", "fr", "it", "es", "xx"]))
def test_any_text_has_a_vector_of_its_own(texts, language):
    encoder = Bm25Encoder(language)
    together = encoder.encode(texts)
    assert together == [Bm25Encoder(language).encode([text])[0] for text in texts]
    for text, found in zip(texts, together, strict=True):
        assert len(set(found.indices)) == len(found.indices) == len(found.values)
        assert all(0 < value <= 2.2 for value in found.values)
        assert set(encoder.encode_query(text).indices) == set(found.indices)


@pytest.mark.parametrize(
    ("lang", "one", "other"),
    [
        ("de", "die Mittelwerte", "Mittelwert"),
        ("el", "μεταβλητές", "μεταβλητή"),
    ],
)
def test_words_of_one_stem_find_each_other(lang, one, other):
    assert Bm25Encoder(lang).encode_query(one) == Bm25Encoder(lang).encode_query(other)


def test_each_text_is_stemmed_in_its_language_and_a_query_in_all():
    encoder = Bm25Encoder()
    german, russian = encoder.encode(["Die Mittelwerte sind robust", "средние значения"], ["de", "ru"])
    query = encoder.encode_query("Mittelwert, среднее", ["de", "ru"])
    assert set(query.indices) & set(german.indices)
    assert set(query.indices) & set(russian.indices)
    assert encoder.encode(["die"], ["de"]) == [Sparse([], [])] != encoder.encode(["die"], ["en"])


def test_scripts_without_blanks_are_searched_by_pairs_of_signs():
    text = Bm25Encoder().encode(["標準誤差は標本の大きさに依存する。"], ["ja"])[0]
    assert set(Bm25Encoder().encode_query("標準誤差").indices) <= set(text.indices)
    assert not set(Bm25Encoder().encode_query("分散").indices) & set(text.indices)
