"""What students and `lmm index` notice when a node of a Qdrant cluster dies, hangs or comes back.

QDRANT_TEST_BINARY=… python benchmarks/cluster.py [--askers 20] [--shards 3] [--replicas 2]

Three nodes on loopback, behind a relay that gives each connection the next node that takes it, as a name with
three addresses does. The course is the sample book; while a node fails, `lmm index` writes pages that
no question is about.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from serve import started
from tables import machine, print_table, say
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.store.places import LocalStorage, RemoteSource, open_store
from tests.courses import bilingual_book
from tests.qdrant_server import RealServer, free_ports
from tests.retrieve.questions import questions

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
FRONT = "127.0.0.5"  # of the relay; to 127.0.0.1, qdrant-client opens a connection for each request
PAGES, SECTIONS = 150, 8  # that a run of `lmm index` writes
HUNG = 20.0  # seconds that a node hangs when `lmm index` has ended
LIMIT = 300.0  # seconds after which it is not waited for any more


def start_nodes(folder: Path, shards: int, replicas: int, using: ExitStack) -> list[RealServer]:
    """Start three nodes that know each other."""
    port, grpc, peers = (str(one) for one in free_ports(3))
    nodes = []
    for number, host in enumerate(HOSTS):
        others = ["--bootstrap", f"http://{HOSTS[0]}:{peers}"] if number else []
        arguments = ["--uri", f"http://{host}:{peers}", *others]
        node = RealServer(
            folder / f"node{number + 1}", *arguments, service__host=host, service__http_port=port,
            service__grpc_port=grpc, cluster__enabled="true", cluster__p2p__port=peers,
            storage__collection__replication_factor=str(replicas), storage__collection__shard_number=str(shards),
        )  # fmt: skip
        nodes.append(using.enter_context(node))
    return nodes


@contextmanager
def relay(addresses: Sequence[str]) -> Iterator[str]:
    """Run a relay to the addresses, and yield its own."""
    loop, turn = asyncio.new_event_loop(), 0

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while part := await reader.read(1 << 16):
                writer.write(part)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal turn
        for _ in addresses:
            turn += 1
            host, port = addresses[turn % len(addresses)].removeprefix("http://").split(":")
            try:
                back, forth = await asyncio.open_connection(host, int(port))
            except OSError:
                continue
            await asyncio.gather(copy(reader, forth), copy(back, writer))
            return
        writer.close()

    async def end_all() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = loop.run_until_complete(asyncio.start_server(serve_one, FRONT, 0))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    yield f"http://{FRONT}:{server.sockets[0].getsockname()[1]}"
    asyncio.run_coroutine_threadsafe(end_all(), loop).result()
    loop.call_soon_threadsafe(loop.stop)


def is_whole(nodes: Sequence[RealServer]) -> bool:
    """Return True if every node answers, and takes all parts of all collections for complete."""
    try:
        for node in nodes:
            for one in got(node, "/collections")["collections"]:
                shards = got(node, f"/collections/{one['name']}/cluster")
                if any(shard["state"] != "Active" for shard in shards["local_shards"] + shards["remote_shards"]):
                    return False
        return True
    except OSError:
        return False


def got(node: RealServer, path: str) -> dict:
    with urlopen(node.url + path, timeout=5) as answer:
        return json.load(answer)["result"]


@dataclass
class Askers:
    """Students who ask one question after the other; `wanted` is what each is answered where all is well."""

    port: int
    count: int
    wanted: dict[str, list[str]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    stopped: threading.Event = field(default_factory=threading.Event)

    def ask(self, question: str) -> list[str] | None:
        """Return the places that are cited, or None if there was an error."""
        body = json.dumps({"question": question}).encode()
        try:
            with urlopen(Request(f"http://127.0.0.1:{self.port}/ask", body), timeout=LIMIT) as answer:
                events = answer.read().decode().split("\n\n")
        except HTTPError as error:
            self.errors[json.load(error)["error"]] += 1
            return None
        lines = [event.split("\n") for event in events if event.startswith("event: ")]
        data = {name.removeprefix("event: "): json.loads(text.removeprefix("data: ")) for name, text in lines}
        if "done" not in data:
            self.errors[str(data.get("error", data))[:200]] += 1
            return None
        sources = {one["number"]: one["place"] for one in data["sources"]["sources"]}
        return [sources[number] for number in data["done"]["cited"]]

    def run(self, number: int) -> None:
        chance = random.Random(number)
        while not self.stopped.is_set():
            question = chance.choice(list(self.wanted))
            began = time.monotonic()
            cited = self.ask(question)
            if cited is not None:
                self.times.append(time.monotonic() - began)
                if cited[:1] != self.wanted[question][:1]:  # further ones change with the weights of words
                    self.wrong.append(f"{question}: {cited}, not {self.wanted[question]}")

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let all ask while the block runs."""
        self.times, self.wrong, self.errors = [], [], Counter()
        self.stopped.clear()
        threads = [threading.Thread(target=self.run, args=(number,)) for number in range(self.count)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopped.set()
            for thread in threads:
                thread.join()


def write_pages(folder: Path, seed: int) -> None:
    """Write pages of words that are in no language, over those of before."""
    chance = random.Random(seed)
    folder.mkdir(exist_ok=True)
    for page in range(PAGES):
        parts = [f"---\ntitle: Q{page}\ndocid: q{page}\n---\n"]
        for section in range(SECTIONS):
            words = ["".join(chance.choices("bcdfghjklmnpqrstvwxz", k=9)) for _ in range(60)]
            parts.append(f"\n# {words[0]} {section}\n\n{' '.join(words)}.\n")
        (folder / f"q{page}.md").write_text("".join(parts), encoding="utf-8")


@dataclass
class Trial:
    """A course on a cluster, with what happened to it."""

    folder: Path
    nodes: list[RealServer]
    askers: Askers
    env: dict[str, str]
    rows: list[list[str]] = field(default_factory=list)

    def index(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "lmm_core", "index", "-q", "."]
        return subprocess.Popen(command, cwd=self.folder, env=self.env, stderr=subprocess.PIPE, text=True)

    def during(self, name: str, harm: Callable[[], None], mend: Callable[[], None] = lambda: None) -> None:
        """Harm the cluster while it is asked and written to, and mend it; add a row."""
        say(name)
        write_pages(self.folder / "more", len(self.rows))
        with self.askers.asking():
            writer = self.index()
            time.sleep(3)  # it is writing by then
            harm()
            began = time.monotonic()
            told = writer.communicate()[1].strip().splitlines()
            spent, status = time.monotonic() - began, writer.returncode
            mend()
            began = time.monotonic()
            while not is_whole(self.nodes) and time.monotonic() < began + LIMIT:
                time.sleep(0.2)
            whole = time.monotonic() - began
        again = self.index()
        again.communicate()
        for line in [*told[-1:], *(f"{count} times: {error}" for error, count in self.askers.errors.items())]:
            print(f"{name}: {line}")
        for line in self.askers.wrong[:3]:
            print(f"{name}, wrong: {line}")
        times = sorted(self.askers.times) or [0.0]
        self.rows.append([
            name, str(len(self.askers.times)), str(len(self.askers.wrong)), str(self.askers.errors.total()),
            f"{median(times):.1f}", f"{times[-1]:.1f}", f"{spent:.0f}", f"{status}, {again.returncode}", f"{whole:.1f}",
        ])  # fmt: skip


def check_stored(folder: Path, nodes: Sequence[RealServer], env: dict[str, str]) -> str:
    """Compare what is stored with what a first index in a folder has."""
    own = {name: value for name, value in env.items() if name != "LMM_STORAGE__URL"}
    subprocess.run([sys.executable, "-m", "lmm_core", "index", "-q", "."], cwd=folder, env=own, check=True)
    store = open_store(LocalStorage(folder / ".lmm" / "index"))
    wanted = {name: {one.id: one.payload for one in store.scroll(name)} for name in ("chunks", "documents")}
    store.close()
    for node in nodes:
        store = open_store(RemoteSource(node.url))
        for name, points in wanted.items():
            if points != {one.id: one.payload for one in store.scroll(name)}:
                return f"{name} on {node.url} differs from that of a first index"
        store.close()
    return f"each node has the {sum(map(len, wanted.values()))} points of a first index in a folder"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--askers", type=int, default=20)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--replicas", type=int, default=2)
    chosen = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="lmm-cluster-") as name, ExitStack() as using:
        folder = Path(name)
        course = bilingual_book(folder / "course")
        (course / "_quarto.yml").unlink()  # which would leave out what is no chapter
        (course / "config.toml").write_text("[serve]\nrate = 1000000\n", encoding="utf-8")
        nodes = start_nodes(folder, chosen.shards, chosen.replicas, using)
        url = using.enter_context(relay([node.url for node in nodes]))
        own = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "user")}
        env = os.environ | own | {"LMM_STORAGE__URL": url, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "lmm_core", "index", "-q", "."], cwd=course, env=env, check=True)
        command = [sys.executable, "-m", "lmm_core", "serve", "--port", "0"]
        port, _ = using.enter_context(started(command, r"at http://127\.0\.0\.1:(\d+)/", course, **env))
        askers = Askers(int(port), chosen.askers)
        asked = {question: askers.ask(question) for question, _ in questions("gold")[:40]}
        askers.wanted = {question: cited for question, cited in asked.items() if cited}
        trial = Trial(course, nodes, askers, env)
        first, second, third = nodes
        trial.during("nothing", lambda: None)
        trial.during("kill -9 of node 3", lambda: third.stop(kill=True), third.start)
        trial.during("kill -9 of node 1, the first", lambda: first.stop(kill=True), first.start)
        trial.during("node 2 hangs", lambda: signal_to(second, signal.SIGSTOP), lambda: go_on(second))
        columns = ["while the course is indexed", "answers", "wrong", "errors", "median s", "slowest s", "indexed in s",
                   "status, again", "whole after s"]  # fmt: skip
        print_table(f"{chosen.shards} shards, {chosen.replicas} replicas, {chosen.askers} askers", columns, trial.rows)
        print(check_stored(course, nodes, env))


def go_on(node: RealServer) -> None:
    """Let a node that hangs go on, after a while."""
    time.sleep(HUNG)
    signal_to(node, signal.SIGCONT)


def signal_to(node: RealServer, number: signal.Signals) -> None:
    """Send a signal to a node: a stopped one takes connections and answers nothing, as one that is cut off."""
    node.process.send_signal(number)


if __name__ == "__main__":
    main()
