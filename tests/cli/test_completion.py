"""`lmm config completion`: scripts that the shells themselves read, put where each looks for them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import run, text, write

PLACES = {
    "bash": "data/bash-completion/completions/lmm",
    "fish": "settings/fish/completions/lmm.fish",
    "zsh": "data/zsh/site-functions/_lmm",
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home without files."""
    for name, folder in (("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "settings")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("BASH_COMPLETION_USER_DIR", raising=False)
    return tmp_path


def in_shell(shell, *words):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", PLACES)
def test_install_writes_one_file_where_the_shell_looks(shell, home):
    before = sorted(home.rglob("*"))
    done = run(f"lmm config completion {shell} --install")
    assert done.returncode == 0 and f"written: {home / PLACES[shell]}\n" in done.stderr.decode()
    assert [path for path in sorted(home.rglob("*")) if path.is_file() and path not in before] == [home / PLACES[shell]]
    assert text(home / PLACES[shell]) == run(f"lmm config completion {shell}").stdout.decode()


def test_the_shell_is_the_users(monkeypatch, home):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert run("lmm config completion --install").returncode == 0
    assert (home / PLACES["fish"]).is_file()
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = run("lmm config completion --install")
    assert done.returncode == 2 and "Name a shell" in done.stderr.decode()


def test_a_newer_script_replaces_ours_and_no_other_file(home):
    place = write(home / PLACES["bash"], "# an older one: _LMM_COMPLETE\n")
    assert run("lmm config completion bash --install").returncode == 0
    assert "complete -o nosort -F _lmm_completion lmm" in text(place)
    write(place, "# mine\n")
    done = run("lmm config completion bash --install")
    assert done.returncode == 1 and "was not made by lmm" in done.stderr.decode()
    assert text(place) == "# mine\n"


def test_a_folder_that_cannot_be_made(home):
    write(home / "data/bash-completion", "a file")
    done = run("lmm config completion bash --install")
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr


# In the shells themselves


def test_bash_completes(home):
    run("lmm config completion bash --install")
    ask = f". {home / PLACES['bash']}; COMP_WORDS=(lmm conf); COMP_CWORD=1; _lmm_completion lmm; echo ${{COMPREPLY[@]}}"
    assert in_shell("bash", "--norc", "-c", ask) == "config\n"


def test_bash_finds_it_by_itself_where_bash_completion_is_installed(home):
    library = Path("/usr/share/bash-completion/bash_completion")
    if not library.is_file():
        pytest.skip("the package bash-completion is not installed")
    run("lmm config completion bash --install")
    load = "{ _comp_load lmm || _completion_loader lmm || [ $? = 124 ]; } 2>/dev/null"
    assert "_lmm_completion lmm" in in_shell("bash", "--norc", "-c", f". {library}; {load}; complete -p lmm")


def test_zsh_finds_it_after_the_lines_that_are_printed(home):
    shown = run("lmm config completion zsh --install").stderr.decode().splitlines()
    lines = [line.strip().replace("compinit && compinit", "compinit && compinit -u") for line in shown[-2:]]
    assert in_shell("zsh", "-f", "-c", "\n".join([*lines, "echo ${_comps[lmm]}"])) == "_lmm\n"


def test_fish_completes(home):
    run("lmm config completion fish --install")
    assert in_shell("fish", "-c", "complete -C 'lmm cards --format '").split() == ["anki", "csv", "md"]
    assert in_shell("fish", "-c", "complete -C 'lmm conf'").startswith("config\t")
