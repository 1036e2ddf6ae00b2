"""From blocks to chunks: content, annotations, payload, identity."""

import re
import subprocess

import pytest

from lmm_core.indexing.chunks import DEFAULT_MODEL, AnnotationModel, blocks_to_chunks
from lmm_core.indexing.cutting.split import scan_split
from lmm_core.indexing.encoding import (
    EncodingModel,
    QdrantEmbeddingModel,
    encoding_to_qdrantembedding_model,
    texts_to_encode,
)
from lmm_core.logging import ListLogger
from lmm_core.markdown import parse_markdown_text

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


def test_anchors_are_those_of_pandoc():
    assert payload("The mean is a sum")["anchor"] == "sec-means"
    assert payload("Again.")["anchor"] == "means"
    assert [c.payload["anchor"] for c in chunks("# A b\n\none\n\n# A b\n\ntwo\n")] == ["a-b", "a-b-1"]


TITLES = [
    "抽样误差",
    "Ошибка выборки",
    "標準誤差（SE）とは？",
    "ค่าเฉลี่ย",
    "3. Österreich É",
    "1 _x",
    "Ⅷ кот",
    "مُتَوَسِّط",
    "12",
]


def test_anchors_in_every_script_are_those_of_pandoc():
    text = "".join(f"# {title}\n\ntext {at}\n\n" for at, title in enumerate(TITLES))
    html = subprocess.run(["pandoc", "-t", "html"], input=text, capture_output=True, text=True, check=True).stdout
    assert [c.payload["anchor"] for c in chunks(text)] == re.findall(r'id="([^"]*)"', html)


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


def test_types_come_from_metadata_and_from_divs():
    assert payload("Compute")["type"] == "exercise"
    found = chunks("# A\n\nText here.\n\n::: exercise\nTry it.\n:::\n\n::: {.rag-only type=topic}\nTopic.\n:::\n")
    assert [chunk.payload.get("type") for chunk in found] == [None, "exercise", "topic"]


def test_the_nearest_skip_counts():
    assert not any("Nobody" in chunk.content for chunk in chunks())
    text = "---\nskip: true\n---\n\n# A\n\nhidden text\n\n---\nskip: false\n---\n\n## B\n\nshown text\n"
    assert [chunk.content for chunk in chunks(text)] == ["shown text"]
    assert [chunk.content for chunk in chunks("---\ntitle: T\nskip: true\n---\n\n" + text)] == ["shown text"]


# Annotations and encodings


def test_titles_and_questions_are_encoded_with_the_text():
    found = next(chunk for chunk in chunks() if chunk.content.startswith("An outlier"))
    assert found.annotations == "Statistics - Means - When it misleads\nWhy not?\nWhen not?"
    assert found.texts.sparse == f"{found.annotations}\n\nAn outlier pulls it."


def test_own_and_inherited_properties_are_told_apart():
    own = AnnotationModel((), ("questions",))
    found = {chunk.content: chunk.annotations for chunk in chunks(annotations=own)}
    assert found["The mean is a sum divided by a count."] == ""
    assert found["An outlier pulls it."] == "Why not?\nWhen not?"
    inherited = AnnotationModel(("questions",), ())
    found = {chunk.content: chunk.annotations for chunk in chunks(annotations=inherited)}
    assert found["The mean is a sum divided by a count."] == "What is a mean?"
    assert found["An outlier pulls it."] == "Why not?\nWhen not?"  # its own, not its section's


def test_a_text_s_own_property_counts_before_that_of_its_section():
    text = "# A\n\nOne.\n\n---\ntopic: own\nlevel: hard\n---\n\nTwo.\n"
    text = "---\ntopic: of all\n---\n\n---\ntopic: section\nlevel: easy\n---\n\n" + text

    def annotations(model):
        return [chunk.annotations for chunk in chunks(text, annotations=model)]

    assert annotations(AnnotationModel(inherited_properties=["topic"])) == ["section", "own"]
    assert annotations(AnnotationModel(own_properties=["topic"])) == ["", "own"]
    assert annotations(AnnotationModel(["level"], ["topic"])) == ["easy", "hard\nown"]
    assert annotations(AnnotationModel(["topic"], ["topic"])) == ["section", "own"]
    assert annotations(["topic"]) == annotations(AnnotationModel("topic")) == ["section", "own"]
    assert annotations(AnnotationModel()) == annotations([]) == ["", ""]


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


def test_a_chunk_keeps_its_id_wherever_it_moves():
    moved = NOTES.replace("# Means {#sec-means}", "# Something new\n\nInserted.\n\n# Means {#sec-means}")
    before, after = ids(NOTES), ids(moved)
    assert all(after[content] == before[content] for content in before)


def test_a_changed_text_gets_another_id_and_doubled_texts_get_two():
    assert ids(NOTES)["Again."] != ids(NOTES.replace("docid: stats", "docid: other"))["Again."]
    doubled = [chunk.uuid for chunk in chunks("# A\n\nSame.\n\n# B\n\nSame.\n")]
    assert len(set(doubled)) == 2


def test_the_questions_of_a_header_count_for_the_texts_of_its_document():
    text = "---\ndocid: d\nsummary: All.\n~questions: [Why Git?]\n---\n\nText.\n\n# A\n\n---\nquestions: Why A?\n---\n\nMore.\n"
    found = {chunk.content: (chunk.payload.get("questions"), chunk.annotations) for chunk in chunks(text)}
    assert found["Text."] == (["Why Git?"], "A\nWhy Git?")
    assert found["More."] == ("Why A?", "A\nWhy A?")


def test_new_questions_change_what_is_encoded_and_not_the_id():
    changed = NOTES.replace("questions: What is a mean?", "questions: What are means?")
    one = next(c for c in chunks() if c.content.startswith("The mean is"))
    other = next(c for c in chunks(changed) if c.content.startswith("The mean is"))
    assert one.uuid == other.uuid
    assert one.hash != other.hash
