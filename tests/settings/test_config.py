"""The configuration: what goes over what, what is said of mistakes, and what a file from
somebody else cannot do."""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from lmm_core.errors import ConfigError, ModelError
from lmm_core.markdown.visibility import configured_types
from lmm_core.models.sources import ModelOptions, ModelSource, known_sources
from lmm_core.settings.config import ConfigSettings, default_text, explain
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project, for_document, load_project, model_name
from lmm_core.settings.tables import ScanOpts, SplitOpts
from lmm_core.store.places import RemoteSource


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch, _own_folder):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    Path(".git").mkdir()


def config(text):
    Path("config.toml").write_text(text, encoding="utf-8")
    return Path("config.toml").resolve()


def problems(text="", **arguments):
    """The lines of the error that a file and arguments make."""
    if text:
        config(text)
    with pytest.raises(ConfigError) as caught:
        ConfigSettings(**arguments)
    return str(caught.value).splitlines()


def problem(text="", **arguments):
    (one,) = problems(text, **arguments)
    return one


# What goes over what


@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("major", "timeout", [60.0, 1.0, 2.0, 3.0]),
        ("knit", "keep", [(), ("env",), ("file",), ("code",)]),
    ],
)
def test_settings_from_the_lowest_to_the_highest(section, key, values, monkeypatch):
    """Defaults, the environment, the file, and arguments in code."""

    def read(**arguments):
        return getattr(getattr(ConfigSettings(**arguments), section), key)

    found = [read()]
    monkeypatch.setenv(f"LMM_{section}__{key}".upper(), json.dumps(values[1]))
    found.append(read())
    config(f"[{section}]\n{key} = {json.dumps(values[2])}\n")
    found += [read(), read(**{section: {key: values[3]}})]
    assert found == values


def test_nothing_is_replaced_in_a_value_of_the_file():
    config('[storage]\nfolder = "$HERE/~/%(x)s"\n')
    assert ConfigSettings().storage.folder == "$HERE/~/%(x)s"


@pytest.mark.parametrize(
    ("set_in", "expected"),
    [
        ([], "extractive/default"),
        (["environment", "file", "header"], "ollama/header"),
        (["environment", "file", "header", "argument"], "ollama/argument"),
    ],
)
def test_models_from_the_lowest_to_the_highest(set_in, expected, monkeypatch):
    if "environment" in set_in:
        monkeypatch.setenv("LMM_MINOR__MODEL", "ollama/environment")
    if "file" in set_in:
        config('[minor]\nmodel = "ollama/file"\n')
    header = {"model": {"minor": "ollama/header"}} if "header" in set_in else {}
    models = Models("ollama/argument" if "argument" in set_in else "")
    assert str(models.name(for_document(load_project(None), header), "minor")) == expected


def test_tables_in_code_are_merged_key_by_key():
    config("[RAG]\nquestions = false\nsummaries = false\n")
    found = ConfigSettings(RAG={"questions": True}).RAG
    assert (found.questions, found.summaries) == (True, False)
    found = ConfigSettings(RAG=type(found)(titles=True)).RAG  # what was set in an object
    assert (found.titles, found.summaries) == (True, False)
    assert ConfigSettings(split=SplitOpts(size=7)).split.size == 7


def test_a_text_in_a_variable_stays_a_text(monkeypatch):
    monkeypatch.setenv("LMM_STORAGE__FOLDER", "[1]")
    monkeypatch.setenv("LMM_SERVE__ORIGINS", '["https://a.example"]')
    assert ConfigSettings().storage.folder == "[1]"
    assert ConfigSettings().serve.origins == ("https://a.example",)


def test_names_may_be_in_any_case_and_values_are_converted(monkeypatch):
    monkeypatch.setenv("lmm_rag__Titles", "yes")
    monkeypatch.setenv("LMM_SOURCES__Lab__CHAT_MODEL", "7")
    monkeypatch.setenv("LMM_SPLIT__SIZE", "7")
    monkeypatch.setenv("LMM_SPELLING", "")  # empty is not set
    config("[sources.LAB]\nbase_url = 'http://localhost:1'\n")
    found = ConfigSettings(sources={"laB": {"embedding_model": "e"}}, major={"timeout": "2.5"})
    assert (found.RAG.titles, found.split.size, found.spelling, found.major.timeout) == (True, 7, "div", 2.5)
    lab = found.sources["lab"]
    assert (lab.base_url, lab.chat_model, lab.embedding_model) == ("http://localhost:1", "7", "e")


# Variables of roles


FILE = "[major]\nmodel = 'vllm/file'\n"
LAB = "[sources.lab]\nbase_url = 'http://localhost:1/v1'\nchat_model = 'a'"


@pytest.mark.parametrize(
    ("variables", "text", "major", "minor", "aux"),
    [
        # The minor's source is LMM_SOURCE's, the aux role's is the minor's; models depend on the source.
        ({"SOURCE": "Mistral", "MODEL_MINOR": "tiny"}, "", "mistral/mistral-small-latest", "mistral/tiny", "mistral/tiny"),
        ({"MODEL_MAJOR": "ollama/a", "MODEL_MINOR": "b", "MODEL_AUX": "c"}, "", "ollama/a", "ollama/b", "ollama/c"),
        ({"SOURCE": "mistral", "SOURCE_MAJOR": "vllm", "MODEL": "a", "MODEL_MINOR": "b"}, "", "vllm/a", "mistral/b", "mistral/b"),
        ({"MODEL_MINOR": "b"}, "", "extractive/default", "openai/b", "openai/b"),
        # A model that names its source keeps it, unless the role has a source of its own.
        ({"SOURCE": "openrouter", "MODEL": "openai/a", "MODEL_MINOR": "openai/b", "MODEL_AUX": "mistral/c"}, "",
         "openrouter/openai/a", "openai/b", "mistral/c"),
        # Names in config.toml go over the environment, and give their source to models without one.
        ({"MODEL_AUX": "c"}, FILE + "[minor]\nmodel = 'ollama/b'\n", "vllm/file", "ollama/b", "ollama/c"),
        ({"SOURCE": "mistral"}, FILE, "vllm/file", "mistral/mistral-small-latest", "mistral/mistral-small-latest"),
        ({"SOURCE": "lab", "MODEL_MINOR": "b"}, LAB, "lab/a", "lab/b", "lab/b"),
    ],
)  # fmt: skip
def test_a_role_without_a_source_asks_the_source_of_the_role_above(variables, text, major, minor, aux, monkeypatch):
    for variable, value in variables.items():
        monkeypatch.setenv(f"LMM_{variable}", value)
    config(text)
    project = load_project(None)
    for role, name in {"major": major, "minor": minor, "aux": aux}.items():
        assert str(model_name(project, role)).endswith(name)


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"SOURCE": "mistral"}, "none"),
        ({"SOURCE": "mistral", "MODEL_EMBEDDING": "text-embedding-3-large"}, "openai/text-embedding-3-large"),
        ({"SOURCE_EMBEDDING": "SentenceTransformers", "MODEL_EMBEDDING": "x"}, "fastembed/sentence-transformers/x"),
    ],
)
def test_embeddings_have_a_source_of_their_own(variables, name, monkeypatch):
    for variable, value in variables.items():
        monkeypatch.setenv(f"LMM_{variable}", value)
    assert str(model_name(load_project(None), "embedding")) == name


# Mistakes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[RAG]\nquestion = true", "did you mean `questions`?"),
        ("[rag]\nquestions = true", "did you mean `RAG`?"),
        ("spelling = 'both'", "`spelling`: should be 'native', 'div' or 'comment', not 'both'"),
        ("major = 'openai/x'", "`major`: should be a table, [major] and its keys"),
        ("[major]\ntimeout = 'soon'", "`major.timeout`: should be a valid number, not 'soon'"),
        ("[minor]\nmodel = 'opnai/x'", "'opnai/x': the source 'opnai' is unknown. The sources are openai, mistral"),
        ("[minor]\nmodel = 'gpt-5'", "'gpt-5': did you mean openai/gpt-5? The sources are openai, mistral"),
        ("[knit]\nkeep = 'topic'", "config.toml:2: `knit.keep`: should be a list, like"),
        ("[split]\nsize = 3000", "`split`: max_size (2000) should be at least size (3000)"),
        ("[sources.lab]\nchat_model = 'm'", "`sources.lab.base_url` is required"),
        ('[storage]\nfolder = "a/../../out"', "`storage.folder`: should lie inside"),
        ('[storage]\nfolder = "."', "`storage.folder`: should be a folder of its own"),
        ("[serve]\nprivacy = 'javascript:alert(1)'", "`serve.privacy`: should be an address"),
        ("[sources.none]\nbase_url = 'http://localhost'", "`sources.none`: this name has a meaning of its own"),
        ("[sources.'A b']\nbase_url = 'http://localhost'", "`sources.a b`: a source's name is made of letters"),
    ],
)
def test_a_mistake_in_the_file_is_named(text, said):
    file = config(text)
    assert re.match(rf"{re.escape(str(file))}(:\d)?: ", problem())
    assert said in problem()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rag": {}}, "argument: unknown key `rag`"),
        ({"storage": RemoteSource("1.1.1.127")}, "argument: `storage.url`: should be an address that begins with http"),
    ],
)
def test_a_mistake_in_code_is_an_error_at_once(arguments, said):
    assert said in problem(**arguments)


@pytest.mark.parametrize("variable", ["LMM_SOURCES__LAB__API_KEY", "LMM_TOKEN"])
def test_a_variable_that_may_hold_a_key_is_named_without_its_value(variable, monkeypatch):
    monkeypatch.setenv(variable, "sk-1")
    said = problem()
    assert said.startswith(variable) and "sk-1" not in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a = 1\nb = = 2\n", "config.toml:2: not TOML: "),
        (b"spelling = 'div'\nx = '\xff'\n", "config.toml:2: not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(text, said):
    Path("config.toml").write_bytes(text)
    with pytest.raises(ConfigError, match=re.escape(said)):
        ConfigSettings(Path("config.toml").resolve())


def test_a_source_of_ours_keeps_what_a_table_does_not_say(monkeypatch):
    Path("config.toml").write_bytes(b"\xef\xbb\xbf[sources.openai]\r\nchat_model = 'm'\r\n")
    own, found = known_sources()["openai"], load_project(None).sources["openai"]
    assert found == replace(own, chat_model="m")  # the server is ours, and no file has named it
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    assert load_project(None).sources["openai"].base_url == "http://localhost:9/v1"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LMM_RAG__QUESTIONS", "maybe", "LMM_RAG__QUESTIONS: `RAG.questions`: should be true or false, not 'maybe'"),
        ("LMM_SOURCE_AUX", "nobody", "LMM_SOURCE_AUX: `aux.model`: 'nobody': the source 'nobody' is unknown"),
        ("LMM_RAG__QUESTION", "1", "LMM_RAG__QUESTION: unknown variable (did you mean LMM_RAG__QUESTIONS?)"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(variable, value, said, monkeypatch):
    monkeypatch.setenv(variable, value)
    assert said in problem()


def test_all_problems_are_told_at_once(monkeypatch):
    monkeypatch.setenv("LMM_MODL", "x")
    monkeypatch.setenv("LMM_MINOR__TIMEOUT", "soon")
    found = problems("speling = 1\n[RAG]\nquestion = 1\n[major]\nmodel = 'no/x'\n", knit={"kep": []})
    assert len(found) == 6
    assert {line.split(":")[0].rpartition("/")[2] for line in found} == {
        "LMM_MODL", "LMM_MINOR__TIMEOUT", "config.toml", "argument",
    }  # fmt: skip


# A file from somebody else: where keys go is in tests/attacks/test_keys.py


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('base_url = "http://localhost"\napi_key = "sk-1234"', "unknown key `sources.lab.api_key`"),
        ('base_url = "http://localhost"\nkey_variable = "lab_sk-1234"', "never the key itself"),
        ('base_url = "https://me:sk-1234@lab.example/v1"', "without user, password"),
    ],
)
def test_a_key_in_the_file_is_not_printed(lines, said):
    found = problem(f"[sources.lab]\n{lines}\n")
    assert said in found
    assert "sk-1234" not in found


# Explaining, and a file to begin with


def test_every_setting_is_explained(monkeypatch):
    monkeypatch.setenv("LMM_MODEL_MAJOR", "ollama/x")
    monkeypatch.setenv("LMM_RAG__TITLES", "true")
    file = config("[split]\nsize = 5\n[sources.lab]\nbase_url = 'http://localhost'\n")
    found = {value.key: (value.value, value.origin) for value in explain(file)}
    assert found["major.model"] == ("ollama/x", "environment LMM_MODEL_MAJOR")
    assert found["RAG.titles"] == (True, "environment LMM_RAG__TITLES")
    assert found["split.size"] == (5, f"{file}:2")
    assert found["sources.lab.base_url"] == ("http://localhost", f"{file}:4")
    assert found["knit.keep"] == ([], "default")


def test_the_default_file_says_the_defaults():
    plain = ConfigSettings()
    config(default_text())
    assert ConfigSettings() == plain
    uncommented = re.sub(r"^# (?=\w+ = )", "", default_text(), flags=re.M)
    config(uncommented)
    assert ConfigSettings() == plain
    keys = {f"{section}.{key}" for section, table in tomllib.loads(uncommented).items() if section != "spelling" for key in table}  # fmt: skip
    assert keys | {"spelling"} == {value.key for value in explain(Path("none/config.toml"))}


# The project


def test_a_project_has_what_the_file_says():
    config(
        "spelling = 'native'\n[RAG]\ntitles = true\n[knit]\ndiv_types = ['solution']\nkeep = ['topic']\n"
        "[minor]\ntimeout = 5\nmax_retries = 0\nmax_concurrency = 1\n[storage]\nurl = 'http://localhost'\nport = 7\n"
    )
    project = load_project(Path("sub/notes.md"))
    assert (project.root, project.spelling, project.RAG) == (Path.cwd(), "native", ScanOpts(titles=True))
    assert "solution" in project.rules.div_types
    assert project.rules.keep == {"topic"}
    assert project.requests("minor") == ModelOptions(timeout=5.0, max_retries=0, max_concurrency=1)
    assert RemoteSource(project.storage.url, project.storage.port).address == "http://localhost:7"
    assert project.storage.file  # the file has a say in where a key would go


@pytest.mark.slow
@pytest.mark.parametrize(("variable", "heavy"), [("LMM_INNER", False), ("LMM_SPELLING", True)])
def test_pydantic_is_imported_only_where_there_is_something_to_read(variable, heavy):
    code = "import sys; from lmm_core.settings.project import load_project; load_project(None); print('pydantic' in sys.modules)"
    environment = {**os.environ} | {variable: "div"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == str(heavy)
    assert sorted(os.listdir()) == [".git"]


# The header

PROJECT = Project(Path())


@pytest.mark.parametrize(
    "model",
    [
        {"major": "openai/x", "minor": "default", "system": "You teach.", "RAG": ["questions"]},
        [{"major": "openai/x"}, {"minor": "default"}, {"system": "You teach."}, {"RAG": "questions"}],
    ],
    ids=["mapping", "list"],
)
def test_a_header_names_models_annotations_and_a_system_message(model):
    project = Project(
        Path(), RAG=ScanOpts(titles=True, summary_threshold=7), models={**PROJECT.models, "minor": "ollama/y"}
    )
    found = for_document(project, {"title": "T", "model": model})
    assert found.models == {"major": "openai/x", "minor": "ollama/y", "aux": "default", "embedding": "default"}
    assert found.system == "You teach."
    assert ScanOpts(questions=True, summaries=False, titles=False, summary_threshold=7) == found.RAG


def test_a_header_sets_the_options_of_annotations():
    project = Project(Path(), RAG=ScanOpts(summaries=False, questions_threshold=7))
    options = {"titles": True, "summary": True, "questions": False, "summary_threshold": 30}
    found = for_document(project, {"model": {"RAG": options}}).RAG
    wanted = {"titles": True, "summaries": True, "questions": False, "summary_threshold": 30}
    assert found == ScanOpts(questions_threshold=7, **wanted)
    for nothing in ({"RAG": {}}, None, [], {"major": None, "RAG": "default", "system": "default"}):
        assert for_document(project, {"model": nothing}) == project
    assert not for_document(project, {"model": {"RAG": []}}).RAG.questions


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/x", "`model`: should be a mapping, or a list of mappings, of embedding, major, minor"),
        ({"majr": "openai/x"}, "unknown key `model.majr` (known: embedding, major"),
        ({"RAG": {"summary_threshold": -1}}, "`summary_threshold: -1`: should be"),
    ],
)
def test_a_mistake_in_the_header_is_named(model, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        for_document(PROJECT, {"model": model})


# Which model it is


def named(role, models=None, **sources):
    return str(model_name(Project(Path(), models={**PROJECT.models, **(models or {})}, sources=sources), role))


@pytest.mark.parametrize(
    ("role", "models", "name"),
    [
        ("minor", {"major": "openai/gpt-5"}, "openai/gpt-5.4-mini"),
        ("aux", {"minor": "mistral"}, "mistral/mistral-small-latest"),
        ("embedding", {"embedding": "None"}, "none"),
        ("embedding", {"embedding": "SentenceTransformers/x"}, "fastembed/sentence-transformers/x"),
    ],
)
def test_a_model_that_is_not_named_follows_from_what_is(role, models, name):
    assert named(role, models) == name


def test_without_a_key_the_stand_in_works_and_with_one_openai(monkeypatch):
    assert [named(role) for role in ("major", "minor", "aux")] == ["extractive/default"] * 3
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert [named(role) for role in ("major", "minor", "aux")] == ["openai/gpt-5.4-mini"] * 3
    assert named("embedding") == "none"  # a key is no consent to send all notes


def test_a_source_has_a_model_of_its_own_or_wants_a_name():
    assert named("major", {"major": "lab"}, lab=ModelSource("lab", "http://localhost", chat_model="tiny")) == "lab/tiny"
    with pytest.raises(ModelError, match="name a model, ollama/MODEL"):
        named("major", {"major": "ollama"})


# The parameters of replies


def test_parameters_are_those_of_the_role(monkeypatch):
    monkeypatch.setenv("LMM_AUX__EXTRA", '{"top_k": 1}')
    config(
        "[major]\nmax_tokens = 700\ntemperature = 0.0\nextra = { top_p = 0.9, stop = ['##'] }\n[minor]\ntemperature = 1\n"
    )
    major, minor, aux = (load_project(None).requests(role) for role in ("major", "minor", "aux"))
    assert (major.max_tokens, major.parameters) == (700, {"temperature": 0.0, "top_p": 0.9, "stop": ["##"]})
    assert (minor.max_tokens, minor.parameters) == (0, {"temperature": 1.0})
    assert aux.parameters == {"top_k": 1}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("temperature = 3", "`major.temperature`: should be less than or equal to 2, not 3"),
        ("extra = { max_tokens = 1 }", "`major`: extra may hold cache_prompt, "),
        ("extra = { api_key = 'sk-1' }", "; not api_key"),
        ("extra = { provider = { data_collection = 'allow' } }", "; not provider"),
    ],
)
def test_no_parameter_leads_texts_elsewhere_or_makes_them_dearer(line, said):
    found = problem(f"[major]\n{line}\n")
    assert said in found
    assert "sk-1" not in found


def test_roles_with_one_model_share_its_connections_but_not_its_parameters():
    table = "model = 'ollama/m'\ntemperature = 1\n"
    config(f"[major]\nmodel = 'ollama/m'\nmax_tokens = 7\n[minor]\n{table}[aux]\n{table}")
    models, project = Models(), load_project(None)
    major, minor, aux = (models.asker(project, role) for role in ("major", "minor", "aux"))
    assert major.model is minor.model
    assert minor is aux
    assert (major.options.max_tokens, minor.options.max_tokens, minor.options.temperature) == (7, 0, 1)


# Types that are left out


def test_the_configuration_takes_a_type_out_and_a_document_does_not():
    assert configured_types(["-exercise", "solution"]) == {"topic", "rag-only", "solution"}
    assert configured_types(["-rag-only", "-topic"]) == {"exercise", "rag-only"}
    for said in ("-exercise", ["-exercise"]):
        rules = for_document(PROJECT, {"lmm": {"div-types": said}}).rules
        assert "exercise" in rules.div_types and "-exercise" not in rules.div_types
    rules = for_document(PROJECT, {"lmm": {"div-types": "solution", "keep": "topic"}}).rules
    assert "solution" in rules.div_types
    assert rules.keep == frozenset()  # a document keeps nothing in that others leave out
