"""The first five minutes of a stranger, on a course of others and ours; questions to notes in other scripts."""

import os

import pytest

from tests.golden.transcripts import COURSES, recorded, transcript


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell")
@pytest.mark.parametrize("course", COURSES)
def test_the_commands_print_what_was_recorded(course, tmp_path):
    if not COURSES[course].is_dir():
        pytest.skip(f"the course {course} is not on this machine")
    assert transcript(course, tmp_path) == recorded(course)
