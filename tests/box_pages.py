"""What the tests of the ask box share: a browser to look for, sites that are served, and the box opened."""

import shutil
import subprocess
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_A_BROWSER = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")]
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' http://127.0.0.1:*"
)


@contextmanager
def served(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class Static(SimpleHTTPRequestHandler):
    """Files, under a policy that lets no inline script or style run."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", STRICT)
        super().end_headers()

    def log_message(self, *args):
        pass


def opened(page, url, **fields):
    """A page with the box open and ready."""
    page.goto(url)
    page.keyboard.press("/")
    page.wait_for_selector("dialog.lmm-ask[data-ready]")
    return page


def search(page, words):
    page.get_by_role("searchbox").fill(words)
    return page.locator(".lmm-ask-hits li")


def put(page, question):
    """Ask."""
    page.get_by_role("searchbox").fill(question)
    page.keyboard.press("Enter")


def axe(cache):
    """The source of axe-core, which is no part of this project."""
    folder = cache.mkdir("axe-core")
    file = folder / "package" / "axe.min.js"
    if not file.is_file():
        if shutil.which("npm") is None:
            pytest.skip("no axe-core, and no npm to fetch it")
        done = subprocess.run(
            "npm pack axe-core@4 && tar xzf axe-core-*.tgz", shell=True, cwd=folder, capture_output=True
        )
        if done.returncode:
            pytest.skip("axe-core cannot be fetched")
    return file.read_text(encoding="utf-8")
