"""From blocks to chunks: content, annotations, payload, identity."""

import pytest

from lmm_core.indexing.chunks import DEFAULT_MODEL, AnnotationModel, blocks_to_chunks
from lmm_core.indexing.collection import GROUP
from lmm_core.indexing.cutting.split import scan_split
from lmm_core.indexing.documents import blocklist_encode, encode_passages
from lmm_core.indexing.encoding import (
    EncodingModel,
    QdrantEmbeddingModel,
    encoding_to_qdrantembedding_model,
    texts_to_encode,
)
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text
from lmm_core.settings.project import load_project
from tests.commands import write

NOTES = """---
title: Statistics
docid: stats
author: A. Teacher
---

Before any heading.

---
questions: What is a mean?
~summary: The mean divides a sum.
~~hash: {summary: [a, b]}
level: easy
?: Is this clear?
~chat:
  - user: Is this clear?
  - model: Yes.
---

# Means {#sec-means}

The mean is a sum divided by a count.

## When it misleads

---
questions: [Why not?, When not?]
---

An outlier pulls it.

---
type: exercise
---

Compute the mean of 1, 2 and 9.

---
skip: true
---

# Left out

Nobody finds this.

# Means

Again.
"""


def chunks(text=NOTES, encoding=EncodingModel.BM25, annotations=None, logger=None):
    blocks = scan_split(parse_markdown_text(text))
    model = annotations if annotations is not None else DEFAULT_MODEL
    return blocks_to_chunks(blocks, encoding, model, logger or ListLogger(), docid="notes.md", source="notes.md")


def payload(content, **options):
    return next(chunk.payload for chunk in chunks(**options) if chunk.content.startswith(content))


def test_each_text_is_a_chunk_and_headings_and_metadata_are_none():
    assert [chunk.content for chunk in chunks() if "type" not in chunk.payload] == [
        "Before any heading.", "The mean is a sum divided by a count.", "An outlier pulls it.", "Again.",
    ]  # fmt: skip


def test_a_chunk_knows_its_place():
    found = payload("An outlier")
    assert found["titles"] == ["Statistics", "Means", "When it misleads"]
    assert (found["depth"], found["section_path"], found["parent"]) == (2, ["1", "1.1"], "1.1")
    assert found["anchor"] == "when-it-misleads"
    assert NOTES.split("\n")[found["line_start"] - 1] == "An outlier pulls it."
    assert found["line_end"] == found["line_start"]
    assert found["textid"] == f"stats.{found['sequence']}"
    assert (found["docid"], found["source"]) == ("stats", "notes.md")


def test_the_payload_has_public_properties_own_and_inherited():
    found = payload("The mean is a sum")
    assert (found["questions"], found["level"]) == ("What is a mean?", "easy")
    assert payload("An outlier")["questions"] == ["Why not?", "When not?"]
    assert payload("An outlier")["level"] == "easy"


def test_private_keys_chats_and_the_headers_properties_stay_out():
    for chunk in chunks():
        assert not {"~~hash", "hashes", "?", "chat", "~chat", "author", "title"} & set(chunk.payload)
        assert "Is this clear" not in str(chunk.payload)


def test_a_summary_is_a_chunk_of_its_own():
    found = payload("The mean divides")
    assert (found["type"], found["titles"]) == ("summary", ["Statistics", "Means"])
    assert "summary" not in payload("The mean is a sum")


# Annotations and encodings


@pytest.mark.parametrize(
    ("model", "annotations"),
    [
        (AnnotationModel(inherited_properties=["topic"]), ["section", "own"]),
        (AnnotationModel(["level"], ["topic"]), ["easy", "hard\nown"]),
        (["topic"], ["section", "own"]),
    ],
)
def test_a_text_s_own_property_counts_before_that_of_its_section(model, annotations):
    text = (
        "---\ntopic: of all\n---\n\n---\ntopic: section\nlevel: easy\n---\n\n# A\n\nOne.\n\n"
        "---\ntopic: own\nlevel: hard\n---\n\nTwo.\n"
    )
    assert [chunk.annotations for chunk in chunks(text, annotations=model)] == annotations


@pytest.mark.parametrize(
    ("encoding", "dense", "sparse", "embedding"),
    [
        ("none", (), "", "UUID"),
        ("content", ("c",), "", "dense"),
        ("merged", ("a\n\nc",), "", "dense"),
        ("multivector", ("a", "c"), "", "multivector"),
        ("sparse", (), "a", "sparse"),
        ("sparse_content", ("c",), "a", "hybrid_dense"),
        ("sparse_merged", ("a\n\nc",), "a", "hybrid_dense"),
        ("sparse_multivector", ("a", "c"), "a", "hybrid_multivector"),
        ("bm25", (), "a\n\nc", "bm25"),
        ("hybrid", ("a\n\nc",), "a\n\nc", "hybrid"),
    ],
)
def test_the_flow_table(encoding, dense, sparse, embedding):
    texts = texts_to_encode(EncodingModel(encoding), "c", "a")
    assert (texts.dense, texts.sparse) == (dense, sparse)
    assert encoding_to_qdrantembedding_model(EncodingModel(encoding)) is QdrantEmbeddingModel(embedding)


# Identity


def ids(text):
    return {chunk.content: chunk.uuid for chunk in chunks(text)}


def test_a_chunk_keeps_its_id_wherever_it_moves_and_has_one_for_each_occurrence():
    moved = NOTES.replace("# Means {#sec-means}", "# Something new\n\nInserted.\n\n# Means {#sec-means}")
    assert ids(NOTES).items() < ids(moved).items()
    assert ids(NOTES)["Again."] != ids(NOTES.replace("docid: stats", "docid: other"))["Again."]
    assert len({chunk.uuid for chunk in chunks("# A\n\nSame.\n\n# B\n\nSame.\n")}) == 2


def test_new_questions_change_what_is_encoded_and_not_the_id():
    changed = NOTES.replace("questions: What is a mean?", "questions: What are means?")
    before, after = chunks()[2], chunks(changed)[2]
    assert "divided by" in before.content and before.uuid == after.uuid and before.hash != after.hash


# Chunks of the ask box


def test_passages_encoded_alone_are_the_chunks_of_the_index(tmp_path):
    project = load_project(write(tmp_path / "config.toml", "[split]\ndocuments = 60\n"))
    blocks = parse_markdown_text(NOTES)
    alone = encode_passages(blocks, project, ListLogger(), "energy", "notes.md")
    indexed = blocklist_encode(blocks, project, ListLogger(), docid="energy", source="notes.md").chunks
    payloads = [{key: value for key, value in chunk.payload.items() if key != GROUP} for chunk in indexed]
    assert [(passage.uuid, passage.payload) for passage in alone] == [
        (chunk.uuid, payload) for chunk, payload in zip(indexed, payloads, strict=True)
    ]
