"""Code as the documents of LM markdown and of LM markdown for education write it, its imports alone adapted."""

from pathlib import Path
from typing import Any

import pytest

from lmm_core import (
    AnnotationModel,
    ConfigError,
    ConfigSettings,
    EncodingModel,
    HeaderNode,
    HeadingNode,
    LocalStorage,
    RemoteSource,
    TextNode,
    blocks_to_chunks,
    blocks_to_tree,
    client_from_config,
    fold_post,
    inherit_metadata,
    load_markdown,
    load_tree,
    map_tree,
    parse_markdown_text,
    save_markdown,
    save_tree,
    serialize_blocks,
    traverse,
    tree_to_blocks,
)
from lmm_core.logging import ListLogger
from lmm_core.workflows.encode import blocklist_encode

# LM markdown: files, blocks and trees


def test_a_file_is_read_changed_as_blocks_and_saved(tmp_path: Path) -> None:
    file, logger = str(tmp_path / "notes.md"), ListLogger()
    assert save_markdown(file, "# Means\n\nText.\n", logger)
    blocks = parse_markdown_text(load_markdown(file, logger) or "")
    assert serialize_blocks(blocks) == "# Means\n\nText.\n"
    tree = load_tree(file, logger)
    assert tree is not None and [child.title for child in tree.sections] == ["Means"]


NOTES = """\
preface

---
topic: means  # of what?
---

# Means

Add, then divide.

## Why?

---
by: hand
---

Because.
"""


def test_a_document_without_header_is_a_tree_with_a_titled_header_node() -> None:
    tree = blocks_to_tree(parse_markdown_text("Text first.\n"))
    assert isinstance(tree, HeaderNode) and tree.title
    assert serialize_blocks(tree_to_blocks(tree)) == "Text first.\n"
    assert blocks_to_tree([]) is None


def test_nodes_are_read_and_changed_and_the_tree_becomes_blocks_and_text_again(tmp_path: Path) -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    assert isinstance(tree, HeadingNode)
    why = tree.sections[0].sections[0]
    assert (why.title, why.level, why.parent is tree.sections[0], why.fetch("topic")) == ("Why?", 2, True, "means")
    assert why.texts[0].get("by") == "hand"
    why.texts[0].set("by", "model")
    why.texts[0].set_content("Because it is.")
    why.add_child(TextNode.from_content("And so on."))
    assert save_tree(tree, tmp_path / "notes.md")
    changed = NOTES.replace("hand", "model").replace("Because.\n", "Because it is.\n\nAnd so on.\n")
    assert (tmp_path / "notes.md").read_text(encoding="utf-8") == changed


def test_summaries_of_summaries_are_made_bottom_up() -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    whole = fold_post(tree, lambda node, below: f"({' '.join(below)})" if below else node.content)
    assert whole == "(preface (Add, then divide. (Because.)))"


def test_higher_order_functions_extract_and_change() -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    assert [node.content for node in traverse(tree) if isinstance(node, TextNode)] == [
        "preface", "Add, then divide.", "Because.",
    ]  # fmt: skip
    made = map_tree(tree, lambda node: node.set("seen", True))
    assert made is not None and all(node.get("seen") for node in traverse(made))
    assert tree is not None and serialize_blocks(tree_to_blocks(tree)) == NOTES
    assert [node.get("topic") for node in traverse(inherit_metadata(tree))] == [None, None, *["means"] * 4]


def test_the_scan_functions_are_in_the_scan_module() -> None:
    from lmm_core.scan import clear_messages, scan, scan_messages, scan_rag

    blocks = parse_markdown_text("# Means\n\n---\n?: Why?\n---\n\nAdd, then divide.\n")
    assert serialize_blocks(scan(blocks, "notes")).startswith("---\n~title: Means\n")
    assert serialize_blocks(clear_messages(blocks)) == "# Means\n\nAdd, then divide.\n"
    assert callable(scan_messages) and callable(scan_rag)


# LM markdown for education: settings


CONFIG = """# content of config.toml
[RAG]
questions = false
summaries = false

[embeddings]
dense_model = "OpenAI/text-embedding-3-small"
"""


def test_settings_are_read_from_the_file_and_overridden_in_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(CONFIG, encoding="utf-8")
    config = ConfigSettings(RAG={"questions": True}, embeddings={"dense_model": "OpenAI/text-embedding-3-large"})
    assert (config.RAG.questions, config.RAG.summaries) == (True, False)
    assert config.embeddings.dense_model == "OpenAI/text-embedding-3-large"
    assert ConfigSettings(RAG={"questions_threshold": "5"}).RAG.questions_threshold == 5


@pytest.mark.parametrize(
    "storage", [":memory:", LocalStorage(folder="./storage"), RemoteSource(url="http://localhost", port=21465)]
)
def test_the_storage_is_a_value(storage: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    client = client_from_config(ConfigSettings(storage=storage))
    assert client is not None
    client.close()


def test_an_annotation_model_is_two_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text('[embeddings]\nannotations = ["questions"]\nown_annotations = ["topic"]\n')
    text = "---\nquestions: Why?\ntopic: all\n---\n\n# A\n\nOne.\n\n---\ntopic: review\nquestions: How?\n---\n\nTwo.\n"
    text = "---\ntitle: T\n---\n\n" + text
    blocks = parse_markdown_text(text)
    config = ConfigSettings(split={"short": "0"})
    assert [chunk.annotations for chunk in blocklist_encode(blocks, config).chunks] == ["Why?", "How?\nreview"]
    model = AnnotationModel(inherited_properties=["questions"], own_properties=["topic"])
    made = blocks_to_chunks(blocks, encoding_model=EncodingModel.SPARSE_CONTENT, annotation_model=model)
    assert [chunk.annotations for chunk in made] == ["Why?", "How?\nreview"]


def test_an_invalid_setting_fails_as_soon_as_it_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(CONFIG.replace("false", "'never'", 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config.toml: `RAG.questions`: should be true or false, not 'never'"):
        ConfigSettings()


# LM markdown for education: chunks, the store, queries


# LM markdown for education: retrievers and ingestion
