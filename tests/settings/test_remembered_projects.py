"""A project is remembered as its `config.toml` made it, and never taken for what another file would make."""

import pickle
from pathlib import Path

import pytest

from lmm_core.errors import ConfigError
from lmm_core.files.remembered import keep, program_mark, recall
from lmm_core.settings import config, remembered
from lmm_core.settings.config import read_settings
from lmm_core.settings.project import Project, load_project, project_from_settings
from lmm_core.settings.remembered import KIND, recall_project, says_nothing
from lmm_core.settings.toml_file import default_text
from tests.commands import write

PLAIN = '[minor]\nmodel = "own/m"\n[sources.own]\nbase_url = "http://127.0.0.1:1/v1"\n[knit]\ndiv_types = ["riddle"]\n'


READ: list[Path] = []  # the files whose settings were read


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "read_settings", lambda file: READ.append(file) or read_settings(file))
    return tmp_path


def load(text):
    """The project of a folder with this `config.toml`, and whether its settings were read."""
    write("config.toml", text)
    return loaded()


def loaded():
    READ.clear()
    return load_project(None), READ != []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# model = 1\n\n\t # ä\n",
        PLAIN,
        default_text(),
        '[files]\nexclude = ["a"]\n',
        '[embeddings]\ndense_model = "none"\n',
    ],
)
def test_the_second_time_the_settings_are_not_read(folder, text):
    made, _ = load(text)
    assert loaded() == (made, False)
    assert made == project_from_settings(read_settings(folder / "config.toml"), folder)


def test_a_changed_file_is_read_again(folder):
    load(PLAIN)
    made, was_read = load(PLAIN.replace("riddle", "puzzle"))
    assert was_read
    assert "puzzle" in made.rules.div_types
    (folder / "config.toml").unlink()
    assert loaded() == (Project(folder), False)


def test_a_mistake_is_told_each_time(folder):
    for _ in range(2):
        with pytest.raises(ConfigError, match="minorr"):
            load("[minorr]\nmodel = 'own/m'\n")


@pytest.mark.parametrize("variable", ["LMM_RAG__QUESTIONS", "OPENAI_BASE_URL", "LMM_TRUST"])
def test_with_a_say_of_the_environment_nothing_is_remembered(folder, monkeypatch, variable):
    load(PLAIN)
    values = {"LMM_RAG__QUESTIONS": "true", "OPENAI_BASE_URL": "http://127.0.0.1:2/v1", "LMM_TRUST": ""}
    monkeypatch.setenv(variable, values[variable] or "own.org KEY")
    monkeypatch.setattr(remembered, "_VARIABLES", ("OPENAI_BASE_URL", "LMM_TRUST"))
    write("config.toml", PLAIN)
    try:
        assert loaded()[1]
    except ConfigError as error:
        assert variable == "LMM_TRUST", error


@pytest.mark.parametrize(
    "text",
    [
        '[storage]\nfolder = "index"\n',
        '[prompts]\nquestions = "mine.md"\n',
        '[embeddings]\ndense_model = "fastembed/./model"\n',
    ],
)
def test_what_hangs_on_other_files_is_read_each_time(folder, text):
    write("mine.md", "Write {{count}} questions on this text:\n\n{{text}}\n")
    (folder / "model").mkdir()
    try:
        load(text)
    except ConfigError:
        write("mine.md", "")  # an own prompt that says nothing is none, until it does
        load(text)
    assert loaded()[1]


def test_of_another_place_nothing_is_known(folder, monkeypatch):
    made, _ = load(PLAIN)
    (folder / "b").mkdir()
    monkeypatch.chdir(folder / "b")
    other, was_read = load(PLAIN)
    assert (was_read, other.root, other.sources["own"].file) == (True, folder / "b", str(folder / "b" / "config.toml"))
    assert recall_project(folder / "config.toml", PLAIN) == made
    assert recall_project(folder / "config.toml", PLAIN + " ") is None


@pytest.mark.parametrize("value", [print, Path.cwd, ["a"], {"a": load_project}])
def test_nothing_but_plain_values_is_made_of_what_is_remembered(folder, value):
    file = folder / "config.toml"
    keep(KIND, file, pickle.dumps(value), program_mark(), str(file).encode(), PLAIN.encode())
    assert recall_project(file, PLAIN) is None
    assert load(PLAIN)[1]


def test_a_damaged_record_is_unknown(tmp_path):
    keep("kind", tmp_path, b"made", b"of")
    assert recall("kind", tmp_path, b"of") == b"made"
    assert recall("kind", tmp_path, b"o", b"f") is None
    (record,) = [
        path
        for path in Path(remembered.keep.__globals__["cache_folder"]()).rglob("*")
        if path.is_file() and path.parent.name == "kind"
    ]
    record.write_bytes(record.read_bytes()[:-1] + b"!")
    assert recall("kind", tmp_path, b"of") is None


@pytest.mark.parametrize("text", ["# a\x07", "[minor]\n", "a = 1", "\ufeff# a", "# a\n b\n", "#a\rb=1"])
def test_a_file_says_something_unless_it_has_comments_alone(text):
    assert not says_nothing(text)
    assert says_nothing("\n# a\r\n\t#b\n")
