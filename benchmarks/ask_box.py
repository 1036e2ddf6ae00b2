"""What the ask box costs a page, how soon it is ready, and how long a keystroke takes, in
headless Chromium.

python benchmarks/ask_box.py [--chunks 3000] [--runs 15]

Needs playwright and chromium. The site is made of the corpora; its pages have little else on
them, so that what the box adds is seen.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles

from tables import machine, print_table, say
from texts import CORPORA

from lmm_core.errors import ConfigError, MarkdownError
from lmm_core.index.documents import encode_file
from lmm_core.logging import ListLogger
from lmm_core.markdown.files import find_markdown
from lmm_core.quarto.ask_box.box import write_box
from lmm_core.quarto.ask_box.material import SitePage
from lmm_core.quarto.options import AskBoxSettings
from lmm_core.settings.project import Project

QUERIES = (
    "why is the mean misleading",
    "how do i install the package",
    "confidence interval for a proportion",
    "configuration of the server",
    "regression with two variables",
)
PAGE = "<!doctype html><html lang=en><head><title>T</title>{}</head><body><h1>T</h1><p>Text.</p></body></html>"
OPENING = """async (query) => {
  const start = performance.now(), until = async (done) => {
    while (!done()) await new Promise((resolve) => setTimeout(resolve, 1));
    return performance.now() - start;
  };
  document.querySelector(".lmm-ask-open").click();
  const typing = await until(() => document.activeElement?.id === "lmm-ask-field");
  const field = document.activeElement;
  field.value = query;
  field.dispatchEvent(new Event("input"));
  const hit = await until(() => document.querySelector(".lmm-ask-hits li"));
  field.value = "";
  return { typing, hit };
}"""
TYPING = """async (queries) => {
  performance.setResourceTimingBufferSize(10000);
  const field = document.getElementById("lmm-ask-field"), hits = document.querySelector(".lmm-ask-hits");
  const times = { first: [], all: [] };
  const changes = (what) => new Promise((resolve) => new MutationObserver((_, observer) => {
    observer.disconnect();
    hits.getBoundingClientRect(); // laid out
    resolve(performance.now());
  }).observe(hits, what));
  for (const query of queries) for (let end = 1; end <= query.length; end++) {
    const all = changes({ attributeFilter: ["data-nothing"] }), start = performance.now(); // once all are there
    const first = Promise.race([changes({ childList: true }), all]);
    field.value = query.slice(0, end);
    field.dispatchEvent(new Event("input"));
    times.first.push((await first) - start);
    times.all.push((await all) - start);
  }
  return times;
}"""
ANSWER = (
    "The mean $\\bar{x}_1$ and `a[1]` [1] have *some* words, $\\frac{a}{b}$ too.\n\n- $x_1 \\le \\mu$\n- two\n\n" * 10
)
DRAWING = """async (answer) => {
  const log = document.querySelector(".lmm-ask-log"), times = [];
  const draw = () => {
    log.replaceChildren(...lmmAsk.markdown(answer, () => null, true));
    log.getBoundingClientRect(); // laid out
  };
  draw();
  while (!log.querySelector("math")) await new Promise((resolve) => setTimeout(resolve, 5));
  for (let at = 0; at < 20; at++) {
    const start = performance.now();
    draw();
    times.push(performance.now() - start);
  }
  return times;
}"""
LOADED = """() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname.split("/").pop())"""
LOAD = """() => {
  const [entry] = performance.getEntriesByType("navigation");
  return entry.loadEventStart - entry.responseEnd;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as by any host
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def make_site(folder: Path, wanted: int) -> tuple[Path, int]:
    """A site of the corpora, some twice if that is needed, and how many chunks it has."""
    output, pages, count = folder / "_site", list[SitePage](), 0
    output.mkdir()
    for number, path in enumerate(cycle(find_markdown([CORPORA]))):
        source = folder / f"{number}.md"
        shutil.copyfile(path, source)
        try:
            count += len(encode_file(source, Project(folder), ListLogger()))
        except (MarkdownError, ConfigError, OSError):
            continue
        (output / f"{number}.html").write_text(PAGE.format(""), encoding="utf-8")
        pages.append(SitePage(source, f"{number}.html"))
        if count >= wanted:
            break
    write_box(output, pages, Project(folder), AskBoxSettings(), {"lang": "en"}, ListLogger())
    (output / "plain.html").write_text(PAGE.format(""), encoding="utf-8")
    (output / "empty.html").write_text(PAGE.format("<script async src=empty.js></script>"), encoding="utf-8")
    (output / "empty.js").touch()
    return output / pages[0].page, count


def loading(browser: object, address: str, names: Sequence[str], runs: int) -> dict[str, float]:
    """Milliseconds from a page's last byte to its load event, medians; by turns."""
    times: dict[str, list[float]] = {name: [] for name in names}
    page = browser.new_page()  # type: ignore[attr-defined]
    for _ in range(runs + 1):
        for name in names:
            page.goto(f"{address}/{name}", wait_until="load")
            times[name].append(page.evaluate(LOAD))
    page.close()
    return {name: median(found[1:]) for name, found in times.items()}


class Processor:
    """The processor time of a page's main thread."""

    def __init__(self, page: object) -> None:
        self.session = page.context.new_cdp_session(page)  # type: ignore[attr-defined]
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent(self) -> float:
        """Milliseconds since the page began."""
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return next(1000 * float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


@dataclass
class Measured:
    """Milliseconds of loading by page, of first openings (`work`: of the page's processor), of keystrokes (to the first
    hits, to all; `work` of each in a run) and of drawing answers; the files that are loaded by the first hits, and by
    all questions."""

    loads: dict[str, float]
    opened: list[dict[str, float]] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    frames: list[float] = field(default_factory=list)
    by_hits: list[str] = field(default_factory=list)
    by_questions: list[str] = field(default_factory=list)


def measure(site: Path, runs: int) -> Measured:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or sys.exit("ask_box.py: no chromium on PATH")
    with sync_playwright() as playwright, served(site.parent) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = Measured(loading(browser, address, (site.name, "empty.html", "plain.html"), runs))
        for run in range(runs):
            page = browser.new_context().new_page()  # nothing cached
            processor = Processor(page)
            page.goto(f"{address}/{site.name}")
            page.wait_for_selector(".lmm-ask-open")
            before = processor.spent()
            found.opened.append(page.evaluate(OPENING, QUERIES[0]))
            found.opened[-1]["work"] = processor.spent() - before
            found.by_hits = page.evaluate(LOADED)
            if run < 3:
                page.wait_for_load_state("networkidle")  # the data of a small site are loaded whole
                before = processor.spent()
                keys = page.evaluate(TYPING, list(QUERIES))
                found.work.append((processor.spent() - before) / len(keys["all"]))
                found.first += keys["first"]
                found.all += keys["all"]
                found.by_questions = page.evaluate(LOADED)
                for script in ("markdown-it.js", "markdown.js"):  # which a box without a server does not load
                    page.evaluate("(name) => lmmAsk.load(name)", script)
                found.frames += page.evaluate(DRAWING, ANSWER)
            page.context.close()
        browser.close()
    return found


def report(site: Path, chunks: int, runs: int) -> None:
    """Measure, and print the table."""
    found = measure(site, runs)
    data = site.parent / "lmm-ask"

    def size(names: Iterable[str]) -> str:
        return f"{sum(len(gzip.compress((data / name).read_bytes())) for name in names) / 1000:,.1f} KB"

    def ms(name: str) -> str:
        return f"{median(one[name] for one in found.opened):.0f} ms"

    def later(name: str) -> str:
        return f"{found.loads[name] - found.loads['plain.html']:.1f} ms"

    rows = [
        ["a page, before it is opened (gzip)", size(("ask.js", "ask.css")), "<= 20 KB"],
        ["… its load event comes later by", later(site.name), "<= 10 ms"],
        ["… and by, if its script is empty", later("empty.html"), ""],
        ["first opening: ready to type", ms("typing"), "<= 500 ms"],
        ["… first hits", ms("hit"), "<= 100 ms"],
        ["… the page's processor until then", ms("work"), ""],
        ["… loaded by then (gzip)", size(found.by_hits), ""],
        ["a keystroke to the first hits, median", f"{median(found.first):.1f} ms", ""],
        ["… 95th percentile", f"{quantiles(found.first, n=20)[-1]:.1f} ms", "<= 30 ms"],
        ["a keystroke to all hits, median", f"{median(found.all):.1f} ms", ""],
        ["… 95th percentile", f"{quantiles(found.all, n=20)[-1]:.1f} ms", "<= 100 ms"],
        ["… the page's processor, mean", f"{median(found.work):.1f} ms", ""],
        [f"loaded after {len(QUERIES)} questions, letter by letter (gzip)", size(found.by_questions), ""],
        ["all data and scripts (gzip)", size(path.name for path in data.iterdir() if path.is_file()), ""],
        [f"an answer of {len(ANSWER)} characters with formulas", f"{median(found.frames):.1f} ms", "<= 16 ms"],
    ]
    print_table(f"The ask box on {chunks} chunks: medians of {runs} runs", ["", "", "wanted"], rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=3000)
    options.add_argument("--runs", type=int, default=15)
    given = options.parse_args()
    say(machine())
    with tempfile.TemporaryDirectory() as folder:
        site, chunks = make_site(Path(folder), given.chunks)
        report(site, chunks, given.runs)


if __name__ == "__main__":
    main()
