"""Passes of one's own: a Python function from blocks to blocks."""

from pathlib import Path

import pytest

from lmm_core.errors import ModelError, PassError
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.scan.documents.own_pass import load_pass, run_pass
from tests.commands import text, write
from tests.talk import lmm

NOTES = "---\ntitle: T\n---\n\n# A\n\nA residual is a distance.\n\n# B\n\nMore.\n"
PASSES = '''
from dataclasses import replace

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


def same(blocks):
    return blocks


def wrong(blocks):
    return blocks[0].no_such_thing


number = 3
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


def test_check_and_diff_and_a_pass_that_changes_nothing_write_nothing(passes):
    assert "0 of 1 files changed" in lmm("lmm pass passes:same notes.md").stderr
    lmm("lmm pass passes:louder --check notes.md", 1)
    assert "+# AA" in lmm("lmm pass passes:louder --diff notes.md").stdout
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


@pytest.mark.parametrize(
    ("name", "message"),
    [("words", "words: a pass has to return a list of blocks"), ("luoder", "there is no 'luoder' in passes")],
)
def test_what_gives_no_document_is_wrong_usage(name, message, passes):
    assert message in lmm(f"lmm pass passes:{name} notes.md", 2).stderr
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("passes", "'passes': a pass is named as module:function"),
        (":louder", "':louder': a pass is named as module:function"),
        ("pases:louder", "pases:louder: there is no module 'pases' in "),
        ("passes.inner:louder", "no module 'passes.inner'"),
        ("passes:luoder", "passes:luoder: there is no 'luoder' in passes"),
        ("passes:number", "passes:number: 'number' is not a function"),
    ],
)
def test_a_name_that_names_no_pass(name, message, passes, monkeypatch):
    monkeypatch.syspath_prepend(str(Path.cwd()))
    with pytest.raises(PassError) as caught:
        load_pass(name)
    assert message in str(caught.value)


def test_a_mistake_in_the_pass_is_shown_where_it_is(passes):
    with pytest.raises(AttributeError, match="no_such_thing") as caught:
        lmm("lmm pass passes:wrong notes.md")
    assert Path(caught.traceback[-1].path).name == "passes.py"
    assert text("notes.md") == NOTES.replace("# A", "# Aa")


def test_a_module_that_imports_what_is_not_there_is_its_own_mistake(monkeypatch):
    write("importing_nothing.py", "import no_such_module\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        load_pass("importing_nothing:run")


def test_a_pass_gets_a_list_of_its_own():
    blocks = parse_markdown_text(NOTES)
    assert run_pass(lambda given: given.clear() or given, blocks, ListLogger()) == []
    assert len(blocks) == 5


def test_a_pass_whose_model_fails_leaves_the_document():
    def fails(blocks):
        raise ModelError("too tired")

    blocks, logger = parse_markdown_text(NOTES), ListLogger()
    assert run_pass(fails, blocks, logger) == blocks
    assert [(report.level, report.message) for report in logger.reports] == [("error", "too tired")]
