"""`lmm course` with the real Quarto."""

import shutil
from pathlib import Path

import pytest

from tests.commands import run, text, tree, write

pytestmark = [pytest.mark.quarto, pytest.mark.skipif(shutil.which("quarto") is None, reason="no quarto on PATH")]
SECRET = "Compute it for the seven umbrellas that were forgotten on Monday."
HOME = f"---\ntitle: Home\n---\n\n## The mean\n\nThe mean balances, see [more](part/more.qmd).\n\n::: exercise\n{SECRET}\n:::\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    write("site/index.qmd", HOME)
    write("site/part/more.qmd", "# More\n\nZebras graze on grassland.\n")
    monkeypatch.chdir("site")
    assert run("lmm init --quarto").returncode == 0
    write("_quarto.yml", text("_quarto.yml").replace("# ask: true", "ask: true"))


def test_quarto_renders_into_a_folder_that_is_published_only_if_all_is_well(site):
    done = run("lmm course")
    assert done.returncode == 0, done.stderr
    assert "2 pages, by Quarto" in done.stderr.decode()
    assert "data-lmm-ask" in text("_site/index.html") and "data-lmm-ask" in text("_site/part/more.html")
    assert SECRET not in text("_site/index.html") and Path("_site/site_libs").is_dir()
    assert not Path(".lmm/course").exists()
    before = tree("_site")

    write("_quarto.yml", text("_quarto.yml") + "\ncode-tools: true\n")  # puts the source on the page
    write("part/more.qmd", "# More\n\nZebras gallop over grassland.\n")
    done = run("lmm course")
    assert done.returncode == 1 and "code-tools" in done.stderr.decode(), done.stderr
    assert tree("_site") == before
    assert "graze" in run("lmm search 'zebras on grassland'").stdout.decode()

    write("_quarto.yml", text("_quarto.yml").replace("\ncode-tools: true\n", ""))
    run("quarto render")  # in the place of the published site, as Quarto does
    assert run("lmm course").returncode == 0
    assert "gallop" in text("_site/part/more.html")
    assert "gallop" in run("lmm search 'zebras on grassland'").stdout.decode()
    assert [path.name for path in Path(".lmm").iterdir()] == ["index"]
