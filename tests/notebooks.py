"""Notebooks as Jupyter lays them out."""

import json


def cell(source, kind="markdown", **metadata):
    lines = source.splitlines(keepends=True)
    return {"cell_type": kind, "metadata": metadata, "source": lines} | (
        {"execution_count": 1, "outputs": [{"name": "stdout", "output_type": "stream", "text": ["put out\n"]}]}
        if kind == "code"
        else {}
    )


def notebook(*cells):
    """A notebook as Jupyter lays it out."""
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
