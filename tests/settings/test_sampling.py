"""The parameters of replies: limit, temperature, and what a provider has besides."""

from pathlib import Path

import pytest

from lmm_core.errors import ConfigError
from lmm_core.models.sources import Sampling
from lmm_core.settings.config import explain
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project


def sampling(role, text=""):
    Path("config.toml").write_text(text)
    return load_project(None).requests[role].sampling


def problem(text=""):
    with pytest.raises(ConfigError) as error:
        sampling("major", text)
    return str(error.value)


def test_parameters_are_those_of_the_role():
    text = "[major]\nmax_tokens = 700\ntemperature = 0.0\nextra = { top_p = 0.9, stop = ['##'] }\n[minor]\ntemperature = 1\n"
    assert sampling("major", text) == Sampling(700, 0.0, {"top_p": 0.9, "stop": ["##"]})
    assert sampling("minor", text) == Sampling(0, 1.0)
    assert sampling("aux", text) == Sampling()


def test_parameters_in_the_environment(monkeypatch):
    monkeypatch.setenv("LMM_MAJOR__MAX_TOKENS", "700")
    monkeypatch.setenv("LMM_MAJOR__TEMPERATURE", "0.5")
    monkeypatch.setenv("LMM_MAJOR__EXTRA", '{"top_k": 1, "stop": ["x"]}')
    assert sampling("major", "") == Sampling(700, 0.5, {"top_k": 1, "stop": ["x"]})


def test_parameters_are_explained():
    Path("config.toml").write_text("[aux.extra]\nseed = 1\n")
    found = {one.key: (one.value, one.origin) for one in explain(Path("config.toml"))}
    assert found["aux.extra"] == ({"seed": 1}, "config.toml:1")
    assert found["major.extra"] == ({}, "default")
    assert found["major.max_tokens"] == (0, "default")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_tokens = -1", "`major.max_tokens`: should be greater than or equal to 0"),
        ("temperature = 3", "`major.temperature`: should be less than or equal to 2, not 3"),
        ("extra = 1", "`major.extra`: should be a valid table"),
        ("extra = { max_tokens = 1 }", "`major`: extra may hold cache_prompt, "),
    ],
)
def test_a_wrong_parameter_is_named(line, said):
    assert said in problem(f"[major]\n{line}\n")


@pytest.mark.parametrize(
    "extra",
    [
        "store = true",
        "api_key = 'sk-1'",
        "provider = { data_collection = 'allow' }",
    ],
)
def test_no_parameter_leads_texts_elsewhere_or_makes_them_dearer(extra):
    found = problem(f"[minor]\nextra = {{ {extra} }}\n")
    key = extra.partition(" ")[0]
    assert "`minor`: extra may hold cache_prompt, " in found and found.endswith(f"; not {key}")
    assert "sk-1" not in found


def test_roles_with_one_model_share_its_connections_but_not_its_parameters():
    Path("config.toml").write_text(
        "[major]\nmodel = 'ollama/m'\nmax_tokens = 7\n[minor]\nmodel = 'ollama/m'\ntemperature = 1\n"
        "[aux]\nmodel = 'ollama/m'\ntemperature = 1\n"
    )
    models, project = Models(), load_project(None)
    major, minor, aux = (models.asker(project, role) for role in ("major", "minor", "aux"))
    assert major.model is minor.model
    assert minor is aux
    assert (major.sampling.max_tokens, minor.sampling) == (7, Sampling(0, 1.0))
