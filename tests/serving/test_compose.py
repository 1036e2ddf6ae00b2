"""The compose file and the configurations of proxies in the docs, as far as they can be checked without Docker."""

import re
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import yaml

from lmm_core.cli import cli
from lmm_core.settings.config import ConfigSettings
from lmm_core.store.places import PORT

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "scale.md").read_text(encoding="utf-8")
NODES = ("qdrant-1", "qdrant-2", "qdrant-3")
SERVERS = ("serve-1", "serve-2")


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DOCS / "compose.yaml").read_text(encoding="utf-8"))


def test_only_the_proxy_is_open_to_others(compose):
    for name, service in compose["services"].items():
        ports = service.get("ports", [])
        assert name == "proxy" or all(port.startswith("127.0.0.1:") for port in ports)
        assert not any("6335" in port for port in ports)
    assert sorted(compose["services"]["proxy"]["ports"]) == ["443:443", "80:80"]


def test_the_servers_find_the_index_and_are_given_the_key(compose):
    for name in SERVERS:
        server = compose["services"][name]
        assert server["environment"]["LMM_STORAGE__URL"] == f"http://qdrant:{PORT}"
        assert set(server["depends_on"]) == set(NODES)
        words = server["command"]
        assert words[0] == "lmm" and cli.get_command(None, words[1]).make_context("serve", words[2:]).params == {
            "port": 8766, "host": "0.0.0.0", "model": "", "workers": 2
        }  # fmt: skip
        assert "lmm-markdown[serve]" in server["build"]["dockerfile_inline"]


def test_no_secret_is_written_down(compose):
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            assert not name.endswith(("KEY", "TOKEN")) or re.fullmatch(r"\$\{[A-Z_]+(:-|:\?[^}]*)\}", value)


def fenced(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_settings_of_the_page_are_settings(compose):
    blocks = [tomllib.loads(text) for text in fenced("toml")]
    assert len(blocks) == 4
    for block in blocks:
        ConfigSettings(**block)
    cluster = next(block for block in blocks if [*block] == ["serve"] and [*block["serve"]] == ["proxies"])
    [inside] = compose["networks"]["inside"]["ipam"]["config"]
    assert cluster["serve"]["proxies"] == [inside["subnet"]]
    assert ip_address("172.30.0.9") in ip_network(inside["subnet"])
