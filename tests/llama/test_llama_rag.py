"""`lmm rag` with a real, weak model: nothing poor is written, what fails is said with its place, and it ends."""

import json
import re
from pathlib import Path

import pytest

from lmm_core.markdown import blocks_to_tree, parse_markdown_text
from lmm_core.markdown.tree import sections, serialize_tree, titles_path
from lmm_core.models.prompts import annotate_prompt
from tests.commands import text, write
from tests.llama.courses import configure
from tests.real_files import SAMPLE
from tests.strategies import outside_metadata
from tests.talk import lmm

pytestmark = pytest.mark.model
REAL = {
    "python-lesson/setup-crlf.md": "questions_threshold = 50\nsummaries = false\n",  # in some of its sections, which takes less time
    "rust-book/ch03-04-comments.md": "",
}
MARKS = re.compile(r"</?(text|source|notes|question)\b|<\|?(im_|start_of|end_of)|\[/?INST\]|[{}\\]\s*\"|^\W*$")


def words(said):
    """The words of a text, cut to what inflection leaves alone."""
    return {word[:5] for word in re.findall(r"[^\W\d_]{4,}", said.lower())}


def subject(node):
    """The words that a section could be asked for: the titles above it, and all that stands under it."""
    return words(" ".join(titles_path(node)) + outside_metadata(serialize_tree(node)))


def echoes(said):
    """Whether six words in a row are those of the prompt."""
    prompt = annotate_prompt(("questions", "summary"))
    asked = re.findall(r"\w+", prompt.system.lower())
    runs = {tuple(asked[at : at + 6]) for at in range(len(asked))}
    said = re.findall(r"\w+", said.lower())
    return any(tuple(said[at : at + 6]) in runs for at in range(len(said) - 5))


def assert_fit_for_students(document):
    """No annotation of a document is a number, a label or an echo."""
    for node in sections(blocks_to_tree(parse_markdown_text(document))):
        questions, summary = node.properties.get("~questions", []), node.properties.get("~summary", "")
        assert isinstance(questions, list) and isinstance(summary, str)
        assert len({question.casefold() for question in questions}) == len(questions)
        for said in [*questions, *([summary] if summary else [])]:
            assert len(re.findall(r"[^\W\d_]{2,}", said)) >= 3, said
            assert not MARKS.search(said) and not echoes(said), said
            assert words(said) & subject(node), said
        assert all(re.search(r"[?？;]\W*$", question) for question in questions), questions
        assert not summary or re.search(r"[.!?…。]\W*$", summary), summary


def failures(said, file):
    """The lines of the sections that a run says it has not annotated."""
    return [int(line) for line in re.findall(rf"^{re.escape(file)}:(\d+): .*not annotated", said, re.M)]


def annotations(document):
    """What stands in a document's sections that the system wrote: by line of text, keys and values."""
    found = {}
    for node in sections(blocks_to_tree(parse_markdown_text(document))):
        found |= {
            (node.title, key): node.properties[key] for key in ("~questions", "~summary") if key in node.properties
        }
    return found


@pytest.mark.parametrize("path", REAL)
def test_nothing_poor_is_written(server, path):
    """What is good enough is written and stays; what is not is said with its place; a second run asks for that alone."""
    configure(server, f"\n[RAG]\n{REAL[path]}")
    notes = write(Path(path).name, (SAMPLE / path).read_bytes())
    before, written = text(notes), {}
    for _ in range(2):
        asked = json.loads(lmm(f"lmm rag --dry-run --json {notes}").stdout)
        said = lmm(f"lmm rag {notes}", status=1).stderr
        after = text(notes)
        assert outside_metadata(after) == outside_metadata(before)
        assert_fit_for_students(after)
        assert annotations(after).items() >= written.items()
        written = annotations(after)
        for one in asked:
            missing = [key for key in one["wanted"] if (one["titles"][-1], f"~{key}") not in written]
            assert not missing or one["line"] in failures(said, notes.name) or "wait for those that failed" in said
