"""BM25 vectors: weighted as those of fastembed, without fastembed, of words of any script."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.models.languages.stemming import LISTS, SPELLINGS
from tests.real_files import markdown_files

TEXTS = [
    "The mean is not robust; the median's robustness is well-known (see §3).",
    "Der Mittelwert ist nicht robust: größere Ausreißer verschieben ihn, daß es kracht.",
    "La moyenne n'est pas robuste; aujourd'hui l'écart-type non plus.",
    "x_1 = __init__ _ ‿ ١٢٣ ΑΣ' ὈΔΥΣΣΕΎΣ İstanbul ﬁne straße Ⅷ 日本語 a\u0301b",
    "w" * 40 + " " + "v" * 41,
    "the of and",
    "",
    "residual " * 300,
]


def plain(sparse):
    return dict(zip(sparse.indices, sparse.values, strict=True))


@pytest.fixture(scope="module")
def reference():
    """Return fastembed's own encoder, with our lists."""
    from fastembed.sparse.bm25 import Bm25

    def make(language, **more):
        return Bm25("Qdrant/bm25", cache_dir=str(LISTS), specific_model_path=str(LISTS), language=language, **more)

    return make


@pytest.mark.slow
def test_plain_words_are_weighted_as_by_fastembed(reference, real_place):
    """Of words of letters alone; what is a word is said in `find_words`, and differs from fastembed."""
    read = [path.read_text(encoding="utf-8")[:3000] for path in markdown_files(real_place)[:20]]
    spelled = [pattern for pattern, _ in SPELLINGS["en"]]  # otherwise than by fastembed
    texts = [
        " ".join(
            word for word in re.findall("[A-Za-z]+", text) if not any(re.search(one, word.lower()) for one in spelled)
        )
        for text in [*TEXTS, *read]
    ]
    encoder, other = Bm25Encoder("en"), reference("english")
    for text, found, vector in zip(texts, encoder.encode(texts), other.embed(texts), strict=True):
        assert (found.indices, found.values) == (vector.indices.tolist(), vector.values.tolist()), text
        query = next(iter(other.query_embed(text)))
        assert plain(encoder.encode_query(text)) == dict(
            zip(query.indices.tolist(), query.values.tolist(), strict=True)
        )


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
        ("de", unicodedata.normalize("NFD", "Käfer im Café"), "Käfer im Café"),
        ("en", "it's, don’t", ""),
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


def test_languages_go_by_their_code():
    for language, code in {"": "en", "en-GB": "en", "DE_ch.UTF-8": "de", "nb": "no"}.items():
        assert Bm25Encoder(language).language == code
