"""Study plans."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.study.plan import divide, find_topic, make_steps, read_time
from tests.commands import write
from tests.indexing import lmm
from tests.retrieve.materials import material_of_files


@pytest.mark.parametrize(
    ("sentence", "sessions", "minutes", "unit"),
    [
        ("I have three evenings before the exam", 3, 120, "evening"),
        ("3 evenings of 90 minutes each", 3, 90, "evening"),
        ("the exam is at 18:30, I have 90 minutes", 1, 90, "session"),
        ("The exam is in three weeks; I have two evenings", 2, 120, "evening"),
        ("zwei Stunden am Tag, drei Tage", 3, 120, "day"),
        ("zweieinhalb Stunden", 2, 75, "session"),
        ("J’ai trois soirées avant l’examen", 3, 120, "evening"),
        ("999999 days", 366, 240, "day"),
        ("the day of the exam", 0, 0, "session"),
    ],
)
def test_time_in_a_sentence(sentence, sessions, minutes, unit):
    time = read_time(sentence)
    assert (time.sessions, time.minutes, time.unit) == (sessions, minutes, unit)


@given(st.lists(st.sampled_from(["three", "0", "999", "hours", "days", "per", "drei", "Abende", "exam", ":", "h"])))
def test_any_sentence_has_a_time_that_makes_sense(words):
    time = read_time(" ".join(words))
    assert 0 <= time.sessions <= 366 and (time.sessions > 0) == (time.minutes > 0)


@pytest.mark.parametrize(
    ("sentence", "topic"),
    [
        ("two hours on joins", "joins"),
        ("only two hours, about the normal distribution.", "the normal distribution"),
        ("zwei Stunden, nur über Residuen", "Residuen"),
    ],
)
def test_the_topic_in_a_sentence(sentence, topic):
    assert find_topic(read_time(sentence).rest) == topic


@given(st.integers(0, 20), st.lists(st.integers(0, 50), max_size=12))
def test_no_section_is_lost_whatever_the_time(sessions, sizes):
    text = "".join(f"# S{number}\n\n{'word ' * (size + 1)}\n\n" for number, size in enumerate(sizes))
    steps = [step for step, _ in make_steps(material_of_files(text))]
    divided = divide(steps, read_time(f"{sessions} evenings"))
    assert [step for session in divided for step in session] == steps


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course of two documents that is indexed, with twelve minutes and twenty minutes to read."""
    folder = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        dice = "# Dice\n\nA die has six sides.\n\n::: exercise\n**Roll it.** What comes?\n:::\n\n# Coins\n\n"
        write("dice.md", f"---\ntitle: Dice and coins\n---\n\n{dice}{'flip the coin ' * 130}\n")
        write("cards.md", "---\ntitle: Cards\n---\n\n" + f"# Decks\n\n{'shuffle the deck ' * 1300}\n")
        lmm("index .")
    return folder


def plan(course, monkeypatch, wish):
    monkeypatch.chdir(course)
    return lmm(f"toc --plan '{wish}'")[0]


def test_a_plan_to_read(course, monkeypatch):
    assert plan(course, monkeypatch, "two evenings") == (
        "31 min of work. Understood “two evenings” as 2 evenings of 2 h.\n"
        "\nEvening 1: 20 min\n  Cards  (cards.md): 20 min\n    Decks\n"
        "\nEvening 2: 12 min\n  Dice and coins  (dice.md): 12 min, with 1 exercise\n    Dice; Coins\n"
    )


def test_a_plan_is_about_what_the_sentence_names_and_fits_its_time(course, monkeypatch):
    shown = plan(course, monkeypatch, "two hours on coins")
    assert "about “coins”" in shown and "Coins" in shown and "Decks" not in shown
    short = json.loads(lmm("toc --plan 'fifteen minutes' --json")[0])
    assert [step["title"] for session in short["sessions"] for step in session] == ["Dice", "Coins"]
    assert short["problems"][0].startswith("There is no time for 1 section")


def test_what_cannot_be_done_is_said_first(course, monkeypatch):
    assert plan(course, monkeypatch, "one hour on unicorns").startswith("Nothing was found about “unicorns”: this is a")
    assert plan(course, monkeypatch, "help me").startswith("No time was given: sessions last at most 2 h.")
    assert plan(course, monkeypatch, "5 minutes").startswith("There is no time for 2 sections (")
    assert "The wish is empty" in lmm("toc --plan ' '", status=2)[1]
