"""Chunks of the default sizes fit the window of an embedding model; those that were configured are only counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.indexing.documents import blocklist_encode
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.logging import ListLogger
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.settings.project import Project
from lmm_core.settings.tables import SplitOpts

EXERCISE = "---\ntype: exercise\n---\n\n" + "Short sentences, many of them. " * 60 + "\n\n# A\n\nA few words.\n"
QUESTIONS = (
    "---\ntitle: T\n---\n\n---\nquestions: [{}]\n---\n\n# Means\n\n"
    + "The mean of some numbers is their sum by their count. " * 12
)
TABLE = "# T\n\n| town | rain |\n| --- | --- |\n" + "".join(f"| town {n} | {n} mm |\n" for n in range(60))


class Words:
    """An embedder whose tokens are words."""

    name = "test/words"

    def __init__(self, window):
        self.window = window

    def count(self, text):
        return len(text.split())

    async def embed(self, texts):
        return [[1.0, 0.0] for _ in texts]

    async def close(self):
        pass


def encode(text, tokens, encoding=EncodingModel.HYBRID, split=None):
    blocks, project, embedder = parse_markdown_text(text), Project(Path(), split=split or SplitOpts()), Words(tokens)
    return blocklist_encode(
        blocks, project, ListLogger(), encoding=encoding, docid="d", source="d.md", embedder=embedder
    )


def sizes(encoded):
    return [max(len(text.split()) for text in chunk.texts.dense) for chunk in encoded.chunks]


MANY_QUESTIONS = ", ".join(f"What is the mean of number {n}?" for n in range(50))


@pytest.mark.parametrize("encoding", [EncodingModel.CONTENT, EncodingModel.HYBRID, EncodingModel.SPARSE_MULTIVECTOR])
def test_no_chunk_of_the_default_sizes_is_cut(encoding):
    tokens = 40
    for text in (EXERCISE, TABLE, QUESTIONS.format("Why?"), QUESTIONS.format(MANY_QUESTIONS)):
        encoded = encode(text, tokens, encoding)
        assert encoded.too_long == 0 and max(sizes(encoded)) <= tokens


def test_annotations_that_leave_no_room_are_encoded_as_far_as_they_fit():
    lines = MANY_QUESTIONS.split(", ")
    chunk = encode(QUESTIONS.format(MANY_QUESTIONS), 64).chunks[0]
    before = chunk.texts.dense[0].split("\n\n")[0].split("\n")
    assert before == ["T - Means", *lines[: len(before) - 1]] and 1 < len(before) < 50
    assert all(line in chunk.texts.sparse for line in lines)  # for words, all count
    assert chunk.payload["hash"] == chunk.hash


@pytest.mark.parametrize("changed", [{"size": 900}, {"unit": "tokens"}])
def test_configured_sizes_stay_and_what_the_model_cuts_is_counted(changed):
    split = replace(SplitOpts(), **changed)
    encoded = encode("# T\n\n" + "word " * 2000, 100, split=split)
    alone = encode("# T\n\n" + "word " * 2000, 100, EncodingModel.BM25, split=split)
    assert [chunk.content for chunk in encoded.chunks] == [chunk.content for chunk in alone.chunks]
    assert encoded.too_long == sum(size > 100 for size in sizes(encoded)) > 0
    assert alone.too_long == 0
