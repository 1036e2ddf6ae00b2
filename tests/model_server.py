"""A server of the OpenAI protocol on loopback, for the real client: it answers as it is
told, makes the faults that it is told to make, and keeps what it was asked.

python -m tests.model_server --delay 0.3     prints its address, and serves until killed
"""

import argparse
import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zlib import crc32

OK = 200


def annotate(body):
    """What a model would say of a section: made of the text, so that other texts get
    other replies; free text where no schema asks for JSON."""
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    asked = said[-2 if said[-1].startswith("This cannot be used") else -1]
    text = re.search(r"<text>\n(.*?)\n</text>(.*)", asked, re.S)
    if not text:
        return f"Answer {crc32(asked.encode())}."
    words = (text[1] + text[2]).split()
    said = f"{' '.join(words[:6])} {crc32(' '.join(words).encode())}"
    wanted = "\n".join(message["content"] for message in body["messages"] if message["role"] == "system")
    reply = {"questions": [f"What of {said}?"], "summary": f"Summary of {said}."}
    return json.dumps({key: value for key, value in reply.items() if f"`{key}`" in wanted}, ensure_ascii=False)


class ModelServer:
    """`with ModelServer() as server`: `server.url` is its base URL.

    reply: a text, or a function from the request's body to a text; a bytes value is sent
    as the whole body. fault: a function from the request's body and its number (from 0)
    to an HTTP status, `"drop"` (the connection is closed), `"break"` (the same after the first
    part of a stream), `"end"` (the stream ends there, as if it were whole), `"stall"` (nothing
    follows its first word), or None. delay:
    seconds until an answer; a function from the body to them. schemas: whether it knows JSON
    schemas. refuses: a function from the body to a sentence in which OpenAI's server refuses one
    of its parameters, or None. key: the only key it takes. stream: whether it sends an answer in parts to who
    asks for that (None: refuses to), `pause` seconds between them. `models` is the body of
    its list of models."""

    models = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()

    def __init__(self, reply=annotate, fault=None, delay=0.0, schemas=True, key=None, stream=True, pause=0.0,
                 refuses=None):  # fmt: skip
        self.stream, self.pause, self.refuses = stream, pause, refuses
        self.reply, self.fault, self.delay, self.schemas, self.key = reply, fault, delay, schemas, key
        self.requests, self.keys = [], []
        self.at_once = self.most_at_once = 0
        self.left = threading.Semaphore(0)  # counts the clients that stall and did not wait for the end
        self.lock = threading.Lock()

    def __enter__(self):
        server = self

        class Handler(_Handler):
            model = server

        self.http = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()

    @property
    def count(self):
        """Requests for completions so far."""
        return len(self.requests)

    def answer(self, body, key):
        """Status and body of an answer, which is a list for the parts of a stream; None
        where the connection is dropped."""
        with self.lock:
            number = len(self.requests)
            self.requests.append(body)
            self.keys.append(key)
        if self.key is not None and key != f"Bearer {self.key}":
            return 401, _error(f"Incorrect API key provided: {key}")
        fault = self.fault(body, number) if self.fault else None
        if fault == "drop":
            return None
        if self.refuses and (refused := self.refuses(body)):
            return 400, _error(refused)
        if not self.schemas and "response_format" in body:
            return 400, _error("Unsupported parameter: response_format")
        if body.get("stream") and self.stream is None:
            return 400, _error("Unsupported parameter: stream")
        time.sleep(self.delay(body) if callable(self.delay) else self.delay)
        if fault in ("break", "end", "stall"):
            parts = parts_of(body, self.reply if isinstance(self.reply, str) else "part of it")
            return OK, [*parts[: 2 if fault == "stall" else 1], fault]
        if fault:
            return fault, _error(f"error {fault}")
        reply = self.reply(body) if callable(self.reply) else self.reply
        if body.get("stream") and self.stream and not isinstance(reply, bytes):
            return OK, parts_of(body, reply)
        return OK, reply if isinstance(reply, bytes) else completion(body, reply)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        """The list of models."""
        self.send(OK, self.model.models)

    def do_POST(self):
        """A completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.model.lock:
            self.model.at_once += 1
            self.model.most_at_once = max(self.model.at_once, self.model.most_at_once)
        try:
            answer = self.model.answer(body, self.headers.get("Authorization"))
        finally:
            with self.model.lock:
                self.model.at_once -= 1
        if answer is None:
            self.close_connection = True
        elif isinstance(answer[1], list):
            with suppress(ConnectionError):  # the client did not wait for the end
                self.send_parts(answer[1])
        else:
            self.send(*answer)

    def send(self, status, data):
        """Send an answer; after one that is a fault, clients need not wait before they try again."""
        self.send_response(status)
        if status != OK:
            self.send_header("Retry-After-Ms", "1")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_parts(self, parts):
        """Send an answer part by part, as the protocol has it."""
        self.send_response(OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            if part in ("break", "stall"):
                self.close_connection = True
                if part == "stall":
                    self.rfile.read(1)  # until the client goes away
                    self.model.left.release()
                return
            if part != "end":
                self.chunk(b"data: " + part + b"\n\n")
                time.sleep(self.model.pause)
        self.chunk(b"")

    def chunk(self, data):
        """One chunk of a body; the empty one is the last."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, *arguments):
        """Say nothing."""


def completion(body, text, finish="stop", tokens=20, **message):
    """A completion as the protocol has it; `message` goes over its role and content."""
    used = {"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens}
    message = {"role": "assistant", "content": text} | message
    choice = {"index": 0, "message": message, "finish_reason": finish}
    reply = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    return json.dumps({**reply, "usage": used}).encode("utf-8", "surrogatepass")


def parts_of(body, text):
    """The parts of a streamed completion: word by word, then the end, and what it cost."""
    base = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    deltas = [{"role": "assistant", "content": ""}, *({"content": word} for word in re.findall(r"\s*\S+\s*", text))]
    ends = [None] * len(deltas) + ["stop"]
    parts = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
             for delta, end in zip([*deltas, {}], ends, strict=True)]  # fmt: skip
    used = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    parts += [{**base, "choices": [], "usage": used}] if body.get("stream_options", {}).get("include_usage") else []
    return [json.dumps(part).encode("utf-8", "surrogatepass") for part in parts] + [b"[DONE]"]


def _error(message):
    return json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.3)
    with ModelServer(delay=parser.parse_args().delay) as running:
        print(running.url, flush=True)
        threading.Event().wait()
