"""What the tests of the ask box share: a browser to look for, sites that are served, and the box opened."""

import shutil
import subprocess
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lmm_core.logging import ListLogger
from lmm_core.quarto.render import run_stage
from tests.commands import pandocs, run, text, write

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_A_BROWSER = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")]
STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' http://127.0.0.1:*"
)


@contextmanager
def chromium():
    """A browser. Begin it after all else that a test needs: playwright has an event loop of its own in the thread."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


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
    """The hits for some words, when all are there."""
    page.locator("#lmm-ask-field").fill(words)
    page.wait_for_selector(".lmm-ask-hits:not([aria-busy])", state="attached")
    return page.locator(".lmm-ask-hits li")


def choose(page, name):
    """The panel of a tab of the box, when it is filled."""
    page.get_by_role("tab", name=name).click()
    page.wait_for_selector(f"#lmm-ask-{name.lower()}:not([aria-busy])", state="attached")
    return page.locator(f"#lmm-ask-{name.lower()}")


def put(page, question):
    """Ask."""
    page.locator("#lmm-ask-field").fill(question)
    page.keyboard.press("Enter")


def make_site(notes, ask="true", title="Site"):
    """A site of one page in the working folder."""
    write("_quarto.yml", f"project:\n  type: website\nlang: en\nlmm:\n  index: false\n  ask: {ask}\n")
    write("notes.md", notes)
    Path("_site").mkdir(exist_ok=True)
    assert (
        run(f"pandoc -F lmm-knit -s -M pagetitle={title} notes.md -o _site/notes.html", pandocs()[-1]).returncode == 0
    )
    logger = ListLogger()
    assert run_stage("post-render", {}, Path(), logger) == 0, logger.reports
    return Path("_site").resolve()


VIOLATIONS = """axe.run(document.querySelector('dialog')).then(
  found => found.violations.map(one => [one.id, one.nodes[0].html]))"""


def axe(cache):
    """The source of axe-core."""
    return text(npm_package(cache, "axe-core", "4") / "axe.min.js")


def npm_package(cache, name, version):
    """The folder of a package that is no part of this project; fetched once."""
    folder = cache.mkdir(name)
    if not (folder / "package" / "package.json").is_file():
        if shutil.which("npm") is None:
            pytest.skip(f"no {name}, and no npm to fetch it")
        command = f"npm pack {name}@{version} && tar xzf {name}-*.tgz"
        if subprocess.run(command, shell=True, cwd=folder, capture_output=True).returncode:
            pytest.skip(f"{name} cannot be fetched")
    return folder / "package"
