"""Figures about recorded questions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from lmm_core.asked.figures import (
    Answerer,
    Period,
    Seconds,
    by_date,
    by_hour,
    count_answerers,
    count_conversations,
    count_outcomes,
    measure_seconds,
)
from lmm_core.asked.turns import RecordedTurn

TURN = RecordedTurn("1", "a", "2026-11-20T23", "Why?", by="openai/small", asked_tokens=1000, answered_tokens=100)
BERLIN = ZoneInfo("Europe/Berlin")


def on(*hours, **values):
    return [replace(TURN, hour=hour, **values) for hour in hours]


def test_each_day_is_counted_also_those_without_a_question():
    turns = on("2026-11-20T10", "2026-11-20T11") + on("2026-11-22T10", outcome="refused") + on("2026-11-22T9", thumb=-1)
    assert by_date(turns, UTC) == (
        "day", [Period("2026-11-20", 2, 0), Period("2026-11-21", 0, 0), Period("2026-11-22", 2, 2)],
    )  # fmt: skip


def test_a_time_is_that_of_the_teacher():
    days = by_date([TURN], BERLIN)[1]
    assert [day.label for day in days] == ["2026-11-21"]
    assert [one.label for one in by_hour([TURN], BERLIN) if one.asked] == ["00:00"]


def test_a_term_is_counted_by_weeks_and_years_by_months():
    first = datetime(2026, 1, 7, 10)
    for days, unit, labels in (
        (100, "week", ["2026-01-05", "2026-04-13"]), (1000, "month", ["2026-01-01", "2028-10-01"]),
    ):  # fmt: skip
        hours = [(first + timedelta(day)).strftime("%Y-%m-%dT%H") for day in (0, days)]
        found, periods = by_date(on(*hours), UTC)
        assert (found, [periods[0].label, periods[-1].label]) == (unit, labels)
        assert sum(one.asked for one in periods) == 2


def test_an_hour_that_cannot_be_read_is_not_counted():
    assert by_date(on("yesterday", "2026-13-40T99"), UTC) == ("day", [])
    assert sum(one.asked for one in by_hour(on("", "9999-12-31T23"), ZoneInfo("Asia/Tokyo"))) == 0


def test_median_and_nine_of_ten():
    assert measure_seconds([None, *(float(one) for one in range(1, 11))]) == Seconds(10, 5.0, 9.0)
    assert measure_seconds([None]) is None


def test_outcomes_conversations_and_cost():
    turns = [TURN, replace(TURN, outcome="refused", by=""), replace(TURN, conversation="b", by="other/x")]
    assert count_outcomes(turns) == {
        "answered": 2, "partly": 0, "refused": 1, "off_topic": 0, "broken": 0, "stopped": 0,
    }  # fmt: skip
    assert count_conversations(turns) == 2

    def price(name, asked, answered):
        return asked * 0.01 if name == "openai/small" else None

    assert count_answerers(turns, price) == [
        Answerer("openai/small", 1, 1000, 100, 10.0), Answerer("other/x", 1, 1000, 100, None),
    ]  # fmt: skip
