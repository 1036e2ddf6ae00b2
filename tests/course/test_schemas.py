"""The schema by which editors complete and check `config.toml`."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lmm_core.course.create import create_course
from lmm_core.course.schemas import config_schema
from lmm_core.settings.tables import SECTIONS, section_keys, table_class
from tests.commands import run, text, write

DOCS = Path(__file__).parents[2] / "docs"


def problems(schema, value):
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def of_config(toml):
    return problems(config_schema(), tomllib.loads(toml))


def test_the_schema_is_valid():
    Draft202012Validator.check_schema(config_schema())


def test_the_schema_is_printed():
    assert json.loads(run("lmm config schema").stdout) == config_schema()


# config.toml


def test_the_configuration_of_the_docs():
    assert of_config('storage = ":memory:"') and of_config("[RAG]\ntextid = true")
    assert of_config(re.search(r"```toml\n(.*?)```", text(DOCS / "configuration.md"), re.S)[1]) == []


def test_every_key_is_in_the_schema_with_what_it_is_for():
    schema = config_schema()
    assert schema["properties"].keys() == SECTIONS.keys()
    for name in SECTIONS:
        for key, info in section_keys(name).items():
            where = schema["$defs"][table_class(name).__name__]
            assert where["properties"][key]["description"] == info.metadata["description"]


@pytest.mark.parametrize(
    "toml",
    [
        'speling = "div"', "[minr]", '[minor]\nmodle = "x"', '[minor]\ntimeout = "a minute"',
        "[split]\nsize = 0", '[embeddings]\nencoding = "hybird"', '[sources.own]\nkey_variable = "OWN_KEY"',
        '[sources.own]\nbase_url = "http://localhost"\nmodel = "x"', "[retrieve]\nsynonyms = { SD = 1 }",
    ],
)  # fmt: skip
def test_what_lmm_refuses_the_schema_refuses(toml):
    assert of_config(toml)
    write("config.toml", toml)
    assert run("lmm config show").returncode == 2


@pytest.mark.parametrize(
    "toml",
    [
        "", 'spelling = "native"', '[minor]\nmodel = "openai/gpt-4o"\ntimeout = 5', "[minor.extra]\ntop_p = 0.9",
        '[sources.groq]\nbase_url = "https://api.groq.com/openai/v1"', '[sources.ollama]\nchat_model = "llama3"',
        "[sources.openai]\nchat_model = 'm'", '[files]\nexclude = ["drafts/"]',
        '[retrieve]\nsynonyms = { SD = "standard deviation", MLM = ["mixed model", "HLM"] }',
    ],
)  # fmt: skip
def test_what_lmm_reads_the_schema_allows(toml):
    assert of_config(toml) == []
    write("config.toml", toml)
    assert run("lmm config show").returncode == 0


@pytest.mark.long
def test_the_checker_of_even_better_toml_reads_the_schema():
    """taplo, which that extension of VS Code is made of; where it is installed."""
    if shutil.which("taplo") is None:
        pytest.skip("taplo is not installed")
    create_course(Path(), quarto=False, vscode=True)
    assert run("taplo check config.toml").returncode == 0
    write("config.toml", text("config.toml") + '[minor]\nmodle = "x"\n')
    done = run("taplo check config.toml")
    assert done.returncode == 1 and b"'modle' was unexpected" in done.stderr + done.stdout
