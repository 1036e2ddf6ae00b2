"""The extension's filter, run as Quarto runs it: it leaves out what has to go, or no page is made."""

import json
from pathlib import Path

import pytest

from tests.commands import BIN, run, write
from tests.failing_filters import PROGRAMS, environment

ROOT = Path(__file__).parents[2]
SHIM = ROOT / "quarto-ext" / "_extensions" / "lmm" / "lmm.lua"
LOADER = Path(__file__).parent / "quartos_loader.lua"
BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::\n"
NOTES = f"# A\n\nStays.\n\n::: callout-note\n{BLOCK}\nGONE one.\n\nStays.\n:::\n\n{BLOCK}\n## Practice\n\nGONE two.\n"


def render(pandoc, tmp_path, env, notes=NOTES):
    """Render a page with the filter; None for the text where no page was made."""
    path = write(tmp_path / "page" / "notes.md", notes)
    env = {**env, "TEST_SHIM": str(SHIM), "TEST_INPUT": str(path.resolve())}
    # what Quarto puts into the metadata
    done = run(f"pandoc -L '{LOADER}' '{path}' -M quarto-version=1.9.38 -o '{tmp_path / 'out.html'}'", pandoc, env=env)
    made = tmp_path / "out.html"
    return done, made.read_text("utf-8") if made.exists() else None


def test_the_filter_stands_first(pandoc, tmp_path):
    done, page = render(pandoc, tmp_path, {})
    assert done.returncode == 0, done.stderr
    assert page.count("Stays.") == 2
    assert "GONE" not in page


@pytest.mark.parametrize("matter", [*PROGRAMS, "settings that cannot be read"])
def test_no_page_is_made(matter, pandoc, tmp_path):
    program, reason = PROGRAMS.get(matter, (None, "knit.kep"))
    env = environment(tmp_path / "bin", program, matter != "not executable")
    if matter not in PROGRAMS:
        write(tmp_path / "page" / "config.toml", "[knit]\nkep = []\n")
        env = {}
    done, page = render(pandoc, tmp_path, env)
    said = done.stderr.decode()
    assert done.returncode != 0
    assert page is None
    assert reason in said
    assert "GONE" not in said and "\x1b" not in said
    assert ("Install the package" in said) == (reason == "was not found")
    assert said.count("LM markdown: The page was not made. ") == 1


def test_an_unknown_quarto_makes_no_page(pandoc, tmp_path):
    done, page = render(pandoc, tmp_path, {"TEST_OTHER_QUARTO": "1"})
    assert (done.returncode, page) == (83, None)
    assert (
        b"LM markdown: The page was not made. This version of Quarto runs filters in a way that the extension does not know"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("---\nnote: GONE\n---\n\nText.\n", "notes.md:27: Quarto would forget the place of this metadata block"),
        ("::: excercise\nGONE\n:::\n", "notes.md:27: unknown class 'excercise': did you mean 'exercise'?"),
        (BLOCK.replace("type: exercise", "- type: exercise") + "\nGONE\n", "notes.md:29: "),
    ],
)
def test_what_shows_an_exercise_in_silence(more, said, pandoc, tmp_path):
    """Nobody has looked at a file without a project before."""
    done, page = render(pandoc, tmp_path, {}, f"{NOTES}\n{more}")
    assert (done.returncode, page) == (83, None)
    assert said in done.stderr.decode()


def test_a_source_that_cannot_be_read(pandoc, tmp_path):
    """It was removed while Quarto worked."""
    write(tmp_path / "page" / "other.md", NOTES)
    env = {"TEST_SHIM": str(SHIM), "TEST_INPUT": str(tmp_path / "page" / "gone.qmd")}
    done = run(
        f"pandoc -L '{LOADER}' '{tmp_path / 'page' / 'other.md'}' -M quarto-version=1.9.38 -t json", pandoc, env=env
    )
    assert done.returncode == 0 or b"gone.qmd" in done.stderr
    assert b"GONE" not in done.stdout


def test_a_program_in_the_documents_folder_is_not_run(pandoc, tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path / "page" / "lmm-knit", "#!/bin/sh\ntouch RAN\nexec cat\n").parent)
    Path("lmm-knit").chmod(0o755)
    _, page = render(pandoc, tmp_path, {"PATH": f".::{BIN}:/usr/bin:/bin"})
    assert "GONE" not in page
    assert not Path("RAN").exists()


@pytest.mark.parametrize("document", ["# A\n\nText.\n", f"{NOTES}\n::: {{#exr-one}}\nText.\n:::\n"])
def test_quartos_own_metadata_stays(document, pandoc, tmp_path):
    path = write(tmp_path / "notes.md", document)
    done = run(f"pandoc -L '{LOADER}' '{path}' -M quarto-version=1.9.38 -M other=1 -t json", pandoc,
               env={"TEST_SHIM": str(SHIM), "TEST_INPUT": str(path)})  # fmt: skip
    assert set(json.loads(done.stdout)["meta"]) == {"quarto-version", "other"}
