"""What messages say about installing: as this installation was made, and so that it works."""

import json
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from lmm_core import __version__
from lmm_core.installation import install_command, requirement
from tests.commands import write

COMMIT = "0123456789abcdef0123456789abcdef01234567"


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
    folder = tmp_path / "a checkout"
    write(folder / "pyproject.toml", "[project]\n")
    return folder


def test_from_an_index(installed):
    installed(None)
    assert install_command() == "pip install lmm-markdown"
    assert install_command("serve") == "pip install 'lmm-markdown[serve]'"
    assert requirement("serve") == f"lmm-markdown[serve]=={__version__}"


def test_from_a_checkout(installed, checkout):
    record = {"url": checkout.as_uri(), "dir_info": {}}
    installed(record)
    assert install_command() == f"pip install '{checkout}'"
    assert install_command("mcp") == f"pip install '{checkout}[mcp]'"
    installed(record | {"dir_info": {"editable": True}})
    assert install_command("mcp") == f"pip install -e '{checkout}[mcp]'"
    assert requirement("mcp") == f"lmm-markdown[mcp]=={__version__}"


def test_from_a_wheel(installed, tmp_path):
    wheel = write(tmp_path / "lmm_markdown-1.0.0-py3-none-any.whl", b"")
    installed({"url": wheel.as_uri(), "archive_info": {}})
    assert install_command("serve") == f"pip install '{wheel}[serve]'"


def test_what_is_no_longer_there_is_not_named(installed, checkout):
    installed({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    (checkout / "pyproject.toml").unlink()
    assert install_command("serve") == "pip install 'lmm-markdown[serve]'"


def test_from_a_repository(installed):
    installed({"url": "https://host.example/o/r", "vcs_info": {"vcs": "git", "commit_id": COMMIT}})
    line = f"lmm-markdown[serve] @ git+https://host.example/o/r@{COMMIT}"
    assert (install_command("serve"), requirement("serve")) == (f"pip install '{line}'", line)


def test_from_an_archive_at_an_address(installed):
    url = "https://host.example/lmm_markdown-1.0.0-py3-none-any.whl"
    installed({"url": url, "archive_info": {}})
    assert install_command() == f"pip install 'lmm-markdown @ {url}'"
    assert requirement() == f"lmm-markdown @ {url}"


def test_imported_from_a_checkout_that_is_not_installed(monkeypatch):
    def distribution(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", distribution)
    assert (install_command("serve").startswith("pip install "), "[serve]" in install_command("serve")) == (True, True)
    assert "lmm-markdown" not in install_command("serve")


def test_in_an_environment_of_pipx(installed, checkout, monkeypatch, tmp_path):
    write(tmp_path / "venv" / "pipx_metadata.json", "{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    installed({"url": checkout.as_uri(), "dir_info": {}})
    assert install_command("serve") == f"pipx runpip lmm-markdown install '{checkout}[serve]'"


def test_in_the_shells_of_windows(installed, monkeypatch):
    installed(None)
    monkeypatch.setattr(sys, "platform", "win32")
    assert install_command("serve") == 'pip install "lmm-markdown[serve]"'
    assert install_command() == "pip install lmm-markdown"
