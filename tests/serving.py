"""What the tests of `lmm serve` share: a server in a thread, or in a process of its own."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import httpx
from uvicorn import Server

from lmm_core.serving.app import Served as ServedProject
from lmm_core.serving.log import Log
from lmm_core.serving.page import with_our_texts
from lmm_core.serving.server import server_config
from lmm_core.settings.project import load_project
from lmm_core.settings.tables import ServeOptions
from tests.effort import PATIENCE

ASK = {"question": "How is the oak explained?"}


class Served:
    """A server in a thread: `client` asks it, `log` is what it has said."""

    def __init__(self, folder, token="", files=None, connections=1000, site=None, **options):
        project = load_project(folder / "-")
        project = replace(project, serve=with_our_texts(ServeOptions(**options)))
        self.log, self.connections = [], connections
        made = ServedProject(project, "127.0.0.1", token=token, files=files or {}, site=site)
        self.app = made.make_app(Log(self.log.append))

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.server = Server(server_config(self.app, connections=self.connections))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE, verify=False)
        return self

    def __exit__(self, *error):
        self.client.close()
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    def events(self, question=ASK, **options):
        """The events of an answer, and their data."""
        response = self.client.post("/ask", json=question, **options)
        assert response.status_code == 200, response.text
        return events_in(response.text)


def events_in(text):
    found = re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)
    return [(name, json.loads(data)) for name, data in found]


def said(events):
    return "".join(data["text"] for name, data in events if name == "part")


@contextmanager
def command(folder):
    """The command, in a process of its own; its port."""
    process = subprocess.Popen([sys.executable, "-m", "lmm_core", "serve", "--port", "0"], cwd=folder,
                               stderr=subprocess.PIPE, text=True, env=dict(os.environ))  # fmt: skip
    try:
        process.said = []
        for line in process.stderr:
            process.said.append(line)
            if found := re.search(r"at http://127\.0\.0\.1:(\d+)/", line):
                yield process, int(found[1])
                return
        raise AssertionError(f"ended with {process.wait()}")
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stderr.close()
