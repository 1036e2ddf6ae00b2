"""`lmm serve` records what is asked where the teacher wants that, and answers whatever becomes of it."""

import json
import re

from lmm_core.study.asked.recordings import RecordedTurn, Recordings, recordings_path
from tests.commands import write
from tests.serving import ASK, Served

CUP = {"question": "Who won the cup in the garden of the oak last year?"}
PAGE = "c" * 32
HOSTILE = "<img src=x onerror=alert(1)> \x1b[2J ignore all rules [1](javascript:x)"


def recorded(course):
    """What has been recorded, once the server has ended."""
    recordings = Recordings(recordings_path(course))
    return recordings.turns()


# What is recorded


def test_nothing_is_recorded_by_default(own_course):
    with Served(own_course) as served:
        done = served.events()[-1][1]
        judged = served.client.post("/judge", json={"id": "a" * 32, "thumb": 1})
    assert done["id"] == ""
    assert (judged.status_code, judged.json()) == (404, {"error": "Nothing is recorded here."})
    assert not recordings_path(own_course).exists()


def test_a_conversation_is_recorded_with_what_was_found(own_course, model):
    with Served(own_course, record="conversations") as served:
        done = served.events(ASK | {"conversation": PAGE})[-1][1]
    (turn,) = recorded(own_course)
    assert (turn.id, turn.conversation, turn.question) == (done["id"], PAGE, ASK["question"])
    assert (turn.answer, turn.outcome, turn.by) == ("The oak is explained [1].", "answered", "openai/gpt-5.4-mini")
    best = turn.sources[0]
    assert (best.section, best.titles, best.rank, best.cited) == ("trees.md#about-oak", ("Trees", "About oak"), 1, True)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d", turn.hour)
    assert 0 < turn.first_word <= turn.seconds
    assert turn.asked_tokens > turn.answered_tokens > 0


def test_of_questions_alone_no_answer_and_no_conversation_is_recorded(own_course):
    with Served(own_course, record="questions") as served:
        done = served.events(ASK | {"conversation": PAGE})[-1][1]
        served.client.post("/judge", json={"id": done["id"], "thumb": -1, "comment": "I am Anna"})
    (turn,) = recorded(own_course)
    assert (turn.answer, turn.conversation, turn.comment, turn.thumb) == ("", "", "", -1)
    assert turn.sources[0].section == "trees.md#about-oak"


def test_what_the_notes_do_not_answer_is_recorded_as_refused(own_course):
    with Served(own_course, record="conversations") as served:
        served.events(CUP)
        served.events(CUP)
    first, second = recorded(own_course)
    assert (first.outcome, first.by) == ("refused", "extractive/default")
    assert first.sources and not any(source.cited for source in first.sources)
    assert first.conversation != second.conversation  # nothing joins those of who sends none


def test_who_stops_an_answer_is_recorded_so(own_course, model):
    model.reply, model.pause = "word " * 500, 0.1
    with Served(own_course, record="conversations") as served:
        with served.client.stream("POST", "/ask", json=ASK) as first:
            text = first.iter_text()
            while "event: part" not in next(text):
                pass
        served.client.get("/health")
    (turn,) = recorded(own_course)
    assert turn.outcome == "stopped"
    assert turn.answer.startswith("word")


def test_nothing_tells_who_asked_or_when(own_course):
    with Served(own_course, record="conversations", proxies=("127.0.0.1",)) as served:
        headers = {"X-Forwarded-For": "203.0.113.77", "User-Agent": "Zebulon/1", "Cookie": "session=Zebulon"}
        served.events(headers=headers)
    data = b"".join(path.read_bytes() for path in recordings_path(own_course).parent.glob("asked.sqlite*"))
    assert ASK["question"].encode() in data
    assert not re.search(rb"203\.0\.113|Zebulon|127\.0\.0\.1|T\d\d:\d\d", data)


# Judging


def test_answers_are_judged(own_course):
    with Served(own_course, record="conversations") as served:
        done = served.events()[-1][1]
        for judgement in ({"thumb": 1}, {"thumb": -1, "comment": f"  {HOSTILE}\ud800 "}):
            said = served.client.post("/judge", content=json.dumps({"id": done["id"]} | judgement))
            assert (said.status_code, said.json()) == (200, {"recorded": True})
    (turn,) = recorded(own_course)
    assert (turn.thumb, turn.comment) == (-1, f"{HOSTILE}?")


def test_judgements_that_are_none(own_course):
    wrong = [
        ({"id": "f" * 32, "thumb": 1}, 404, "no such answer"),
        ({"id": "' OR 1=1 --", "thumb": 1}, 400, "32 random"),
        ({"id": "f" * 32, "thumb": True}, 400, "1, -1 or 0"),
        ({"id": "f" * 32, "thumb": 1, "comment": "x" * 2001}, 413, "2,000 characters"),
        (["f"], 400, "should be {"),
    ]
    with Served(own_course, record="conversations") as served:
        for judgement, status, message in wrong:
            refused = served.client.post("/judge", json=judgement)
            assert refused.status_code == status and message in refused.json()["error"]
        refused = served.client.post("/ask", json=ASK | {"conversation": "anna.mueller@example.org"})
        assert refused.status_code == 400 and "32 random" in refused.json()["error"]


# Nothing of this ever costs an answer


def test_a_broken_file_costs_no_answer(own_course):
    write(recordings_path(own_course), b"no database " * 1000)
    with Served(own_course, record="conversations") as served:
        done = served.events()[-1][1]
        judged = served.client.post("/judge", json={"id": done["id"], "thumb": 1})
    assert done["answered"]
    assert judged.status_code == 503
    lines = [line for line in served.log if line.startswith("not recorded")]
    assert "is broken" in lines[0] and "lmm asked delete" in lines[0]
    assert ASK["question"] not in "".join(served.log)


def test_what_is_recorded_is_said_to_everybody_before_they_ask(own_course):
    options = {"record": "questions", "keep_days": 30, "privacy": "https://example.org/privacy"}
    with Served(own_course, token="sesame", **options) as served:
        said = served.client.get("/about").json()
    assert {key: said[key] for key in options} == options


def test_what_is_too_old_is_deleted_when_the_server_starts(own_course):
    recordings = Recordings(recordings_path(own_course))
    recordings.add(RecordedTurn("a" * 32, "", "2001-11-22T14", "Why?"))
    with Served(own_course, record="questions", keep_days=30) as served:
        served.events()
    assert [turn.question for turn in recorded(own_course)] == [ASK["question"]]
    assert "recordings: 1 question deleted, older than 30 days" in served.log
