"""What the tests with a real model share: notes, a configuration that names it, and what it is let say."""

import json
import os
import subprocess
import sys

from lmm_core.settings import tables
from tests.commands import write
from tests.llama_server import NAME

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
timeout = 60

[minor]
model = "{model}"
max_retries = 0
max_concurrency = 1
max_tokens = {max_tokens}
timeout = 60

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
WITH_GRAMMAR = """
import runpy
from lmm_core.settings import tables
tables.EXTRA_PARAMETERS |= {"grammar", "ignore_eos"}
runpy.run_module("lmm_core", run_name="__main__")
"""
QUESTION = NOTES.replace("## Residuals\n", "## Residuals\n\n---\n?: What is a residual?\n---\n")


def configure(server, more="", max_tokens=60):
    """Write the working folder's configuration, with `more` at its end."""
    write("config.toml", CONFIG.format(url=server.url, model=MODEL, max_tokens=max_tokens) + more)


def start(*words):
    """Start the command, which takes a grammar, with its output in pipes."""
    return subprocess.Popen([sys.executable, "-c", WITH_GRAMMAR, *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=dict(os.environ))  # fmt: skip


def let_say(monkeypatch, text):
    """Let the model say nothing but this text, by a grammar of the server."""
    _set_grammar(monkeypatch, {"grammar": f"root ::= {json.dumps(text)}"})


def let_go_on(monkeypatch):
    """Let the model say letters without end, which it does not repeat."""
    grammar = 'root ::= (w " ")+\nw ::= [a-z] [a-z] [a-z] [a-z]'
    _set_grammar(monkeypatch, {"grammar": grammar, "ignore_eos": True})


def _set_grammar(monkeypatch, parameters):
    """Send parameters that no setting may name, since they would put words into a model's mouth."""
    monkeypatch.setattr(tables, "EXTRA_PARAMETERS", tables.EXTRA_PARAMETERS | {"grammar", "ignore_eos"})
    monkeypatch.setenv("LMM_MAJOR__EXTRA", json.dumps(parameters))
