"""The hosts that may have a key: how hosts are compared, and the file of allowed pairs."""

from pathlib import Path

import pytest

from lmm_core.models.addresses import address_of, read_host
from lmm_core.models.trust import (
    Pair,
    key_refusal,
    read_trust_variable,
)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("API.Groq.com", "api.groq.com"),
        ("api.groq.com.", "api.groq.com"),
        ("api.groq.com:443", "api.groq.com"),
        ("api.groq.com:08443", "api.groq.com:8443"),
        ("qdrant_db:6333", "qdrant_db:6333"),
        ("10.0.0.7", "10.0.0.7"),
        ("[2001:0DB8::0:1]:443", "[2001:db8::1]"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_has_one_spelling(text, host):
    assert read_host(text) == host
    assert address_of(f"https://{text}/v1").host == host
    assert read_host(host) == host


def test_the_usual_port_is_the_schemes():
    assert address_of("http://a.example:443").host == "a.example:443"
    assert address_of("http://a.example:80").host == "a.example"


def test_the_variable_of_the_environment(monkeypatch):
    assert read_trust_variable() == []
    monkeypatch.setenv("LMM_TRUST", "a.example A, b.example:81 B,")
    assert read_trust_variable() == [Pair("a.example", "A"), Pair("b.example:81", "B")]


def test_what_the_person_says_needs_no_trust():
    assert key_refusal("https://a.example", "A", file="") == ""
    assert key_refusal("http://anything at all", "A", file="") == ""


def test_what_a_file_says_needs_it(monkeypatch):
    file = str(Path("config.toml").absolute())
    assert key_refusal("https://a.example/v1", "A", file, home={"a.example"}) == ""
    assert key_refusal("http://a.example/v1", "A", file, home={"a.example"}).endswith("use https://")
    assert key_refusal("https://a.example/v1", "A", file).endswith('LMM_TRUST="a.example A"')
    monkeypatch.setenv("LMM_TRUST", "a.example A")
    assert key_refusal("https://a.example/v1", "A", file) == ""
