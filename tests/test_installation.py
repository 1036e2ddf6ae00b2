"""What messages say about installing: as this installation was made, and so that it works."""

import json
import sys

import pytest

from lmm_core import __version__
from lmm_core.installation import install_command, requirement
from tests.commands import write

PINNED = f"lmm-markdown[serve]=={__version__}"


@pytest.fixture
def installed(monkeypatch):
    """A function that makes this an installation with the record that pip writes (None: from an index)."""

    class Distribution:
        def read_text(self, name):
            return {"direct_url.json": self.record}[name]

    def install(record):
        Distribution.record = record and json.dumps(record)
        monkeypatch.setattr("importlib.metadata.distribution", lambda name: {"lmm-markdown": Distribution()}[name])

    monkeypatch.setattr(sys, "platform", "linux")
    return install


@pytest.fixture
def checkout(tmp_path):
    return write(tmp_path / "a checkout" / "pyproject.toml", "[project]\n").parent


def said(extra="serve"):
    """The command and the requirement for an extra."""
    return install_command(extra), requirement(extra)


def test_from_an_index(installed, monkeypatch):
    installed(None)
    assert install_command() == "pip install lmm-markdown"
    assert said() == ("pip install 'lmm-markdown[serve]'", PINNED)
    monkeypatch.setattr(sys, "platform", "win32")  # whose shells know no single quotes
    assert install_command("serve") == 'pip install "lmm-markdown[serve]"'


def test_from_a_checkout_as_long_as_it_is_there(installed, checkout):
    record = {"url": checkout.as_uri(), "dir_info": {}}
    installed(record)
    assert said() == (f"pip install '{checkout}[serve]'", PINNED)
    installed(record | {"dir_info": {"editable": True}})
    assert install_command("serve") == f"pip install -e '{checkout}[serve]'"
    (checkout / "pyproject.toml").unlink()
    assert install_command("serve") == "pip install 'lmm-markdown[serve]'"


def test_from_a_repository(installed):
    installed({"url": "https://host.example/o/r", "vcs_info": {"vcs": "git", "commit_id": "0123456"}})
    line = "lmm-markdown[serve] @ git+https://host.example/o/r@0123456"
    assert said() == (f"pip install '{line}'", line)


def test_in_an_environment_of_pipx(installed, checkout, monkeypatch, tmp_path):
    write(tmp_path / "venv" / "pipx_metadata.json", "{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    installed({"url": checkout.as_uri(), "dir_info": {}})
    assert install_command("serve") == f"pipx runpip lmm-markdown install '{checkout}[serve]'"
