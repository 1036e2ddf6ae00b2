"""A real model on a server of its own, and a folder whose configuration names it."""

import os
import subprocess
import sys

import pytest

from tests.commands import write
from tests.effort import PATIENCE
from tests.llama_server import NAME, NOT_INSTALLED, SOON, LlamaServer, assemble_model, is_installed

MODEL = f"llamacpp/{NAME}"
CONFIG = """\
[sources.llamacpp]
base_url = "{url}"

[major]
model = "{model}"
max_retries = 0
max_concurrency = 1         # the server answers one at a time
context_tokens = 1500       # of the server's 2048: the rest is for the reply
max_tokens = {max_tokens}
timeout = {timeout}

[minor]
model = "{model}"
max_retries = 0
max_concurrency = 1
max_tokens = {max_tokens}
timeout = {timeout}

[ask]
queries = "keywords"
budget = 500
"""
NOTES = """\
---
title: Linear models
docid: lm
---

# Linear models

A linear model describes how the mean of one variable, the response, changes with one or
more other variables, the predictors. In the simplest case there is one predictor, and the
model is a straight line. The line is described by two numbers, the intercept and the slope,
and both are estimated from the data.

## Residuals

A residual is the difference between an observed value and the value that the model
predicts. Residuals are plotted against the fitted values: if the model fits, the plot shows
no pattern. A funnel shape says that the spread grows with the mean, and a curve says that
a straight line does not describe the relation.
"""


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """The model's file, for the session."""
    if not is_installed():
        pytest.skip(NOT_INSTALLED)
    path = assemble_model(tmp_path_factory.mktemp("gemma"))
    yield path
    path.unlink()


@pytest.fixture(scope="session")
def _one_server(model_file, tmp_path_factory):
    with LlamaServer(model_file, tmp_path_factory.mktemp("llama") / "log") as server:
        yield server


@pytest.fixture
def server(_one_server):
    """The server, which computes nothing before the test, and is not left computing after it."""
    assert _one_server.is_idle_within(PATIENCE)
    yield _one_server
    assert _one_server.is_idle_within(SOON), "the server was left computing"


@pytest.fixture
def own_server(model_file, tmp_path):
    """A server of the test's own, to be killed."""
    with LlamaServer(model_file, tmp_path / "llama.log") as server:
        yield server


def configure(server, more="", max_tokens=60, timeout=60):
    """Write the working folder's configuration, with `more` at its end."""
    write("config.toml", CONFIG.format(url=server.url, model=MODEL, max_tokens=max_tokens, timeout=timeout) + more)


def start(*words):
    """Start the installed command, with its output in pipes."""
    return subprocess.Popen([sys.executable, "-m", "lmm_core", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, env=dict(os.environ))  # fmt: skip
