"""What the stand-in writes into real files, against the judgements of it by hand in `judged.tsv`."""

import pytest

from tests.models.annotators.judging import PLACES, judged, made

ROWS = judged()
VERDICTS = {row.key: row.verdict for row in ROWS}


def share_of_bad(kind, verdicts):
    found = [verdict for key, verdict in verdicts if key[3] == kind]
    return sum(verdict == "bad" for verdict in found) / len(found)


def test_enough_has_been_judged():
    assert {row.verdict for row in ROWS} == {"good", "bad"}
    assert sum(row.kind == "question" for row in ROWS) >= 200
    assert sum(row.kind == "summary" for row in ROWS) >= 100
    assert all(row.remark for row in ROWS if row.verdict == "bad")


@pytest.mark.parametrize("tuned", ["tuned", "aside"])
@pytest.mark.parametrize(("kind", "most"), [("question", 0.05), ("summary", 0.1)])
def test_few_are_bad(tuned, kind, most):
    assert share_of_bad(kind, [(row.key, row.verdict) for row in ROWS if row.tuned == tuned]) <= most


@pytest.mark.slow
def test_what_is_written_has_been_judged_and_is_good():
    """If this fails, judge what `python -m tests.models.annotators.judging` prints, and add it to the table."""
    found = [row.key for collection in PLACES for row in made(collection)]
    assert [key for key in found if key not in VERDICTS] == []
    for kind, most in (("question", 0.05), ("summary", 0.1)):
        assert share_of_bad(kind, [(key, VERDICTS[key]) for key in found]) <= most
