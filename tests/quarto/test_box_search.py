"""The search of the ask box, in node: it ranks as `lmm search` does."""

import json
import random
import shutil
import subprocess

import pytest

from lmm_core.models.chat import run
from lmm_core.models.languages.words import find_words, fold
from lmm_core.retrieve.ranking.lexical import weights_data
from lmm_core.retrieve.ranking.words import asked_words, words_data
from tests.commands import copy_folder, text, write
from tests.indexing import lmm
from tests.retrieve.questions import BOX, ROOT, box, figures, questions, search, write_box_data

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")


@pytest.fixture
def book(_indexed_book, tmp_path):
    return copy_folder(_indexed_book, tmp_path / "book")


def node(task, text, folder):
    """What the box makes of a text, in node: one value for each line that it prints."""
    command = ["node", ROOT / "tests" / "box_search.js", BOX, folder, task]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_weights_come_with_the_data(book, tmp_path):
    write_box_data(book, tmp_path)
    about = json.loads(text(tmp_path / "data.js").removeprefix("lmmAsk.take(").removesuffix(")\n"))
    assert about["weights"] == weights_data()
    asking = {word for words in words_data().values() for word in words}
    assert all([fold(one) for one in find_words(word)] == [word] for word in asking)  # the box cuts them at blanks


@pytest.mark.slow
def test_it_finds_what_students_ask(book, tmp_path):
    """Part of the answers are definitions that are not on the pages, and so not in its data."""
    asked = questions("gold")
    shown = box(book, asked, tmp_path)
    print(figures(shown), *(result for result in shown if result.wanted and not result.first), sep="\n")
    assert figures(shown).first >= 82
    first = {result.question: result.cited[:1] for result in shown}
    same = [result.cited[:1] == first[result.question] for result in run(search(book, asked)) if result.wanted]
    assert sum(same) / len(same) >= 0.7


@pytest.mark.parametrize(
    "question", ["What does robust mean?", "why isn't it the mean", "formulas for means", "什么是标准误？"]
)
def test_a_question_has_the_same_words(question, book, tmp_path):
    write_box_data(book, tmp_path)
    assert node("words", question, tmp_path) == [[fold(word) for word in asked_words(question, "en")]]


BRIDGES = """# Bridges

A bridge carries a road over a river. Many are built of stone, and they stand for centuries if nobody
neglects them. Others are built of steel. The load of a bridge is what goes over it and its own weight.
In spring the water is high, and the boats wait. A bridge of wood rots within thirty years when its
beams stay wet. So the beams have roofs. Visitors like them, and painters come from far away.
"""


def test_what_is_shown_begins_at_the_part_that_fits_best(tmp_path):
    book = tmp_path / "book"
    write(book / "notes.md", BRIDGES)
    lmm(f"index {book} -q")
    write_box_data(book, tmp_path)
    (rots,), (road,) = node("snippets", "how long until a bridge of wood rots\nwhat is a road over a river", tmp_path)
    assert "rots within thirty years" in rots and rots.startswith("…") and "carries a road" not in rots
    assert road.startswith("A bridge carries a road")


def test_words_of_the_passage_before_count_half(tmp_path):
    """As in `lmm search`, so that a passage is found that goes on with a pronoun."""
    book, filler = tmp_path / "book", "In the reefs of the north the water is warm, and divers see them by day. "
    write(
        book / "notes.md", f"# Rays\n\nThe maskray has spots. {15 * filler}\n\nIt eats crabs. {15 * filler}{filler}\n"
    )
    lmm(f"index {book} -q")
    write_box_data(book, tmp_path)
    ((spots, *_), (crabs, *_)) = node("hits", "maskray spots\nmaskray crabs", tmp_path)
    assert (spots["passage"], crabs["passage"]) == (0, 1)


def test_a_word_is_as_rare_in_titles_as_in_all_texts(tmp_path):
    """As in `lmm search`, so that a title with a common word is not better than a text with the rare one."""
    book = tmp_path / "book"
    birds = "".join(f"# Bird {number}\n\nA bridge for birds of kind {number}.\n\n" for number in range(20))
    oaks = "".join(f"# Beam {number}\n\nA beam of oak rots.\n\n" for number in range(5))
    write(book / "notes.md", f"{birds}{oaks}# Bridge\n\nIt is long.\n")
    lmm(f"index {book} -q")
    write_box_data(book, tmp_path)
    ((first, *_),) = node("hits", "oak bridge", tmp_path)
    assert first["anchor"] != "bridge"


TEXTS = [
    "Don't, can't, it’s: two-sample *t* test, $t$ and R^2 (§3), x_1, ‘t’ l'erreur d’un",
    "标准误随样本量n的增大而减小；BM25模型、R语言。熵",
    "標準誤差は、データのばらつきを表す。々〇ー・ﾃﾞｰﾀ",
    "표준 오차는 표본의 크기에 달려 있다. 왜도",
    "ค่าเฉลี่ยเลขคณิต 12 ค่า ๆ ນ້ຳ ပျမ်းမျှ មធ្យម",
    "Дисперсия — это ёлка; й. Ελλάς ΣΊΣΥΦΟΣ İstanbul ıI ﬁne ½ ² Ⅷ ①",
    "माध्य मानों के योग सराசரி מְמוּצָע المُتَوَسِّط Zoe\u0308 \U00020000\U00020001 a\u0301b __init__",
]


def test_it_finds_the_words_that_the_index_has(book, tmp_path):
    signs = "aZ tn'’_-*?`>$.9²éÉßıİΣςйЁ標値はデー々。统计표오ค่าน້ມာםָاَमिா\u0301\u3099"
    random_texts = ["".join(random.Random(seed).choices(signs, k=30)) for seed in range(300)]
    texts = [*TEXTS, *random_texts]
    write_box_data(book, tmp_path)
    assert node("split", json.dumps(texts), tmp_path) == [[fold(word) for word in find_words(text)] for text in texts]
