"""The hosts that may have a key: how hosts are compared, and the file of allowed pairs."""

from pathlib import Path

import pytest

from lmm_core.errors import TrustError
from lmm_core.markdown.files import read_markdown
from lmm_core.models.addresses import address_of, read_host
from lmm_core.models.trust import (
    Pair,
    key_refusal,
    read_pair,
    read_trust_variable,
    set_pair,
    trust_file,
    trusted_pairs,
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


def test_a_pair_goes_into_the_file_and_out_of_it():
    pairs = [read_pair("b.example", "B"), read_pair("a.example:8443", "A"), read_pair("b.example", "A")]
    assert [set_pair(pair, True, None) for pair in [*pairs, pairs[0]]] == [True, True, True, False]
    assert trusted_pairs(None) == dict.fromkeys(pairs, str(trust_file()))
    assert trust_file().read_text().splitlines()[2:] == ['"a.example:8443" = ["A"]', '"b.example" = ["A", "B"]']
    assert [set_pair(pair, False, None) for pair in [pairs[0], pairs[0]]] == [True, False]
    assert set(trusted_pairs(None)) == set(pairs[1:])


def test_without_a_file_nothing_is_allowed_and_nothing_made():
    assert trusted_pairs(None) == {}
    assert not set_pair(Pair("a.example", "A"), False, None)
    assert not trust_file().parent.exists()


def test_two_at_the_same_time_lose_nothing(monkeypatch):
    """A run that finds the file changed since it was read writes nothing, and says so."""

    def read_and_be_overtaken(path):
        file = read_markdown(path)
        path.write_text('"b.example" = ["B"]\n')
        return file

    set_pair(Pair("a.example", "A"), True, None)
    with monkeypatch.context() as overtaken:
        overtaken.setattr("lmm_core.markdown.files.read_markdown", read_and_be_overtaken)
        with pytest.raises(TrustError, match="run this again"):
            set_pair(Pair("c.example", "C"), True, None)
    assert list(trusted_pairs(None)) == [Pair("b.example", "B")]


def test_the_variable_of_the_environment(monkeypatch):
    assert read_trust_variable() == []
    monkeypatch.setenv("LMM_TRUST", "a.example A, b.example:81 B,")
    assert read_trust_variable() == [Pair("a.example", "A"), Pair("b.example:81", "B")]


def test_what_the_person_says_needs_no_trust():
    assert key_refusal("https://a.example", "A", file="") == ""
    assert key_refusal("http://anything at all", "A", file="") == ""


def test_what_a_file_says_needs_it():
    file = str(Path("config.toml").absolute())
    assert key_refusal("https://a.example/v1", "A", file, home={"a.example"}) == ""
    assert key_refusal("http://a.example/v1", "A", file, home={"a.example"}).endswith("use https://")
    assert key_refusal("https://a.example/v1", "A", file).endswith("lmm config trust a.example A")
    set_pair(Pair("a.example", "A"), True, None)
    assert key_refusal("https://a.example/v1", "A", file) == ""
