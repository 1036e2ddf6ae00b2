"""The words of students' questions that a course never uses."""

from lmm_core.indexing.passages import build_material
from lmm_core.store.vector_store import ScoredPoint
from lmm_core.study.asked.proposals import CourseWords

TEXTS = {
    "Spread": ("en", "The standard deviation (SD) says how far values lie from their mean."),
    "Streuung": ("de", "Die Varianz ist der mittlere quadratische Abstand der Werte."),
    "统计": ("zh", "方差是各个数据与平均数之差的平方的平均数。"),
}


def unknown(question, **synonyms):
    points = [
        ScoredPoint(str(at), {"page_content": text, "docid": title, "source": f"{title}.md", "sequence": at,
                              "titles": [title], "language": language}, 0.0)
        for at, (title, (language, text)) in enumerate(TEXTS.items())
    ]  # fmt: skip
    return [*CourseWords(build_material(points), "en", synonyms).unknown(question).values()]


def test_words_that_ask_and_forms_of_words_of_the_notes_are_known():
    assert unknown("How do zebras sleep?") == ["zebras", "sleep"]
    assert unknown("How do I explain the value of a deviation?") == unknown("Was sind Varianzen?") == []


def test_signs_of_scripts_without_blanks_are_cut_and_asking_ones_left_out():
    assert unknown("什么是方差？") == []
    assert unknown("什么是众数？") == ["众数"]


def test_a_name_that_means_the_same_is_known():
    assert unknown("What is the typical gap of the SD?") == ["typical", "gap"]
    assert unknown("What is the typical gap?", **{"standard deviation": ["typical gap"]}) == []
