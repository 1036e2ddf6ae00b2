"""Passes of one's own: a Python function from blocks to blocks."""

from pathlib import Path

import pytest

from tests.commands import text, write
from tests.talk import lmm

NOTES = "---\ntitle: T\n---\n\n# A\n\nA residual is a distance.\n\n# B\n\nMore.\n"
PASSES = '''
from dataclasses import replace

from lmm_core.errors import ModelError
from lmm_core.markdown import HeadingBlock


def louder(blocks):
    """Headings in capitals."""
    return [replace(b, source=b.source.upper()) if isinstance(b, HeadingBlock) else b for b in blocks]


async def quieter(blocks):
    """Headings in small letters, after some waiting."""
    import asyncio

    await asyncio.sleep(0)
    return [replace(b, source=b.source.lower()) if isinstance(b, HeadingBlock) else b for b in blocks]


def words(blocks):
    return [block.source for block in blocks]


def tired(blocks):
    raise ModelError("too tired")


def wrong(blocks):
    return blocks[0].no_such_thing


'''


@pytest.fixture
def passes():
    write("passes.py", PASSES)
    write("notes.md", NOTES.replace("# A", "# Aa"))


def test_a_pass_is_run_on_files(passes):
    assert "1 of 1 files changed" in lmm("lmm pass passes:louder notes.md").stderr
    assert text("notes.md") == NOTES.replace("# A", "# AA")
    lmm("lmm pass passes:quieter notes.md")
    assert text("notes.md") == NOTES.replace("# A", "# aa").replace("# B", "# b")


def test_check_and_diff_write_nothing(passes):
    lmm("lmm pass passes:louder --check notes.md", 1)
    assert "+# AA" in lmm("lmm pass passes:louder --diff notes.md").stdout
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("passes:words", "words: a pass has to return a list of blocks"),
        ("passes:luoder", "there is no 'luoder' in passes"),
        ("pases:louder", "there is no module 'pases' in "),
        ("passes", "a pass is named as module:function"),
    ],
)
def test_what_gives_no_document_is_wrong_usage(name, message, passes):
    assert message in " ".join(lmm(f"lmm pass {name} notes.md", 2).stderr.split())
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


def test_a_mistake_in_the_pass_is_shown_where_it_is(passes):
    with pytest.raises(AttributeError, match="no_such_thing") as caught:
        lmm("lmm pass passes:wrong notes.md")
    assert Path(caught.traceback[-1].path).name == "passes.py"
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


def test_a_pass_whose_model_fails_leaves_the_document(passes):
    assert "too tired" in lmm("lmm pass passes:tired notes.md", 1).stderr
    assert text("notes.md") == NOTES.replace("# A", "# Aa")
