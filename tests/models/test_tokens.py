"""Counting tokens without waiting for the network."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.models import tokens
from lmm_core.models.tokens import count_tokens, estimate_tokens
from tests.strategies import LONG, PROSE, any_text, markdown

ROOT = Path(__file__).parents[2]
often = settings(max_examples=150, deadline=None)
# The name that tiktoken gives the file of the encoding in its cache.
FILE = hashlib.sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()
COUNT = """
import socket, sys
def refuse(*arguments, **more):
    raise AssertionError("the network was touched")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from lmm_core.models import tokens
from lmm_core.models.tokens import count_tokens, estimate_tokens
assert count_tokens("A mean is a sum by a number.") == estimate_tokens("A mean is a sum by a number.") == 9
print("tiktoken" in sys.modules)
"""


def counted(**environment):
    """Return the output of a process without network, in which tiktoken has no encoding."""
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Without the encoding


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
@pytest.mark.parametrize("folder", ["", "missing", "empty", "broken", "folder", "x" * 300])
def test_the_network_is_never_touched(variable, folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / FILE).write_bytes(b"IQ== 0\n" * 100)
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    assert counted(**{variable: str(tmp_path / folder) if folder else ""}) == "False"


def test_without_any_variable_the_folder_for_temporary_files_is_looked_at(tmp_path):
    assert counted(TMPDIR=str(tmp_path)) == "False"


# Estimates


@often
@given(st.text(st.characters(max_codepoint=127)))
def test_a_token_for_each_sign_and_for_each_six_letters_of_a_word(text):
    assert estimate_tokens(text) == len(re.findall(r"\w{1,6}|[^\w\s]", text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("word", 1),
        ("heteroscedasticity", 3),
        ("two words", 2),
        ("a, b.", 4),
        ("$\\bar{x}$", 7),
        ("平均", 1),
        ("平均値とは", 3),
        ("🙂", 1),
        ("Größe", 2),
    ],
)
def test_an_estimate(text, tokens):
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("text", [PROSE, LONG, LONG * 20])
def test_english_prose_has_about_four_tokens_for_three_words(text):
    words = len(text.split())
    assert 1.05 * words < estimate_tokens(text) < 1.6 * words


def test_chinese_counts_by_its_signs():
    text = "平均数是总和除以个数" * 10
    assert len(text) / 3 < estimate_tokens(text) < len(text) * 1.5


def test_long_texts_are_counted_quickly():
    assert estimate_tokens("word " * 200_000) == 200_000
    assert estimate_tokens("x" * 600_000) == 100_000


@often
@given(st.text() | markdown(), st.text() | markdown())
def test_an_estimate_grows_with_the_text(one, other):
    together = estimate_tokens(one + other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= together
    assert together <= estimate_tokens(one) + estimate_tokens(other)


@often
@given(st.text(st.characters(codec=None)))
def test_every_string_has_a_number_of_tokens(text):
    assert count_tokens(text) >= 0
    assert (estimate_tokens(text) == 0) == (not text.strip())


@often
@given(any_text)
def test_no_more_tokens_than_bytes(text):
    assert estimate_tokens(text) <= len(text.encode())


# Remembered counts


def test_equal_texts_are_counted_once(monkeypatch):
    counted_texts = []
    monkeypatch.setattr(tokens, "estimate_tokens", lambda text: counted_texts.append(text) or len(text))
    monkeypatch.setattr(tokens, "_encoding", lambda: None)
    tokens._count.cache_clear()
    try:
        assert [count_tokens(text) for text in ("one", "two", "one", "o" + "ne", "two")] == [3] * 5
        assert counted_texts == ["one", "two"]
    finally:
        tokens._count.cache_clear()
