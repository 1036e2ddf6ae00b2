"""A cloned `config.toml` and the keys of who cloned it: no key goes to a host that its owner
has not allowed on this machine. Nothing here reaches a network: the proxy of the environment
is on loopback, and keeps what it is asked to pass on."""

import asyncio
import contextlib
import itertools
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lmm_core.cli.doctor import examine
from lmm_core.errors import ConfigError, ModelError, StoreError, TrustError
from lmm_core.indexing.stores import project_store
from lmm_core.models.addresses import address_of
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.models.trust import read_pair, read_trust_variable
from lmm_core.settings.config import ConfigSettings
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from lmm_core.store.opening import open_store
from lmm_core.store.places import RemoteSource
from tests.indexing import lmm
from tests.model_server import ModelServer
from tests.qdrant_server import FailingServer

SECRET = "k3y-of-the-reader"
NOTES = (
    "---\ntitle: T\n---\n\n# Residuals\n\n" + "A residual is what a model leaves unexplained of a value. " * 4 + "\n"
)


class Outside:
    """The way out of this machine: a proxy that keeps the heads of all requests, and answers 502."""

    def __enter__(self):
        self.seen = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                with connection:
                    connection.settimeout(5)
                    head = connection.recv(65536).decode("latin-1")
                    self.seen.append(head)
                    connection.sendall(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def __exit__(self, *error):
        self.socket.close()


@pytest.fixture
def outside(monkeypatch):
    """What would have left this machine."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Outside() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        yield proxy


def clone(url, variable, name="lab", storage=""):
    """A cloned project, as the working folder, whose author wants this key at this address."""
    line = f'key_variable = "{variable}"\n' if variable else ""
    models = "".join(f'[{role}]\nmodel = "{name}/m"\nmax_retries = 0\n' for role in ("major", "minor", "aux"))
    Path("config.toml").write_text(
        f'{models}[embeddings]\ndense_model = "{name}/e"\n'
        f'[sources.{name}]\nbase_url = "{url}"\n{line}' + (f'[storage]\nurl = "{storage}"\n' if storage else ""),
        encoding="utf-8",
    )


# What sends a key


async def chat(project):
    models = Models()
    try:
        return await models.asker(project, "major").ask(Request([ChatMessage("user", "Hello")]), str)
    finally:
        await models.close()


async def turn(project):
    models = Models()
    try:
        return (await models.asker(project, "major").turn(Request([ChatMessage("user", "Hello")]))).text
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


SENDERS = [chat, embed]


def said_by(sender):
    """The error of what is sent by the working folder's project."""
    with pytest.raises((ModelError, StoreError)) as caught:
        asyncio.run(sender(load_project(None)))
    return str(caught.value)


# Strangers

STRANGERS = [
    ("HF_TOKEN", "https://attacker.hf.space/v1", "attacker.hf.space"),
    ("GROQ_API_KEY", "https://api.groq.com/openai/v1", "api.groq.com"),
    ("OPENAI_API_KEY", "https://api.mistral.ai/v1", "api.mistral.ai"),
    ("OPENAI_API_KEY", "https://openai.com/v1", "openai.com"),
    ("OPENAI_API_KEY", "https://x.api.openai.com/v1", "x.api.openai.com"),
    ("OPENAI_API_KEY", "https://api.openai.com.evil.com/v1", "api.openai.com.evil.com"),
    ("OPENAI_API_KEY", "https://evilapi.openai.com/v1", "evilapi.openai.com"),
    ("OPENAI_API_KEY", "https://api.openai.com:8443/v1", "api.openai.com:8443"),
    ("OPENAI_API_KEY", "https://evil.com/@api.openai.com/v1", "evil.com"),
    ("OPENAI_API_KEY", "HTTPS://EVIL.COM./v1", "evil.com"),
    ("OPENAI_API_KEY", "https://10.0.0.7/v1", "10.0.0.7"),
    ("OPENAI_API_KEY", "https://[2001:0db8:0::1]:8443/v1", "[2001:db8::1]:8443"),
    ("OPENAI_API_KEY", "https://[::ffff:127.0.0.1]/v1", "[::ffff:7f00:1]"),
    ("OPENAI_API_KEY", "https://evil.localhost/v1", "evil.localhost"),
    ("OPENAI_API_KEY", "https://127.0.0.1.evil.com/v1", "127.0.0.1.evil.com"),
]


@pytest.mark.parametrize(("variable", "url", "host"), STRANGERS, ids=lambda value: value.removeprefix("https://"))
def test_no_key_goes_to_a_stranger(variable, url, host, outside, monkeypatch):
    monkeypatch.setenv(variable, SECRET)
    clone(url, variable)
    said = said_by(chat)
    assert said.endswith(f'LMM_TRUST="{host} {variable}"')
    assert SECRET not in said
    assert outside.seen == []


def test_no_key_of_a_source_of_ours_goes_to_a_stranger(outside, monkeypatch):
    """With the name of the source, whose variable the file does not even name."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    clone("https://evil.com/v1", "", "openai")
    assert said_by(chat).endswith('LMM_TRUST="evil.com OPENAI_API_KEY"')
    Path("config.toml").write_text('[sources.openai]\nbase_url = "https://evil.com/v1"\n', encoding="utf-8")
    assert said_by(chat).endswith('LMM_TRUST="evil.com OPENAI_API_KEY"')  # the model is the default one
    assert outside.seen == []


# Addresses that two programs may read as two: no host can be allowed for them.
TRICKS = [
    "https://api.openai.com@evil.com/v1", "https://evil.com\\\\@api.openai.com/v1", "https://evil.com#@api.openai.com/",
    "https://api。openai。com/v1", "https://аpi.openai.com/v1", "https://api.openai.com\\u0000.evil.com", "https:///evil.com",
    "https://127.1/v1", "http://2130706433/v1", "http://0x7f.0.0.1/v1", "http://localhost./v1", "https://api.openai.com:0443443/v1",
    "https://[::1]evil.com/v1", "http://[::1%25eth0]/v1", "https://$(touch${IFS}x).evil.com/v1", "http://evil.com/v1",
    "http://10.0.0.7/v1", "ftp://api.openai.com/v1", "//api.openai.com/v1",
]  # fmt: skip


@pytest.mark.parametrize("url", TRICKS)
def test_an_address_that_is_not_plain_or_not_encrypted_gets_no_key(url, outside, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    clone(url, "OPENAI_API_KEY", "openai")
    try:
        project = load_project(None)
    except ConfigError as error:
        said = str(error)
    else:
        with pytest.raises(ModelError) as caught:
            asyncio.run(chat(project))
        said = str(caught.value)
    assert "LMM_TRUST" not in said
    assert "touch" not in said.partition("config.toml")[2]
    assert outside.seen == []


HOME = [
    "https://api.openai.com/v1",
    "https://API.OpenAI.com:443/v1",
    "https://api.openai.com./other",
]


@pytest.mark.parametrize("url", HOME)
def test_a_key_goes_to_the_host_of_its_own_source(url, outside, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    clone(url, "OPENAI_API_KEY")
    said_by(chat)  # the proxy passes nothing on
    assert [line.split()[0] for line in outside.seen] == ["CONNECT"]
    assert outside.seen[0].lower().startswith("connect api.openai.com")
    assert SECRET not in outside.seen[0]


@pytest.mark.parametrize("host", ["LOCALHOST", "127.0.0.2", "[0:0::1]"])
def test_this_machine_is_this_machine(host):
    assert address_of(f"http://{host}:9/v1").here


def test_any_key_goes_to_this_machine(monkeypatch, outside):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with ModelServer("Yes.") as server:
        clone(server.url, "HF_TOKEN")
        assert asyncio.run(chat(load_project(None))) == "Yes."
        assert server.keys == [f"Bearer {SECRET}"]
    assert outside.seen == []  # not even to a proxy


# Who says what: the file, the environment


@pytest.mark.parametrize("layers", list(itertools.product(["file", "environment"], repeat=2)), ids="-".join)
def test_a_host_and_a_variable_of_the_environment_are_the_persons_and_nothing_else_is(layers, outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    file = ""
    for layer, key, value in zip(
        layers, ("base_url", "key_variable"), ("https://lab.example/v1", "LAB_TOKEN"), strict=True
    ):
        if layer == "file":
            file += f'{key} = "{value}"\n'
        else:
            monkeypatch.setenv(f"LMM_SOURCES__LAB__{key.upper()}", value)
    Path("config.toml").write_text(
        f'[major]\nmodel = "lab/m"\nmax_retries = 0\n[sources.lab]\nchat_model = "m"\n{file}'
    )
    said = said_by(chat)
    assert bool(outside.seen) is (layers == ("environment", "environment"))
    assert ('LMM_TRUST="lab.example LAB_TOKEN"' in said) is not bool(outside.seen)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "LMM_SOURCES__OPENAI__BASE_URL"])
def test_the_file_goes_over_an_address_of_the_environment_without_its_key(variable, outside, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv(variable, "https://mine.example/v1")
    Path("config.toml").write_text("[major]\nmax_retries = 0\n", encoding="utf-8")
    said_by(chat)
    assert outside.seen[0].startswith("CONNECT mine.example:443")
    outside.seen.clear()
    clone("https://evil.example/v1", "", "openai")
    assert said_by(chat).endswith('LMM_TRUST="evil.example OPENAI_API_KEY"')
    Path("config.toml").write_text('[sources.openai]\nbase_url = "https://evil.example"\nkey_variable = "HF_TOKEN"\n')
    monkeypatch.setenv("HF_TOKEN", SECRET)
    assert "evil.example HF_TOKEN" in said_by(chat)
    assert outside.seen == []


def test_a_variable_of_the_file_for_an_address_of_the_environment_is_the_files(outside, monkeypatch):
    monkeypatch.setenv("LMM_SOURCES__OPENAI__BASE_URL", "https://proxy.example/v1")
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    Path("config.toml").write_text('[major]\nmodel = "openai/m"\n[sources.openai]\nkey_variable = "GITHUB_TOKEN"\n')
    assert said_by(chat).endswith('LMM_TRUST="proxy.example GITHUB_TOKEN"')
    assert outside.seen == []


def test_what_code_says_is_the_persons(monkeypatch):
    there = {"base_url": "https://proxy.example/v1", "key_variable": "LAB_TOKEN"}
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://evil.example", "LAB_TOKEN")
    assert ConfigSettings(sources={"lab": there}).sources["lab"].as_source("lab").refusal == ""
    one = ConfigSettings(sources={"lab": {"base_url": "https://proxy.example/v1"}}).sources["lab"]
    assert "proxy.example LAB_TOKEN" in one.as_source("lab").refusal


def test_a_documents_header_cannot_name_a_host(outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://lab.example/v1", "LAB_TOKEN")
    Path("notes.md").write_text(NOTES.replace("title: T", "title: T\nmodel:\n  minor: lab/x"))
    assert 'LMM_TRUST="lab.example LAB_TOKEN"' in lmm("rag notes.md", 1)[1]
    assert outside.seen == []


# Allowed, and no longer


@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.__name__)
def test_a_key_goes_where_it_is_allowed_until_it_is_no_longer(sender, outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://Lab.Example:443/v1", "LAB_TOKEN")
    assert said_by(sender).endswith('LMM_TRUST="lab.example LAB_TOKEN"')
    for other in ("lab.example OTHER", "lab.example:8443 LAB_TOKEN", "example LAB_TOKEN", "x.lab.example LAB_TOKEN"):
        monkeypatch.setenv("LMM_TRUST", other)
        assert said_by(sender).endswith(f'LMM_TRUST="{other}, lab.example LAB_TOKEN"')
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", "lab.example LAB_TOKEN")
    assert "LMM_TRUST" not in said_by(sender)
    assert {head.partition("\r\n")[0] for head in outside.seen} == {"CONNECT Lab.Example:443 HTTP/1.1"} or {
        head.partition("\r\n")[0] for head in outside.seen
    } == {"CONNECT lab.example:443 HTTP/1.1"}
    outside.seen.clear()
    monkeypatch.delenv("LMM_TRUST")
    assert said_by(sender).endswith('LMM_TRUST="lab.example LAB_TOKEN"')
    assert outside.seen == []


def test_a_variable_in_ci_allows_as_well(outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://lab.example/v1", "LAB_TOKEN")
    monkeypatch.setenv("LMM_TRUST", "other.example LAB_TOKEN, lab.example OTHER")
    assert 'lab.example OTHER, lab.example LAB_TOKEN"' in said_by(chat)
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", " other.example LAB_TOKEN,  LAB.example.   LAB_TOKEN ,")
    said_by(chat)
    assert outside.seen


def test_the_commands_that_send_nothing_want_no_trust(outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://lab.example/v1", "LAB_TOKEN")
    Path("notes.md").write_text(NOTES)
    for command in (
        "scan notes.md",
        "knit notes.md -o out.md",
        "rag --dry-run --model extractive/default notes.md",
        "config show",
    ):
        lmm(command)
    assert outside.seen == []


def test_the_doctor_says_it_and_asks_nobody(outside, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    clone("https://lab.example/v1", "LAB_TOKEN")
    found = {finding.what: finding for finding in examine(online=True)}
    for what in ("major", "minor", "aux", "embedding", "lab"):
        assert not found[what].ok
        assert 'LMM_TRUST="lab.example LAB_TOKEN"' in found[what].found
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", "lab.example LAB_TOKEN")
    assert {finding.what: finding for finding in examine()}["major"].found == "lab/m: LAB_TOKEN is set"


# Qdrant

QDRANT = [
    ("https://attacker.cloud.qdrant.io", "attacker.cloud.qdrant.io:6333"),
    ("https://attacker.cloud.qdrant.io:443", "attacker.cloud.qdrant.io"),
    ("https://qdrant.io.evil.com", "qdrant.io.evil.com:6333"),
    ("https://10.0.0.7", "10.0.0.7:6333"),
    ("https://qdrant", "qdrant:6333"),
    ("https://[2001:db8::1]", "[2001:db8::1]:6333"),
]


def splitted(url):
    parts = urlsplit(url)
    return parts.hostname, parts.port or 6333


@pytest.mark.parametrize(("url", "host"), QDRANT)
def test_no_key_goes_to_a_qdrant_server_of_a_stranger(url, host, outside, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    clone("http://localhost:9", "", storage=url)
    said = said_by(look_up)
    assert f'LMM_TRUST="{host} QDRANT_API_KEY" ' in said
    assert SECRET not in said
    assert outside.seen == []
    monkeypatch.setenv("LMM_TRUST", f"{host} QDRANT_API_KEY")
    said_by(look_up)
    sought = outside.seen[0].split()[1]
    assert sought.replace("[", "").replace("]", "") == "{}:{}".format(*splitted(url))
    monkeypatch.delenv("LMM_TRUST")
    outside.seen.clear()
    assert "LMM_TRUST" in said_by(look_up)
    assert outside.seen == []


@pytest.mark.parametrize(
    "url", ["http://evil.example", "http://10.0.0.7:6333", "http://qdrant:6333", "http://127.1", "http://localhost."]
)
def test_no_key_goes_unencrypted_to_a_qdrant_server_that_a_file_names(url, outside, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    clone("http://localhost:9", "", storage=url)
    assert "LMM_TRUST" not in said_by(look_up)
    assert outside.seen == []


def test_a_qdrant_server_of_the_environment_is_the_persons(outside, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    monkeypatch.setenv("LMM_STORAGE__URL", "https://db.example")
    said_by(look_up)
    assert outside.seen[0].startswith("CONNECT db.example:6333")
    outside.seen.clear()
    clone("http://localhost:9", "", storage="https://evil.example")  # the file goes over it
    assert 'LMM_TRUST="evil.example:6333' in said_by(look_up)
    monkeypatch.setenv("QDRANT_URL", "https://db.example")
    assert 'LMM_TRUST="evil.example:6333' in said_by(look_up)
    assert outside.seen == []


def test_a_qdrant_server_on_this_machine_has_its_key(monkeypatch, outside):
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    with FailingServer(key=SECRET) as server:
        clone("http://localhost:9", "", storage=server.url)
        assert asyncio.run(look_up(load_project(None))) == []
    assert outside.seen == []  # not even to a proxy


def test_the_commands_of_folders_of_markdown_keep_the_key_too(outside, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    clone("http://localhost:9", "", storage="https://evil.example")
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\nText.\n")
    for command in ("index docs", "md-index --root docs --name docs", "search residual"):
        stdout, stderr = lmm(command, 1)
        assert 'LMM_TRUST="evil.example:6333 QDRANT_API_KEY"' in stdout + stderr, command
    assert outside.seen == []


# Redirects, and what a client sends by itself


class Leading:
    """A server that answers with a redirect to `to`, where it is given, else (and under
    `/there`) with `reply`; it keeps the path, the headers and the body of each request."""

    def __init__(self, to="", status=307, reply=b""):
        self.to, self.status, self.reply = to, status, reply
        self.seen = []

    def __enter__(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.seen.append((self.path, headers, body))
                on = server.to and not self.path.startswith("/there")
                self.send_response(server.status if on else 200)
                if on:
                    self.send_header("Location", server.to)
                self.send_header("Content-Length", str(0 if on else len(server.reply)))
                self.end_headers()
                self.wfile.write(b"" if on else server.reply)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *arguments):
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()


REPLY = json.dumps(
    {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}], "result": {"collections": []}}
).encode()
ELSEWHERE = [
    "http://127.0.0.1:{}/there",
    "http://localhost:{}/there",
    "http://127.0.0.2:{}/there",
    "//localhost:{}/there",
]


@pytest.mark.parametrize(
    ("sender", "status", "to"),
    [(sender, 307, ELSEWHERE[0]) for sender in (*SENDERS, look_up)]
    + [(chat, status, ELSEWHERE[1]) for status in (301, 303, 308)]
    + [(chat, 307, to) for to in ELSEWHERE[1:]],
)
def test_a_redirect_takes_neither_key_nor_notes_elsewhere(sender, status, to, monkeypatch):
    for variable in ("LAB_TOKEN", "QDRANT_API_KEY"):
        monkeypatch.setenv(variable, SECRET)
    with Leading(reply=REPLY) as stranger, Leading(to.format(stranger.port), status) as server:
        clone(server.url, "LAB_TOKEN", storage=f"http://127.0.0.1:{server.port}")
        said = said_by(sender)
        assert stranger.seen == []
        assert server.seen
        assert "address" in said and SECRET not in said


def test_a_redirect_within_the_host_is_followed_with_the_key(monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    with Leading("/there/chat", 307, REPLY) as server:
        clone(server.url, "LAB_TOKEN")
        assert asyncio.run(chat(load_project(None))) == "Yes."
        assert [path for path, *_ in server.seen] == ["/v1/chat/completions", "/there/chat"]
        assert {headers["authorization"] for _, headers, _ in server.seen} == {f"Bearer {SECRET}"}


def test_nothing_else_of_openais_goes_to_another_server(monkeypatch):
    """Its client looks for more in the environment than the key that it is given."""
    monkeypatch.setenv("LAB_TOKEN", "lab-key")
    for name, value in {
        "OPENAI_ORG_ID": "org-0f-mine", "OPENAI_PROJECT_ID": "proj-0f-mine", "OPENAI_ADMIN_KEY": SECRET,
        "OPENAI_CUSTOM_HEADERS": f"Authorization: Bearer {SECRET}\nX-Gateway: {SECRET}", "OPENAI_API_KEY": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with Leading(reply=REPLY) as server:
        for name in ("lab", "mistral", "ollama", "openai"):
            server.seen.clear()
            clone(server.url, "LAB_TOKEN", name)
            asyncio.run(
                Models().asker(load_project(None), "major").model.reply(Request([ChatMessage("user", "Hello")]))
            )
            ((_, headers, _),) = server.seen
            assert headers["authorization"] == "Bearer lab-key"
            assert not [value for value in headers.values() if SECRET in value or "mine" in value]


def test_what_is_openais_goes_where_the_person_says_that_openai_is(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-0f-mine")
    with Leading(reply=REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        asyncio.run(chat(load_project(None)))
        assert server.seen[0][1]["openai-organization"] == "org-0f-mine"


@pytest.mark.parametrize("sender", [chat, look_up], ids=lambda sender: sender.__name__)
def test_netrc_is_not_sent(sender, monkeypatch):
    Path("netrc").write_text(f"default login me password {SECRET}\n")
    Path("netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(Path("netrc").absolute()))
    with Leading(reply=REPLY) as server:
        clone(server.url, "", storage=f"http://127.0.0.1:{server.port}")
        with contextlib.suppress(ModelError, StoreError):
            asyncio.run(sender(load_project(None)))
        assert server.seen
        assert all(headers.get("authorization") in (None, "Bearer none") for _, headers, _ in server.seen)


# Where trust is kept


@pytest.mark.parametrize(
    ("host", "variable"),
    [("https://lab.example", "X"), ("lab.example/v1", "X"), ("me@lab.example", "X"), ("*.example", "X"), ("", "X"),
     ("lab.example:99999", "X"), ("::1", "X"), ("127.1", "X"), ("bücher.example", "X"), ("$(id)", "X"), ("a\nb", "X"),
     ("lab.example", "sk-1234"), ("lab.example", ""), ("lab.example", "A B"), ("lab.example", "x")],
)  # fmt: skip
def test_hosts_and_variables_are_checked(host, variable, monkeypatch):
    with pytest.raises(TrustError) as caught:
        read_pair(host, variable)
    assert "sk-1234" not in str(caught.value)
    if host and variable and "," not in host:
        monkeypatch.setenv("LMM_TRUST", f"a.example A, {host} {variable}")
        with pytest.raises(TrustError, match="LMM_TRUST, pair 2") as named:
            read_trust_variable()
        assert "sk-1234" not in str(named.value)


def test_letters_that_look_alike_are_shown_as_what_they_are():
    with pytest.raises(TrustError, match=r"xn--pi-6kc\.openai\.com"):
        read_pair("аpi.openai.com", "OPENAI_API_KEY")  # a Cyrillic а


def test_no_key_stands_in_what_shows_sources(monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", SECRET)
    monkeypatch.setenv("QDRANT_API_KEY", SECRET)
    clone("http://127.0.0.1:9/v1", "LAB_TOKEN", storage="http://127.0.0.1:9")
    project = load_project(None)
    model = Models().asker(project, "major").model
    store = open_store(RemoteSource(project.storage.url, file=project.storage.file))
    shown = [
        repr(project),
        repr(model),
        repr(store),
        repr(project.sources),
        lmm("config show --json")[0],
        lmm("doctor --json")[0],
    ]
    assert not [text for text in shown if SECRET in text]


# What a stranger has answered


@pytest.mark.parametrize("name", ["openai", "lab"])
@pytest.mark.parametrize("sender", [chat, turn], ids=lambda sender: sender.__name__)
def test_what_a_clones_server_has_answered_is_not_used_elsewhere(sender, name, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ModelServer("Evil.") as evil, ModelServer("Good.") as good:
        for server, answer in ((evil, "Evil."), (good, "Good."), (evil, "Evil.")):
            clone(server.url, "", name)
            assert asyncio.run(sender(load_project(None))) == answer
        assert (len(evil.requests), len(good.requests)) == (1, 1)


def test_two_projects_of_one_run_have_their_own_servers():
    with ModelServer("Evil.") as evil, ModelServer("Good.") as good:
        clone(evil.url, "", "ollama")
        strange = load_project(None)
        clone(good.url, "", "ollama")
        models = Models()
        askers = [models.asker(project, "major") for project in (strange, load_project(None))]
        assert [asker.model.server for asker in askers] == [evil.url, good.url]
        asyncio.run(models.close())


# No key, no refusal


@pytest.mark.parametrize("url", ["http://gpu:8000/v1", "https://vllm.uni.example/v1"])
def test_where_there_is_no_key_none_is_refused(url, outside, monkeypatch):
    monkeypatch.setenv("VLLM_API_KEY", " ")
    clone(url, "", "vllm")
    said_by(chat)
    assert outside.seen, "the server of one's own is asked"
    assert {finding.what: finding for finding in examine()}["major"].found == "vllm/m: no key is needed"
    outside.seen.clear()
    monkeypatch.setenv("VLLM_API_KEY", SECRET)
    assert "the key in VLLM_API_KEY is not sent to" in said_by(chat)
    assert outside.seen == []


def test_what_needs_a_key_says_so_before_it_asks_for_trust(outside, monkeypatch):
    monkeypatch.delenv("LAB_TOKEN", raising=False)
    clone("https://lab.example/v1", "LAB_TOKEN")
    assert "LAB_TOKEN is not set" in said_by(chat)
    assert outside.seen == []


@pytest.mark.parametrize("name", ["lab", "openai"])
def test_a_campus_network_without_https(name, outside, monkeypatch):
    """What the message names is what works."""
    monkeypatch.setenv("UNI_KEY", SECRET)
    clone("http://gpu:8000/v1", "UNI_KEY", name)
    said = said_by(chat)
    assert "use https://" in said and 'key_variable = ""' in said
    variables = [word.strip("(,") for word in said.split() if "LMM_SOURCES__" in word]
    assert outside.seen == []
    for variable in variables:
        monkeypatch.setenv(*variable.split("="))
    said_by(chat)  # the file still names it
    assert outside.seen == []
    Path("config.toml").write_text(f'[major]\nmodel = "{name}/m"\nmax_retries = 0\n', encoding="utf-8")
    said_by(chat)
    assert SECRET in outside.seen[0]
    outside.seen.clear()
    clone("http://gpu:8000/v1", "", name)
    Path("config.toml").write_text(Path("config.toml").read_text() + 'key_variable = ""\n', encoding="utf-8")
    for variable in variables:
        monkeypatch.delenv(variable.partition("=")[0])
    said_by(chat)
    assert outside.seen and SECRET not in outside.seen[0]


def test_what_is_allowed_is_allowed_by_https(outside, monkeypatch):
    monkeypatch.setenv("UNI_KEY", SECRET)
    monkeypatch.setenv("LMM_TRUST", "gpu:8000 UNI_KEY")
    clone("http://gpu:8000/v1", "UNI_KEY")
    assert "use https://" in said_by(chat)
    assert outside.seen == []


# A file that leads a source of ours elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("name", ["openai", "ollama"])
@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.__name__)
def test_that_a_source_of_ours_is_elsewhere_is_said_at_each_run(sender, name, outside, monkeypatch, capsys):
    clone("https://evil.example/v1", "", name)
    text = Path("config.toml").read_text() + 'key_variable = ""\n'
    Path("config.toml").write_text(text, encoding="utf-8")
    for _ in range(2):
        said_by(sender)
        said = capsys.readouterr().err
        assert said.count(f"config.toml sends what goes to `{name}` to https://evil.example, not to ") == 1
    assert outside.seen


def test_the_persons_model_and_a_clones_server(outside, monkeypatch):
    monkeypatch.setenv("LMM_MODEL_MINOR", "ollama/llama3")
    Path("config.toml").write_text('[sources.ollama]\nbase_url = "https://evil.example/v1"\n', encoding="utf-8")
    Path("notes.md").write_text(NOTES)
    assert "sends what goes to `ollama` to https://evil.example" in lmm("rag notes.md", 1)[1]


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("lab", "https://lab.example/v1"),
        ("vllm", "http://[::1]:9/v1"),
        ("openai", "https://api.openai.com/v1"),
    ],
)
def test_nothing_is_said_where_nothing_goes_elsewhere(name, url, outside, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    clone(url, "", name)
    said_by(chat)
    assert "sends what goes to" not in capsys.readouterr().err


def test_what_the_environment_leads_elsewhere_is_the_persons(outside, capsys, monkeypatch):
    monkeypatch.setenv("LMM_SOURCES__OLLAMA__BASE_URL", "https://mine.example/v1")
    monkeypatch.setenv("LMM_MODEL_MAJOR", "ollama/m")
    said_by(chat)
    assert outside.seen and "sends what goes to" not in capsys.readouterr().err
