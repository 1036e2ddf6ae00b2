"""The hosts that may have a key: how hosts are compared, and the file of allowed pairs."""

from pathlib import Path

import pytest

from lmm_core.errors import TrustError
from lmm_core.models.addresses import address_of, key_refusal, read_trust_variable


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("API.Groq.com", "api.groq.com"),
        ("api.groq.com:08443", "api.groq.com:8443"),
        ("qdrant_db:6333", "qdrant_db:6333"),
        ("[2001:0DB8::0:1]:443", "[2001:db8::1]"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_has_one_spelling(text, host, monkeypatch):
    for spelling in (text, host):
        monkeypatch.setenv("LMM_TRUST", f"{spelling} A")
        assert read_trust_variable() == [f"{host} A"]
    assert address_of(f"https://{text}/v1").host == host


def test_the_variable_of_the_environment(monkeypatch):
    assert read_trust_variable() == []
    monkeypatch.setenv("LMM_TRUST", "a.example A, b.example:81 B,")
    assert read_trust_variable() == ["a.example A", "b.example:81 B"]


@pytest.mark.parametrize(
    "pair",
    ["https://lab.example X", "*.example X", "127.1 X", "lab.example sk-1234"],
)
def test_hosts_and_variables_are_checked(pair, monkeypatch):
    monkeypatch.setenv("LMM_TRUST", f"a.example A, {pair}")
    with pytest.raises(TrustError, match="LMM_TRUST, pair 2") as named:
        read_trust_variable()
    assert "sk-1234" not in str(named.value)


def test_letters_that_look_alike_are_shown_as_what_they_are(monkeypatch):
    monkeypatch.setenv("LMM_TRUST", "аpi.openai.com OPENAI_API_KEY")  # a Cyrillic а
    with pytest.raises(TrustError, match=r"xn--pi-6kc\.openai\.com"):
        read_trust_variable()


def test_what_a_file_says_needs_it(monkeypatch):
    file = str(Path("config.toml").absolute())
    assert key_refusal("http://anything at all", "A", file="") == ""  # the person says it
    assert key_refusal("https://a.example/v1", "A", file, home={"a.example"}) == ""
    assert key_refusal("http://a.example/v1", "A", file, home={"a.example"}).endswith("use https://")
    assert key_refusal("https://a.example/v1", "A", file).endswith('LMM_TRUST="a.example A"')
    monkeypatch.setenv("LMM_TRUST", "a.example A")
    assert key_refusal("https://a.example/v1", "A", file) == ""
