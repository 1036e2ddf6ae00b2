"""A model whose queries are the words of a question."""

import pytest


@pytest.fixture
def model(model, monkeypatch):
    monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
    model.reply = "The oak is explained [1]."
    return model
