"""A cloned `config.toml` and the keys of who cloned it: no key goes to a host that its owner
has not allowed on this machine. Nothing here reaches a network: the proxy of the environment
is on loopback, and keeps what it is asked to pass on."""

import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lmm_core.cli.doctor import examine
from lmm_core.errors import ConfigError, ModelError, StoreError
from lmm_core.indexing.collection import project_store
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.commands import write
from tests.indexing import lmm
from tests.model_server import ModelServer
from tests.qdrant_server import FailingServer

SECRET = "k3y-of-the-reader"
KEYS = ("LAB_TOKEN", "HF_TOKEN", "OPENAI_API_KEY", "QDRANT_API_KEY")
HELLO = Request([ChatMessage("user", "Hello")])


class Listening:
    """A server of anything, and a proxy, that keeps the heads of requests.

    to: the address that it redirects to; status: that of its answers"""

    reply = json.dumps(
        {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}], "result": {"collections": []}}
    ).encode()

    def __init__(self, status=200, to=""):
        self.status, self.to, self.seen = status, to, []

    def __enter__(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.seen.append(f"{self.requestline}\n{self.headers}")
                self.send_response(server.status)
                if server.to:
                    self.send_header("Location", server.to)
                self.send_header("Content-Length", str(len(server.reply)))
                self.end_headers()
                self.wfile.write(server.reply)

            do_GET = do_POST = do_PUT = do_CONNECT = answer

            def log_message(self, *arguments):
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def outside(monkeypatch):
    """What would have left this machine."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Listening(502) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        yield proxy


@pytest.fixture(autouse=True)
def _keys(monkeypatch, _own_folder):
    """The reader has keys in the environment."""
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)


def clone(url, variable="", name="lab", storage="", more=""):
    """A cloned project, as the working folder, whose author wants this key at this address."""
    models = "".join(f'[{role}]\nmodel = "{name}/m"\nmax_retries = 0\n' for role in ("major", "minor", "aux"))
    models += f'[embeddings]\ndense_model = "{name}/e"\n'
    storage = f'[storage]\nurl = "{storage}"\n' if storage else ""
    variable = f'key_variable = "{variable}"\n' if variable else ""
    write("config.toml", f'{models}{storage}[sources.{name}]\nbase_url = "{url}"\n{variable}{more}')


# What sends a key


async def chat(project):
    models = Models()
    try:
        return await models.asker(project, "major").ask(HELLO, str)
    finally:
        await models.close()


async def embed(project):
    embedder = Models().embedder(project)
    try:
        return await embedder.embed(["Text of the notes."])
    finally:
        await embedder.close()


async def look_up(project):
    store = await asyncio.to_thread(project_store, project)
    try:
        return await asyncio.to_thread(store.collections)
    finally:
        store.close()


def all_options(sender):
    """The error of what is sent by the working folder's project."""
    with pytest.raises((ModelError, StoreError)) as caught:
        asyncio.run(sender(load_project(None)))
    assert SECRET not in str(caught.value)
    return str(caught.value)


# Strangers


@pytest.mark.parametrize(
    ("variable", "url", "host"),
    [
        ("HF_TOKEN", "https://attacker.hf.space/v1", "attacker.hf.space"),
        ("OPENAI_API_KEY", "https://api.openai.com.evil.com/v1", "api.openai.com.evil.com"),
        ("OPENAI_API_KEY", "https://api.openai.com:8443/v1", "api.openai.com:8443"),
    ],
)
def test_no_key_goes_to_a_stranger(variable, url, host, outside):
    clone(url, variable)
    assert all_options(chat).endswith(f'LMM_TRUST="{host} {variable}"')
    assert outside.seen == []


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com@evil.com/v1",
        "https://evil.com\\\\@api.openai.com/v1",
        "https://аpi.openai.com/v1",  # a Cyrillic а
        "http://evil.com/v1",
    ],
)
def test_an_address_that_is_not_plain_or_not_encrypted_gets_no_key(url, outside):
    """Two programs may read it as two addresses: no host can be allowed for it."""
    clone(url, "OPENAI_API_KEY", "openai")
    with pytest.raises((ConfigError, ModelError)) as caught:
        asyncio.run(chat(load_project(None)))
    assert "LMM_TRUST" not in str(caught.value)
    assert outside.seen == []


def test_a_key_goes_to_the_host_of_its_own_source(outside):
    clone("https://API.OpenAI.com.:443/other", "OPENAI_API_KEY")
    all_options(chat)  # the proxy passes nothing on
    assert [head.lower().partition(".com")[0] for head in outside.seen] == ["connect api.openai"]
    assert SECRET not in outside.seen[0]


@pytest.mark.xdist_group("qdrant_client")
def test_any_key_goes_to_this_machine_and_not_to_a_proxy(outside):
    with ModelServer("Yes.") as model, FailingServer(key=SECRET) as store:
        clone(model.url, "HF_TOKEN", storage=store.url)
        assert asyncio.run(chat(load_project(None))) == "Yes."
        assert asyncio.run(look_up(load_project(None))) == []
        assert model.keys == [f"Bearer {SECRET}"]
    assert outside.seen == []


# Who says what: the file, the environment, code, a document


def test_a_host_and_a_variable_of_the_environment_are_the_persons_and_one_alone_is_not(outside, monkeypatch):
    clone("https://lab.example/v1", "LAB_TOKEN")
    monkeypatch.setenv("LMM_SOURCES__LAB__BASE_URL", "https://lab.example/v1")
    assert 'LMM_TRUST="lab.example LAB_TOKEN"' in all_options(chat)
    assert outside.seen == []
    monkeypatch.setenv("LMM_SOURCES__LAB__KEY_VARIABLE", "LAB_TOKEN")
    write("config.toml", '[major]\nmodel = "lab/m"\nmax_retries = 0\n')
    assert "LMM_TRUST" not in all_options(chat)
    assert outside.seen


def test_the_file_goes_over_an_address_of_the_environment_without_its_key(outside, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    write("config.toml", "[major]\nmax_retries = 0\n")
    all_options(chat)
    assert outside.seen[0].startswith("CONNECT mine.example:443")
    outside.seen.clear()
    write("config.toml", "[sources.openai]\nbase_url = 'https://evil.example/v1'\n")
    assert all_options(chat).endswith('LMM_TRUST="evil.example OPENAI_API_KEY"')
    assert outside.seen == []


# Allowed


@pytest.mark.parametrize("sender", [chat, embed])
def test_a_key_goes_where_it_is_allowed_and_nowhere_else(sender, outside, monkeypatch):
    clone("https://Lab.Example:443/v1", "LAB_TOKEN")
    assert all_options(sender).endswith('LMM_TRUST="lab.example LAB_TOKEN"')
    others = "lab.example OTHER, lab.example:8443 LAB_TOKEN, example LAB_TOKEN, x.lab.example LAB_TOKEN"
    monkeypatch.setenv("LMM_TRUST", others)
    assert "LMM_TRUST" in all_options(sender)
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", f" {others},  LAB.example.   LAB_TOKEN ,")
    assert "LMM_TRUST" not in all_options(sender)
    assert {head.partition(" HTTP")[0].lower() for head in outside.seen} == {"connect lab.example:443"}


def test_the_doctor_says_it_and_asks_nobody(outside):
    clone("https://lab.example/v1", "LAB_TOKEN")
    found = {finding.what: finding for finding in examine(online=True)}
    for what in ("major", "embedding", "lab"):
        assert not found[what].ok
        assert 'LMM_TRUST="lab.example LAB_TOKEN"' in found[what].found
    assert outside.seen == []


# Qdrant


@pytest.mark.xdist_group("qdrant_client")
def test_no_key_goes_to_a_qdrant_server_of_a_stranger(outside, monkeypatch):
    clone("http://localhost:9", storage="https://attacker.qdrant.io")
    assert 'LMM_TRUST="attacker.qdrant.io:6333 QDRANT_API_KEY"' in all_options(look_up)
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", "attacker.qdrant.io:6333 QDRANT_API_KEY")
    all_options(look_up)
    assert outside.seen[0].split()[1] == "attacker.qdrant.io:6333"


@pytest.mark.xdist_group("qdrant_client")
def test_a_qdrant_server_of_the_environment_is_the_persons(outside, monkeypatch):
    monkeypatch.setenv("LMM_STORAGE__URL", "https://db.example")
    all_options(look_up)
    assert outside.seen[0].startswith("CONNECT db.example:6333")
    outside.seen.clear()
    clone("http://localhost:9", storage="https://evil.example")  # the file goes over it
    assert 'LMM_TRUST="evil.example:6333' in all_options(look_up)
    assert outside.seen == []


# Redirects, and what a client sends by itself


@pytest.mark.parametrize("sender", [chat, embed, look_up])
def test_a_redirect_takes_neither_key_nor_notes_elsewhere(sender):
    with Listening() as stranger, Listening(307, f"{stranger.url}/there") as server:
        clone(f"{server.url}/v1", "LAB_TOKEN", storage=server.url)
        assert "address" in all_options(sender)
        assert stranger.seen == []
        assert server.seen


def test_nothing_else_of_openais_goes_to_another_server(monkeypatch):
    """Its client looks for more in the environment than the key that it is given."""
    monkeypatch.setenv("LAB_TOKEN", "lab-key")
    monkeypatch.setenv("OPENAI_ORG_ID", SECRET)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", SECRET)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {SECRET}\nX-Gateway: {SECRET}")
    with Listening() as server:
        clone(server.url, "LAB_TOKEN", "openai")
        asyncio.run(chat(load_project(None)))
    [head] = server.seen
    assert "Bearer lab-key" in head
    assert SECRET not in head


@pytest.mark.parametrize("sender", [chat, look_up])
def test_netrc_is_not_sent(sender, monkeypatch):
    write("netrc", f"default login me password {SECRET}\n").chmod(0o600)
    monkeypatch.setenv("NETRC", str(Path("netrc").absolute()))
    with Listening() as server:
        clone(server.url, storage=server.url)
        with contextlib.suppress(ModelError, StoreError):
            asyncio.run(sender(load_project(None)))
    assert server.seen
    assert not [head for head in server.seen if "Basic" in head]


def test_no_key_stands_in_what_shows_sources():
    clone("http://127.0.0.1:9/v1", "LAB_TOKEN", storage="http://127.0.0.1:9")
    project = load_project(None)
    store = project_store(project)
    shown = [repr(project), repr(Models().asker(project, "major").model), repr(store), repr(project.sources)]
    shown += [lmm("config show --json")[0], lmm("doctor --json")[0]]
    store.close()
    assert not [text for text in shown if SECRET in text]


# What a stranger has answered


def test_what_a_clones_server_has_answered_is_not_used_elsewhere():
    with ModelServer("Evil.") as evil, ModelServer("Good.") as good:
        for server, answer in ((evil, "Evil."), (good, "Good."), (evil, "Evil.")):
            clone(server.url, name="openai")
            assert asyncio.run(chat(load_project(None))) == answer
        assert (len(evil.requests), len(good.requests)) == (1, 1)


# A campus network


def test_in_a_campus_network_without_https_what_the_message_names_works(outside, monkeypatch):
    monkeypatch.setenv("LMM_TRUST", "gpu:8000 LAB_TOKEN")  # is not enough
    clone("http://gpu:8000/v1", "LAB_TOKEN")
    said = all_options(chat)
    assert "use https://" in said and 'key_variable = ""' in said
    assert outside.seen == []
    variables = [word.strip("(,") for word in said.split() if "LMM_SOURCES__" in word]
    for variable in variables:
        monkeypatch.setenv(*variable.split("="))
    write("config.toml", '[major]\nmodel = "lab/m"\nmax_retries = 0\n')
    all_options(chat)
    assert SECRET in outside.seen.pop()
    for variable in variables:
        monkeypatch.delenv(variable.partition("=")[0])
    clone("http://gpu:8000/v1", more='key_variable = ""\n')
    all_options(chat)
    assert SECRET not in outside.seen.pop()


# A file that leads a source of ours elsewhere


@pytest.mark.slow
def test_that_a_source_of_ours_is_elsewhere_is_said(outside, capsys):
    clone("https://evil.example/v1", name="openai", more='key_variable = ""\n')
    all_options(chat)
    assert "config.toml sends what goes to `openai` to https://evil.example, not to " in capsys.readouterr().err
    assert outside.seen
