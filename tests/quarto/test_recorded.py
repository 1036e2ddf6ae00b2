"""`lmm-knit` on what Quarto 1.11 hands over (1.4 where that is said), and the shim with it: recorded."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.commands import run, text, write

RECORDED = Path(__file__).parent / "recorded"
SHIM = Path(__file__).parents[2] / "quarto-ext" / "_extensions" / "lmm" / "lmm.lua"
CHAPTERS = ["index", "part/chapter", "part/chapter 1.4", "cells", "exercises"]


@pytest.fixture
def project(tmp_path):
    """The project that was recorded, in a folder with a blank in its name."""
    return Path(shutil.copytree(RECORDED / "project", tmp_path / "my course"))


def recording(name):
    """The name of a chapter's recording; of that in Quarto 1.4 where the name ends so."""
    return f"{Path(name).name.replace(' ', '.')}{'' if name.endswith('1.4') else '.pre-ast'}.html"


def handed_over(name):
    return json.loads(text(RECORDED / f"{recording(name)}.json"))


def knit_run(name, project, ast):
    """The run of `lmm-knit` on a chapter, as Quarto starts it."""
    return subprocess.run(["lmm-knit", "html"], input=json.dumps(ast or handed_over(name)).encode(),
                          capture_output=True, env={**os.environ, **environment(name, project)},
                          cwd=(project / name).parent)  # fmt: skip


def environment(name, project):
    said = json.loads(text(RECORDED / f"{recording(name)}.run.json"))["env"]
    return {key: value.replace("PROJECT", str(project)) for key, value in said.items()}


def knit(name, project, ast=None):
    """What `lmm-knit` makes of a chapter, and what it says."""
    done = knit_run(name, project, ast)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout), done.stderr.decode()


def is_ours(block):
    return block["t"] == "Div" and bool({"lmm", "exercise", "rag-only"} & set(block["c"][0][1]))


def without_ours(node):
    """Some JSON without our divs; what the tests expect of everything else."""
    if isinstance(node, list):
        return [without_ours(item) for item in node if not (isinstance(item, dict) and "t" in item and is_ours(item))]
    if isinstance(node, dict):
        return {key: without_ours(value) for key, value in node.items()}
    return node


def with_words(node, label):
    """Some JSON with `[…]` in place of references to a label."""
    if isinstance(node, list):
        return [with_words(item, label) for item in node]
    if isinstance(node, dict) and node.get("t") == "Cite" and node["c"][0][0]["citationId"] == label:
        return {"t": "Str", "c": "[…]"}
    return {key: with_words(value, label) for key, value in node.items()} if isinstance(node, dict) else node


def expected(name):
    """A chapter as it came in, without our divs and without what they leave out."""
    ast = handed_over(name)
    blocks = ast["blocks"]
    if name.startswith("part/chapter"):
        start = next(i for i, b in enumerate(blocks) if b["t"] == "Header" and b["c"][1][0] == "sec-practice")
        end = next(i for i, b in enumerate(blocks) if b["t"] == "Header" and b["c"][1][0] == "after")
        del blocks[start:end]
        blocks = ast["blocks"] = with_words(blocks, "sec-practice")
    if name == "cells":
        del blocks[next(i for i, block in enumerate(blocks) if is_ours(block)) + 1]
    ast["blocks"] = without_ours(blocks)
    ast["meta"] = {key: value for key, value in ast["meta"].items() if not key.startswith(("~", "lmm-"))}
    return ast


@pytest.mark.parametrize("name", CHAPTERS)
def test_all_else_is_what_came_in(name, project):
    out, _ = knit(name, project)
    assert out == expected(name)
    for secret in ("EXERCISE-TEXT", "TOPIC-TEXT", "SOLUTION-TEXT", "lmm", "~title", "mostly"):
        assert secret not in json.dumps(out)


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_shim_does_the_same(name, project, pandoc):
    path = write(project / "ast.json", json.dumps(handed_over(name)))
    done = run(f"pandoc -f json -L '{SHIM}' '{path}' -t json", pandoc, env=environment(name, project))
    if b"Incompatible API versions" in done.stderr:
        pytest.skip("recorded with pandoc 3, which an older one does not read")
    assert done.returncode == 0, done.stderr.decode()
    before = json.loads(run(f"pandoc -f json '{path}' -t json", pandoc).stdout)
    assert json.loads(done.stdout)["meta"].keys() == knit(name, project)[0]["meta"].keys()
    if before == handed_over(name):  # another version of pandoc may write it in another way
        assert json.loads(done.stdout) == expected(name)


def refused(name, project, ast=None):
    """What `lmm-knit` says where it makes no page."""
    done = knit_run(name, project, ast)
    assert (done.returncode, done.stdout) == (1, b"")
    return done.stderr.decode()


def test_a_slip_in_what_is_included_stops_the_page(project):
    write(project / "part" / "_more.qmd", "::: lmm\n```yaml\ntyp: exercise\n```\n:::\n\nText.\n")
    write(project / "part" / "chapter.qmd", "# A\n\n{{< include _more.qmd >}}\n")
    assert "_more.qmd:3: unknown key 'typ': did you mean 'type'?" in refused("part/chapter", project)


def test_a_reader_without_divs_stops_the_page_of_a_short_exercise(project):
    write(project / "part" / "chapter.qmd", "---\ntitle: A\nfrom: gfm\n---\n\n::: exercise\nWhy?\n:::\n")
    assert "part/chapter.qmd: `from: gfm` reads no fenced divs" in refused("part/chapter", project)


def test_references_to_what_is_gone_are_told_with_file_and_line(project):
    told = knit("part/chapter", project)[1]
    assert "lmm-knit: part/chapter.qmd:104: warning: a reference to `sec-practice`" in told


def as_meta(value):
    """A value as Pandoc's metadata."""
    if isinstance(value, dict):
        return {"t": "MetaMap", "c": {key: as_meta(item) for key, item in value.items()}}
    if isinstance(value, list):
        return {"t": "MetaList", "c": list(map(as_meta, value))}
    if isinstance(value, bool):
        return {"t": "MetaBool", "c": value}
    return {"t": "MetaInlines", "c": [{"t": "Str", "c": value}]}


@pytest.mark.parametrize(
    ("place", "own"),
    [
        ("_quarto-teacher.yml", {"div-types": "other"}),
        ("part/_metadata.yml", {"ask": False}),
    ],
)
def test_options_of_the_project_hold_beside_those_of_a_header(place, own, project, monkeypatch):
    """Quarto hands over the `lmm:` of a header in place of the project's."""
    options = {"keep": ["exercise", "topic"], "div-types": ["mytask"]}
    settings = yaml.safe_load(text(project / place)) if (project / place).exists() else {}
    write(project / place, json.dumps(settings | {"lmm": options}))
    monkeypatch.setenv("QUARTO_PROFILE", "teacher")
    ast = handed_over("part/chapter")
    ast["meta"]["lmm"] = as_meta(own)
    paragraph = {"t": "Para", "c": as_meta("MYTASK-TEXT")["c"]}
    for name in ("mytask", "other"):
        ast["blocks"].insert(0, {"t": "Div", "c": [["", [name], []], [paragraph]]})
    out = json.dumps(knit("part/chapter", project, ast)[0])
    assert out.count("MYTASK-TEXT") == ("div-types" not in own)  # "other" is a class of the header's alone
    assert out.count("EXERCISE-TEXT") == 3
