"""The file that pandoc writes, and what it may not be written over."""

import stat

import pytest

from tests.commands import run, text, write
from tests.filter_texts import NATIVE, NOTES


@pytest.mark.parametrize("name", ["notes.qmd", "notes.html"])
def test_writing_another_format_over_the_source_is_refused(name, pandoc):
    write(name, NATIVE)
    done = run(f"pandoc -f markdown -F lmm-rag {name} -o {name}", pandoc)
    assert done.returncode != 0
    assert b"-t markdown" in done.stderr
    assert text(name) == NATIVE


def test_the_source_saved_meanwhile_is_not_overwritten(pandoc):
    """A filter after which the file changes, and before which ours has read it."""
    write("notes.md", NOTES)
    slow = "from lmm_filters import lmm_rag, process\nfrom lmm_filters.pandoc import write_text as module\n" \
        "inner = module.write_text\n" \
        "def write_text(d, t):\n    open('notes.md', 'a').write('saved by an editor\\n')\n    return inner(d, t)\n" \
        "process.write_text = write_text\nlmm_rag.main()\n"  # fmt: skip
    path = write("lmm-rag", "#!/usr/bin/env python\n" + slow)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    done = run("pandoc -F ./lmm-rag notes.md -o notes.md", pandoc)
    assert done.returncode != 0
    assert b"changed on disk" in done.stderr
    assert text("notes.md") == NOTES + "saved by an editor\n"
