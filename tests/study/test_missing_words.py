"""The words of missed questions that a course never uses."""

from lmm_core.indexing.passages import build_material
from lmm_core.store.vector_store import ScoredPoint
from lmm_core.study.measures import Labelled
from lmm_core.study.words import CourseWords, missing_words

TEXTS = {
    "Spread": ("en", "The standard deviation (SD) says how far values lie from their mean."),
    "Streuung": ("de", "Die Varianz ist der mittlere quadratische Abstand der Werte."),
    "统计": ("zh", "方差是各个数据与平均数之差的平方的平均数。"),
}


def course(**synonyms):
    points = [
        ScoredPoint(str(at), {"page_content": text, "docid": title, "source": f"{title}.md", "sequence": at,
                              "titles": [title], "language": language}, 0.0)
        for at, (title, (language, text)) in enumerate(TEXTS.items())
    ]  # fmt: skip
    material = build_material(points)
    return CourseWords(material, "en", synonyms), {document.title: document for document in material.documents}


def missing(*asked, **synonyms):
    """Return the missing words of questions, each with the section that should answer it."""
    words, documents = course(**synonyms)
    labelled = [Labelled(question, documents[title]) for question, title in asked]
    return [(one.word, len(one.asked), one.section.title) for one in missing_words(labelled, words)]


def test_the_most_frequent_words_come_first_with_the_section_of_most_questions():
    assert missing(
        ("What is a walrus?", "Spread"),
        ("How do zebras sleep?", "Spread"),
        ("Where is the zebra?", "Streuung"),
        ("Why a zebra?", "Streuung"),
    ) == [("zebras", 3, "Streuung"), ("walrus", 1, "Spread"), ("sleep", 1, "Spread")]


def test_words_that_ask_and_forms_of_words_of_the_notes_are_none():
    assert missing(("How do I explain the value of a deviation?", "Spread"), ("Was sind Varianzen?", "Streuung")) == []


def test_signs_of_scripts_without_blanks_are_cut_and_asking_ones_left_out():
    assert missing(("什么是方差？", "统计")) == []
    assert [word for word, _, _ in missing(("什么是众数？", "统计"))] == ["众数"]


def test_a_name_that_means_the_same_is_known():
    assert missing(("What is the SD?", "Spread"), ("What is the typical gap?", "Spread")) == [
        ("typical", 1, "Spread"),
        ("gap", 1, "Spread"),
    ]
    assert missing(("What is the typical gap?", "Spread"), **{"standard deviation": ["typical gap"]}) == []
