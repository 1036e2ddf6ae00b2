"""A question with one name of a thing finds passages with another."""

from lmm_core.retrieve.ranking.lexical import LexicalIndex
from tests.commands import write
from tests.indexing import found, lmm
from tests.retrieve.materials import material, rank

NOTES = """# Estimates

The standard error (SE) of a mean tells how far the means of samples lie from one another.

# Width

An interval is narrower in larger samples, since the SE is smaller there.

# Precision

How large the standard error may be is decided before the data come in.

# Odds

The odds ratio (OR) compares two groups.

# Urns

Red or blue balls are drawn from an urn, and a united team counts them unit by unit.

# Groups

Effects of groups are drawn from a distribution in hierarchical linear models.
"""
MADE = material(NOTES)
NAMES = {
    "MLM": ("hierarchical linear model",),
    "SE": ("standard error",),
    "OR": ("odds ratio",),
}
INDEX = LexicalIndex(MADE, "english", NAMES)


def titles(question):
    ranked = rank(INDEX, question, MADE.passages.values())
    return [one.titles[-1] for one in ranked if one.score > 0]


def used(question):
    return [str(one) for one in INDEX.synonyms.used(question)]


def test_an_abbreviation_finds_the_long_form_alone():
    assert set(titles("SE")) >= {"Estimates", "Width", "Precision"}
    assert "Precision" in titles("what is the SE?")
    assert titles("precision of the SE")[0] == "Precision"


def test_a_name_that_is_also_a_word_is_known_by_its_capitals():
    assert used("what is an OR?") == ["OR = odds ratio"]
    assert titles("what is an OR?")[0] == "Odds"
    assert used("red or blue") == used("is it red, or not") == used("RED OR BLUE") == []
    assert titles("red or blue")[0] == "Urns"
    assert used("se") == ["SE = standard error"]  # no other word is written so


def test_commands_search_for_other_names_and_say_which():
    write("notes.md", NOTES)
    write("config.toml", '[retrieve.synonyms]\nMLM = "hierarchical linear model"\nSE = "standard error"\n')
    lmm("index notes.md -q")
    assert lmm("search 'what is an SE?' -k 3")[1] == "also searching for other names: SE = standard error\n"
    assert lmm("search 'red or blue'")[1] == ""
    assert found("MLM")[0]["titles"][-1] == "Groups"
    assert "drawn from a distribution in hierarchical" in lmm("ask --no-model 'what is an MLM?' --budget 200")[0]
