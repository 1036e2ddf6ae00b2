"""Code as the documents of LM markdown and of LM markdown for education write it, its imports alone adapted."""

from pathlib import Path
from typing import Any

import pytest

from lmm_core import (
    AnnotationModel,
    ConfigError,
    ConfigSettings,
    EncodingModel,
    LocalStorage,
    RemoteSource,
    blocks_to_chunks,
    client_from_config,
    load_markdown,
    load_tree,
    parse_markdown_text,
    save_markdown,
    serialize_blocks,
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
