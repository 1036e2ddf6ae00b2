"""A server of the OpenAI protocol that embeds, and chats as `ModelServer` does: a vector's first
number is the text's length."""

import json
from zlib import crc32

from tests.model_server import OK, ModelServer


class EmbeddingServer(ModelServer):
    """`lose`: so many vectors are left out of each answer; `status`: of each answer."""

    def __init__(self, lose=0, **options):
        super().__init__(**options)
        self.lose, self.status = lose, OK

    def answer(self, body, key):
        """The vectors, last text first: the client has to look at their numbers."""
        if "messages" in body:
            return super().answer(body, key)
        with self.lock:
            self.requests.append(body)
            self.keys.append(key)
        if self.status != OK:
            return self.status, json.dumps({"error": {"message": "no", "code": None}}).encode()
        data = [
            {"object": "embedding", "index": at, "embedding": self.vector(text)}
            for at, text in enumerate(body["input"])
        ]
        used = {"prompt_tokens": len(body["input"]), "total_tokens": len(body["input"])}
        reply = {"object": "list", "data": data[self.lose :][::-1], "model": body["model"], "usage": used}
        return OK, json.dumps(reply).encode()

    def vector(self, text):
        """Numbers that other texts do not have."""
        return [float(len(text)), *(crc32(f"{at}{text}".encode()) % 1000 / 1000 for at in range(7))]
