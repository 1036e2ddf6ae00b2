"""The sample book brings what its cell has printed, so that it renders without Jupyter."""

import hashlib
import json
import re
from pathlib import Path

from tests.commands import text

BOOK = Path(__file__).parents[2] / "sample-book"
FROZEN = BOOK / "_freeze" / "07-computing" / "execute-results" / "html.json"


def test_the_frozen_result_is_of_the_chapter_as_it_is():
    """Quarto compares a hash of the whole source: change the chapter, and render the book once
    where there is Jupyter."""
    source = text(BOOK / "07-computing.qmd").replace("\r\n", "\n")
    assert json.loads(text(FROZEN))["hash"] == hashlib.md5(source.encode()).hexdigest()


def test_the_frozen_result_names_nothing_of_the_machine():
    assert not re.search(r"/(?:home|Users|tmp|root|opt|work)/", text(FROZEN))
    assert "hours slept:    7.0 7.0" in text(FROZEN)
