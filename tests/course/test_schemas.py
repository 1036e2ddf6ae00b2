"""The schemas by which editors complete and check `config.toml` and metadata blocks."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lmm_core.course.create import create_course
from lmm_core.course.schemas import config_schema, metadata_schema
from lmm_core.markdown.metadata.body import parse_metadata
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.near_misses import SWITCHES, TEXTS, find_near_misses
from lmm_core.settings.tables import SECTIONS, section_keys, table_class
from tests.commands import run, text, write

DOCS = Path(__file__).parents[2] / "docs"


def problems(schema, value):
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def of_config(toml):
    return problems(config_schema(), tomllib.loads(toml))


@pytest.mark.parametrize("schema", [config_schema(), metadata_schema()], ids=["config", "metadata"])
def test_schemas_are_valid(schema):
    Draft202012Validator.check_schema(schema)


def test_schemas_are_printed():
    assert json.loads(run("lmm config schema").stdout) == config_schema()
    assert json.loads(run("lmm config schema --metadata").stdout) == metadata_schema()


# config.toml


def test_the_configuration_of_the_docs():
    assert of_config('storage = ":memory:"') == [] and of_config('storage = "memory"')
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
        'speling = "div"', "[minr]", '[minor]\nmodle = "x"', '[minor]\ntimeout = "a minute"', '[RAG]\nquestions = "yes"',
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
        "[sources.openai]\nprice = [0.15, 0.6]", '[files]\nexclude = ["drafts/"]',
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
    create_course(Path(), quarto=False, editors=["vscode"])
    assert run("taplo check config.toml").returncode == 0
    write("config.toml", text("config.toml") + '[minor]\nmodle = "x"\n')
    done = run("taplo check config.toml")
    assert done.returncode == 1 and b"'modle' was unexpected" in done.stderr + done.stdout


# Metadata blocks

GOOD = [
    "type: exercise", "type: [exercise, topic]", "knit: false", "questions: Why?", "questions:\n  - Why?\n  - How?",
    "questions=:", "~summary: It is so.\n~~hash: {summary: [a, b]}", "unit: cm", "skips: 3", "author: Me\nmy_key: 5",
    "title: A\nmodel:\n  major: openai/gpt-4o\n  RAG: [questions]", "model:\n  - major: x\n  - minor: y",
    "?: Is #3 right: yes or no?", "lmm:\n  div-types: [solution]",
]  # fmt: skip
BAD = [
    "typ: exercise", "Type: exercise", "tpye: [exercise]", "knit: flase", "knti: true", "skp: true", "frozn: true",
    "question: Why?", "sumary: It is so.", "~sumary: It is so.", "model:\n  majr: x", "skip: maybe", "type: 3",
    "lmm:\n  div-type: x",
]  # fmt: skip


@pytest.mark.parametrize("body", GOOD)
def test_blocks_that_are_right(body):
    assert problems(metadata_schema(), parse_metadata(body).content) == []


@pytest.mark.parametrize("body", BAD)
def test_blocks_that_are_not(body):
    assert problems(metadata_schema(), parse_metadata(body).content)


def slips(word):
    """All words that one slip leads to, with `x` for another letter."""
    for at in range(len(word) + 1):
        yield word[:at] + "x" + word[at:]
        yield from (word[:at] + part for part in ("x" + word[at + 1 :], word[at + 1 :]) if at < len(word))
        yield word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
    yield from (word.title(), word.upper())


@pytest.mark.parametrize("key", [*SWITCHES, *TEXTS])
def test_keys_that_the_scan_calls_slips_are_slips_to_the_schema(key):
    value = "true" if key in SWITCHES else "words"
    for word in {*slips(key)} - {*SWITCHES, *TEXTS}:
        blocks = parse_markdown_text(f"# A\n\n---\n{word}: {value}\n---\n\nText.\n")
        is_slip = any(one.code == "near-miss" for one in find_near_misses(blocks, KnitRules()))
        assert bool(problems(metadata_schema(), parse_metadata(f"{word}: {value}").content)) is is_slip, word


def test_every_key_of_the_docs_is_in_the_schema():
    table = re.search(r"## Keys\n\n(.*?)\n\n", text(DOCS / "format.md"), re.S)[1]
    named = {key for row in table.splitlines()[2:] for key in re.findall(r"`([^`]+)`", row.split("|")[1])}
    known = metadata_schema()["properties"]
    assert {key for key in named if not key.startswith("~")} <= known.keys()
