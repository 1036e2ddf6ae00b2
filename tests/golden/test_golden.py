"""Every golden case, by each of its command lines, with each pandoc; and those
spelled in divs by walking Pandoc's elements, too."""

import re

import pytest

from lmm_core.markdown import HeaderBlock, HeadingBlock, MetadataBlock, parse_markdown_text
from tests.commands import run, text, write
from tests.golden.cases import all_cases, load, play

CASES = [(path, command) for path in all_cases() for command in load(path).commands]
IDS = [f"{path.stem}-{command.split()[0]}" for path, command in CASES]
FOREIGN = "function Pandoc(doc) doc.meta['seen-by'] = 'another filter'; return doc end\n"


@pytest.mark.parametrize(("path", "command"), CASES, ids=IDS)
def test_case(path, command, pandoc):
    case = load(path)
    after, said, status = play(case, command, pandoc)
    assert after == case.after
    assert [line for line in case.stderr if line not in said] == [], said
    assert bool(status) == bool(case.status), said
    if not command.startswith("pandoc"):
        assert status == case.status


def in_divs(case):
    blocks = parse_markdown_text(case.before.get("notes.md", ""))
    native = [b for b in blocks if isinstance(b, MetadataBlock) and b.spelling == "native"]
    return (
        case.commands[0] == "pandoc -F lmm-rag notes.md -o notes.md"
        and "by elements" not in case.about
        and all(isinstance(block, HeaderBlock) for block in native)
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in all_cases() if in_divs(load(p))], ids=lambda path: path.stem)
def test_case_by_elements(path, pandoc):
    """A foreign filter before ours: the source text is no longer the document's."""
    case = load(path)
    write("notes.md", case.before["notes.md"])
    write("foreign.lua", FOREIGN)
    done = run("pandoc -L foreign.lua -F lmm-rag notes.md -o out.md", pandoc)
    assert done.returncode == 0, done.stderr.decode()
    assert b"rewrites the text" in done.stderr
    assert shape(text("out.md")) == shape(case.after["notes.md"])


def shape(markdown):
    """Metadata exactly; of headings, and of the texts between them, the words."""
    parts = []
    for block in parse_markdown_text(markdown):
        if isinstance(block, MetadataBlock):
            content = {k: v for k, v in block.content.items() if k not in ("seen-by", "~~hash")}
            parts.append((content, sorted(block.content.get("~~hash", {}))))
        elif isinstance(block, HeadingBlock):
            parts.append((block.level, *words(block.title)))
        elif parts and isinstance(parts[-1], list):
            parts[-1] += words(block.content)
        else:
            parts.append(words(block.content))
    return parts


def words(markdown):
    return re.findall(r"\w+", markdown.replace("```{=html}", ""))
