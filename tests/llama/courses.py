"""What the tests with a real model share: notes, a configuration that names it, and what it is let say."""

import json
import os
import subprocess
import sys

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
more other variables, the predictors.

## Residuals

A residual is the difference between an observed value and the value that the model
predicts. Residuals are plotted against the fitted values: if the model fits, the plot shows
no pattern.
"""
QUESTION = NOTES.replace("## Residuals\n", "## Residuals\n\n---\n?: What is a residual?\n---\n")


def configure(server, more="", max_tokens=60):
    """Write the working folder's configuration, with `more` at its end."""
    write("config.toml", CONFIG.format(url=server.url, model=MODEL, max_tokens=max_tokens) + more)


def start(*words):
    """Start the installed command, with its output in pipes."""
    return subprocess.Popen([sys.executable, "-m", "lmm_core", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, env=dict(os.environ))  # fmt: skip


def let_say(monkeypatch, *texts):
    """Let the model say nothing but one of these texts, by a grammar of the server."""
    grammar = "root ::= " + " | ".join(map(json.dumps, texts))
    monkeypatch.setenv("LMM_MAJOR__EXTRA", json.dumps({"grammar": grammar}))


def let_go_on(monkeypatch):
    """Let the model say letters without end, which it does not repeat."""
    grammar = 'root ::= (w " ")+\nw ::= [a-z] [a-z] [a-z] [a-z]'
    monkeypatch.setenv("LMM_MAJOR__EXTRA", json.dumps({"grammar": grammar, "ignore_eos": True}))
