"""Take the pictures of index.md, publish.md and search.md.

Pandoc renders a chapter of the sample book, as `lmm course` does without Quarto, and a headless
Chromium takes the same place of the notes, the students' page and the instructor's page,
then the ask box (ask-*.png). overview.png has the example, annotated, beside its lecture notes.

    python docs/pictures.py [FOLDER]      (FOLDER: where the pictures go; docs/pictures)

Needs chromium, pandoc and `lmm` on PATH.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
LOOKS = DOCS.parent / "lmm_core" / "course" / "files" / "page.css"
CHAPTER = "07-computing"
PLACE = ".panel-tabset"  # where the pictures begin
WIDTH = 680  # pixels
QUESTION = "an *exercise* on leaving one student out"
BOX_PAGE, BOX_QUESTION = "02-describing", "when is a mean misleading?"
FRAME = """<style>
html, body { margin: 0; max-width: none; background: white; }
body { padding: 12px 20px; }
pre { margin: 0; padding: 14px 18px; border-radius: 6px; font: 13px/1.45 monospace; white-space: pre-wrap; }
pre.source { background: #f5f5f5; color: #222; }
pre.terminal { background: #1e2430; color: #dfe4ec; }
</style>"""

PANES = """<style>
body { display: grid; grid-template-columns: 620px 1fr; gap: 20px; align-items: start; }
pre.source { font-size: 11.5px; }
.lmm { background: #d7e8fa; }
.exercise { background: #f3dcef; }
article { padding: 0 24px 12px; border: 1px solid #ccc; border-radius: 6px; font: 16px/1.5 sans-serif; color: #222; }
article h1 { font-size: 20px; margin: 22px 0 8px; }
article h1.title { font-size: 26px; }
article h2 { font-size: 17px; }
</style>"""


def find_chromium():
    """Return the browser's command, or end the program with a message if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    if found := next(filter(None, map(shutil.which, names)), None):
        return found
    sys.exit("pictures.py: no chromium on PATH, which takes the pictures: install it (apt-get install chromium)")


def browse(page, *options):
    """Open a page in headless Chromium and return what it prints."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            find_chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-lcd-text", f"--user-data-dir={profile}",
            *options, page.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def take_picture(content, picture, width=WIDTH):
    """Take a picture of a page, from top to bottom. width: in pixels."""
    measure = "<script>document.documentElement.dataset.height = document.body.offsetHeight</script>"
    with tempfile.TemporaryDirectory() as work:
        page = Path(work) / "page.html"
        page.write_text(content.replace("</body>", f"{measure}</body>"), encoding="utf-8")
        height = re.search(r'data-height="(\d+)"', browse(page, f"--window-size={width},400", "--dump-dom"))[1]
        browse(page, f"--window-size={width},{height}", f"--screenshot={picture}")
    print(f"{picture}: {picture.stat().st_size // 1024} KB")


def from_place(page):
    """Return a rendered page from PLACE on."""
    hidden = f"<style>body > *:has(~ {PLACE}) {{ display: none; }}</style>"
    return page.read_text(encoding="utf-8").replace("</head>", f"{FRAME}{hidden}</head>")


def as_page(text, looks):
    """Return a page of plain text that looks like a file's source or a terminal."""
    return f'<html><head>{FRAME}</head><body><pre class="{looks}">{html.escape(text)}</pre></body></html>'


# A browser that only takes a picture cannot type into a page, so this script does it.
TYPE = """addEventListener("load", () => {
  const until = (found, then) => (found() ? then(found()) : setTimeout(until, 20, found, then));
  until(() => document.querySelector(".lmm-ask-open"), (button) => button.click());
  until(() => document.querySelector("dialog[data-ready]"), (dialog) => {
    const field = document.getElementById("lmm-ask-field");
    field.value = QUESTION;
    field.dispatchEvent(new Event("input"));
    TAB && document.getElementById("lmm-ask-tab-TAB").click();
    until(() => dialog.querySelector(".lmm-ask-card button"), (button) => TAB === "cards" && button.click());
  });
});"""


def take_box(site, picture, tab, size, *options):
    """Take a picture of a site's ask box, with a question in it or at one of its tabs."""
    script = TYPE.replace("lmm-ask-tab-TAB", f"lmm-ask-tab-{tab}").replace("TAB", json.dumps(tab))
    script = script.replace("QUESTION", json.dumps(BOX_QUESTION))
    page = site / "picture.html"
    shown = (site / f"{BOX_PAGE}.html").read_text(encoding="utf-8")
    page.write_text(shown.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    looks = (f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=4000", *options)
    browse(page, f"--screenshot={picture}", *looks)
    page.unlink()
    print(f"{picture}: {picture.stat().st_size // 1024} KB")


def take_boxes(book, folder):
    """Make the site of the sample book, and take the pictures of its ask box."""
    run("lmm", "course", "--no-quarto", book)
    site = book / "_book"
    take_box(site, folder / "ask-search.png", "", (WIDTH, 440))
    take_box(site, folder / "ask-dark.png", "cards", (WIDTH, 420), "--blink-settings=preferredColorScheme=0")
    take_box(site, folder / "ask-phone.png", "contents", (500, 640))


def take_overview(folder, picture):
    """Take a picture of the example as it stands in the file, annotated, beside its lecture notes."""
    notes = Path(shutil.copy(DOCS / "example.md", folder / "notes.md"))
    run("lmm", "rag", notes, folder=folder)
    source = re.sub(r"^~(?:~|docid).*\n", "", notes.read_text(encoding="utf-8"), flags=re.M)
    page = run("pandoc", "-F", "lmm-knit", "-M", f"lmm-source={notes}", notes, "-t", "html", folder=folder)
    title = "<h1 class='title'>Residuals</h1>"
    div = re.compile(r"^::: [{.]*(\w+).*?^:::$", re.M | re.S)
    coloured = div.sub(r"<span class='\1'>\g<0></span>", html.escape(source))
    panes = f"<pre class='source'>{coloured}</pre><article>{title}{page}</article>"
    take_picture(f"<html><head>{LOOKS}{PANES}</head><body>{panes}</body></html>", picture, 1100)


def render(book, name, *options):
    """Render the chapter and return the page's path."""
    looks = ("--mathml", "-s", "--css", LOOKS, "-M", f"pagetitle={CHAPTER}")
    run("pandoc", "-f", "markdown", "-F", "lmm-knit", *options, *looks, f"{CHAPTER}.qmd", "-o", name, folder=book)
    return book / name


def run(*command, folder=None):
    """Run a command and return its standard output; end the program with a message if it fails."""
    if shutil.which(command[0]) is None:
        sys.exit(f"pictures.py: no {command[0]} on PATH: no pictures were taken")
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"pictures.py: {command[0]} has failed (exit status {done.returncode}): no pictures were taken")
    return done.stdout


def main(folder):
    find_chromium()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        book = Path(shutil.copytree(DOCS.parent / "sample-book", Path(work) / "book"))
        students = render(book, "students.html")
        instructors = render(book, "instructors.html", "--metadata-file", "_quarto-instructor.yml")
        notes = (book / f"{CHAPTER}.qmd").read_text(encoding="utf-8")
        run("lmm", "index", ".", folder=book)
        found = run("lmm", "search", QUESTION, "-k", "2", folder=book)
        take_picture(as_page(notes[notes.index(f"::: {{{PLACE}}}") :], "source"), folder / "notes.png")
        take_picture(from_place(students), folder / "student.png")
        take_picture(from_place(instructors), folder / "instructor.png")
        take_boxes(book, folder)
        take_overview(Path(work), folder / "overview.png")
        take_picture(as_page(f'$ lmm search "{QUESTION}" -k 2\n{found.rstrip()}', "terminal"), folder / "search.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else DOCS / "pictures").resolve())
