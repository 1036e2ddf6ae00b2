"""BM25 vectors: weighted as those of fastembed, without fastembed, of words of any script."""

import pickle
import re
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import ModelError
from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.models.languages import stemming
from lmm_core.models.languages.stemming import LANGUAGES, LISTS, SPELLINGS, WITH_STOP_WORDS, language_code, stop_words
from tests.real_files import markdown_files

ROOT = Path(__file__).parents[3]
TEXTS = [
    "The mean is not robust; the median's robustness is well-known (see §3).",
    "Der Mittelwert ist nicht robust: größere Ausreißer verschieben ihn, daß es kracht.",
    "La moyenne n'est pas robuste; aujourd'hui l'écart-type non plus.",
    "Dov'è l'errore standard? Perché la varianza è grande, dell'altro no.",
    "¿Por qué la media no es robusta? Porque un valor extremo la desplaza.",
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


@pytest.mark.parametrize("text", ["Käfer im Café", "Việt Nam", "한국어"])
def test_an_accent_may_be_a_sign_of_its_own(text):
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    assert Bm25Encoder("de").encode([apart]) == Bm25Encoder("de").encode([text])
    assert Bm25Encoder("de").encode_query(apart) == Bm25Encoder("de").encode_query(text)


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
    ("lang", "code"),
    [
        ("", "en"),
        ("en-GB", "en"),
        ("DE_ch.UTF-8", "de"),
        ("french", "fr"),
        ("nb", "no"),
        ("zh-Hant", "zh"),
    ],
)
def test_languages_go_by_their_code(lang, code):
    assert Bm25Encoder(lang).language == code
    assert language_code(code) == code
    assert Bm25Encoder(lang).name == "bm25"


def test_words_of_one_stem_find_each_other():
    encoder = Bm25Encoder("de")
    assert encoder.encode_query("die Mittelwerte") == encoder.encode_query("Mittelwert")
    assert encoder.encode_query("der die das") == Sparse([], [])


@pytest.mark.parametrize(
    ("lang", "one", "other"),
    [
        ("ru", "дисперсии выборкой", "дисперсия выборки"),
        ("tr", "dağılımların", "dağılım"),
        ("el", "μεταβλητές", "μεταβλητή"),
    ],
)
def test_many_languages_have_stems(lang, one, other):
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


@pytest.mark.parametrize("text", ["two-sample *t* test", "$t$", "the 't' statistic", "Student's t"])
def test_a_single_letter_is_a_word_like_others(text):
    assert set(Bm25Encoder().encode_query("t").indices) < set(Bm25Encoder().encode([text + " x"])[0].indices)


@pytest.mark.parametrize(
    ("lang", "text"), [("en", "it's"), ("en", "don’t"), ("en", "can't"), ("fr", "l’un"), ("fr", "d'un")]
)
def test_letters_of_contractions_are_none(lang, text):
    assert Bm25Encoder(lang).encode_query(text) == Sparse([], [])


def test_a_list_that_is_missing_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(stemming, "LISTS", tmp_path)
    stop_words.cache_clear()
    with pytest.raises(ModelError, match=r"german\.txt"):
        Bm25Encoder("de")
    stop_words.cache_clear()


@pytest.mark.parametrize("language", [LANGUAGES[code] for code in WITH_STOP_WORDS])
def test_lists_hold_words_as_texts_are_read(language):
    """A line holds one word, in lower case and without the signs at which texts are split."""
    data = (LISTS / f"{language}.txt").read_bytes()
    lines = data.decode("utf-8").split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(set(lines)) > 90
    assert all(line.isalpha() and line == line.lower() for line in lines)


def test_the_english_list_is_the_usual_one_without_the_letters_of_contractions():
    usual = ROOT.parent / "shared" / "models" / "bm25" / "english.txt"
    if not usual.is_file():
        pytest.skip("no models beside the repository")
    assert set(usual.read_text(encoding="utf-8").split()) - stop_words("en") == {"s", "t"}


def test_another_process_makes_one_encoder_of_a_language():
    first, second = (pickle.loads(pickle.dumps(Bm25Encoder("german"))) for _ in range(2))
    assert first is second
    assert first.language == "de"
    assert first.encode(["Die Häuser"]) == Bm25Encoder("de").encode(["Die Häuser"])


def test_neither_fastembed_nor_numpy_is_imported():
    code = (
        "import sys; from lmm_core.models.embedders.bm25 import Bm25Encoder; Bm25Encoder('de').encode(['ein Text'])\n"
        "print([name for name in ('fastembed', 'numpy', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_encoding_is_no_part_of_the_wait(real_place):
    """2,500 chunks a second are asked for; a busy machine gets half of it."""
    text = "".join(path.read_text(encoding="utf-8") for path in markdown_files(real_place))
    chunks = [text[start : start + 1000] for start in range(0, min(len(text), 2_000_000), 1000)]
    began = time.process_time()
    Bm25Encoder("en").encode(chunks)
    assert len(chunks) / (time.process_time() - began) > 1250
