"""The compose file and the configurations of proxies in the docs, as far as they can be checked without Docker."""

import re
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import yaml

from lmm_core.cli import cli
from lmm_core.settings.config import ConfigSettings
from lmm_core.store.places import PORT, RemoteSource

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "scale.md").read_text(encoding="utf-8")
NODES = ("qdrant-1", "qdrant-2", "qdrant-3")
SERVERS = ("serve-1", "serve-2")


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DOCS / "compose.yaml").read_text(encoding="utf-8"))


def test_it_has_several_nodes_servers_and_a_proxy(compose):
    assert set(compose["services"]) == {*NODES, *SERVERS, "proxy"}


def test_the_first_node_begins_and_the_others_find_it(compose):
    commands = {name: compose["services"][name]["command"] for name in NODES}
    assert commands["qdrant-1"] == ["./qdrant", "--uri", "http://qdrant-1:6335"]
    for name in NODES[1:]:
        assert commands[name] == ["./qdrant", "--bootstrap", "http://qdrant-1:6335", "--uri", f"http://{name}:6335"]
        assert compose["services"][name]["depends_on"] == {"qdrant-1": {"condition": "service_healthy"}}


def test_every_node_needs_the_key_keeps_its_data_and_is_looked_after(compose):
    for name in NODES:
        node = compose["services"][name]
        assert node["environment"]["QDRANT__CLUSTER__ENABLED"] == "true"
        assert node["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${QDRANT_API_KEY:?")
        assert node["volumes"] == [f"{name}:/qdrant/storage"] and name in compose["volumes"]
        assert node["healthcheck"]["test"][:3] == ["CMD", "bash", "-c"] and "/readyz" in node["healthcheck"]["test"][3]
        assert node["networks"]["inside"]["aliases"] == ["qdrant"]
        assert re.fullmatch(r"qdrant/qdrant:v1\.\d+\.\d+", node["image"])


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


def test_the_key_may_travel_to_the_nodes(compose, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    assert RemoteSource(compose["services"]["serve-1"]["environment"]["LMM_STORAGE__URL"]).key() == "secret"


def test_no_secret_is_written_down(compose):
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            assert not name.endswith(("KEY", "TOKEN")) or re.fullmatch(r"\$\{[A-Z_]+(:-|:\?[^}]*)\}", value)


def test_the_proxy_sends_an_address_to_one_server_and_answers_on_at_once(compose):
    caddy = compose["configs"]["caddyfile"]["content"]
    assert "reverse_proxy serve-1:8766 serve-2:8766 {" in caddy and caddy.count("{") == caddy.count("}")
    for text in (caddy, fenced("caddy")[0]):
        assert "lb_policy ip_hash" in text and "flush_interval -1" in text
    nginx = fenced("nginx")[0]
    assert "ip_hash;" in nginx and "proxy_buffering off;" in nginx and nginx.count("{") == nginx.count("}")


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


def test_the_page_names_every_file_and_place_that_there_is():
    for target in re.findall(r"\]\(((?!http)[^)#]+)", PAGE):
        assert (DOCS / target).exists(), target
