"""`/teacher` of `lmm serve`: what students asked, behind a token of its own."""

import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace

import httpx
import pytest

from lmm_core.study.asked.page import asked_policy
from lmm_core.study.asked.recordings import Recordings, recordings_path
from tests.asked_turns import HOSTILE, REFUSED, make_turns, write_course
from tests.indexing import lmm
from tests.serving import ASK, Served

TOKEN = "a token for the teacher"
KNOWN = {"auth": ("anybody", TOKEN)}


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course that is indexed, with recordings."""
    monkeypatch.chdir(tmp_path)
    write_course(tmp_path)
    lmm("index trees.md")
    record(tmp_path, make_turns(60))
    return tmp_path


def record(folder, turns):
    with closing(Recordings(recordings_path(folder))) as recordings:
        for turn in turns:
            recordings.add(turn)


def test_the_teacher_sees_what_was_asked_and_nobody_else(course):
    with Served(course, teacher=TOKEN) as served:
        shown = served.client.get("/teacher", **KNOWN)
        assert shown.status_code == 200 and any(question in shown.text for question in REFUSED)
        assert served.client.get("/teacher", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        for wrong in ({}, {"auth": ("a", "wrong")}, {"auth": (TOKEN, "")}, {"headers": {"Authorization": "Basic !"}}):
            refused = served.client.get("/teacher", **wrong)
            assert refused.status_code == 401 and refused.headers["WWW-Authenticate"].startswith("Basic ")
            assert not any(question in refused.text for question in REFUSED)


def test_without_a_token_of_its_own_there_is_no_such_page(course):
    with Served(course) as served:
        assert served.client.get("/teacher", **KNOWN).status_code == 404


def test_the_token_of_the_students_does_not_open_it(course):
    with Served(course, token="students", teacher=TOKEN) as served:
        assert served.client.get("/teacher", headers={"Authorization": "Bearer students"}).status_code == 401
        assert served.client.get("/teacher", **KNOWN).status_code == 200


def test_tokens_cannot_be_tried_one_after_the_other(course):
    with Served(course, teacher=TOKEN, rate=5) as served:
        tried = [served.client.get("/teacher", auth=("a", str(number))).status_code for number in range(8)]
        assert tried[:5] == [401] * 5 and set(tried[5:]) == {429}
        assert served.client.get("/teacher", **KNOWN).status_code == 429  # also for who has got it at last


def test_the_browser_loads_nothing_and_keeps_nothing(course):
    with Served(course, teacher=TOKEN) as served:
        headers = served.client.get("/teacher", **KNOWN).headers
        assert headers["Content-Security-Policy"] == f"{asked_policy()}; frame-ancestors 'none'"
        assert headers["Cache-Control"] == "no-store" and "Set-Cookie" not in headers


def test_it_is_made_anew_if_the_notes_are_indexed_again(course):
    with Served(course, teacher=TOKEN) as served:
        assert "About ash" in served.client.get("/teacher", **KNOWN).text
        text = (course / "trees.md").read_text("utf-8").replace("# About ash", "# About beech")
        (course / "trees.md").write_text(text, "utf-8")
        subprocess.run([sys.executable, "-m", "lmm_core", "index", "trees.md"], cwd=course, check=True)
        assert "About beech" in served.client.get("/teacher", **KNOWN).text


def test_broken_recordings_are_the_teachers_trouble_alone(course):
    for ending in ("", "-wal", "-shm"):
        path = recordings_path(course)
        path.with_name(path.name + ending).write_bytes(b"no database" * 500)
    with Served(course, teacher=TOKEN) as served:
        assert served.client.get("/teacher", **KNOWN).status_code == 503
        assert any("asked.sqlite" in line for line in served.log)
        assert served.events()[-1][0] == "done"


def test_small_groups_are_not_shown(course):
    alone = replace(
        make_turns(1)[0], id="f" * 32, question="my name is Anna", comment="", outcome="refused", sources=()
    )
    record(course, [alone])
    with Served(course, teacher=TOKEN) as served:
        assert "Anna" not in served.client.get("/teacher", **KNOWN).text


def test_hostile_questions_are_text(course):
    turns = make_turns(12 * len(HOSTILE))
    record(course, [replace(one, id=f"h{one.id}", question=HOSTILE[at % len(HOSTILE)]) for at, one in enumerate(turns)])
    with Served(course, teacher=TOKEN) as served:
        page = served.client.get("/teacher", **KNOWN).text
        assert "<script" not in page and "<img" not in page and "\x1b" not in page


@pytest.mark.slow
def test_questions_are_answered_while_it_is_made(course):
    record(
        course, [replace(one, id=f"m{one.id}", question=f"{one.question} {one.id[-4:]}") for one in make_turns(4000)]
    )
    with Served(course, teacher=TOKEN, rate=1000) as served:
        done = threading.Event()

        def look():
            with httpx.Client(base_url=served.client.base_url, timeout=120) as client:
                assert client.get("/teacher", **KNOWN).status_code == 200
            done.set()

        thread = threading.Thread(target=look)
        thread.start()
        answered = 0
        while not done.is_set():
            assert served.events(ASK)[-1][0] == "done"
            answered += 1
        thread.join()
        assert answered > 5
