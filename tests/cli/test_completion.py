"""`lmm config completion`: scripts that the shells themselves read."""

import shutil
import subprocess

import pytest

from tests.commands import run


def in_shell(shell, *words):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def script():
    return lambda shell: run(f"lmm config completion {shell}").stdout.decode()


def test_bash_completes(script):
    ask = "COMP_WORDS=(lmm conf); COMP_CWORD=1; _lmm_completion lmm; echo ${COMPREPLY[@]}"
    assert in_shell("bash", "--norc", "-c", f"{script('bash')}\n{ask}") == "config\n"


def test_zsh_knows_the_command(script):
    begin = "autoload -Uz compinit && compinit -u"
    assert "_lmm" in in_shell("zsh", "-f", "-c", f"{begin}\n{script('zsh')}\necho ${{_comps[lmm]}}")


def test_fish_completes(script):
    ask = "complete -C 'lmm cards --format '"
    assert in_shell("fish", "-c", f"{script('fish')}\n{ask}").split() == ["anki", "csv", "md"]


def test_another_shell_is_named():
    assert run("lmm config completion tcsh").returncode == 2
