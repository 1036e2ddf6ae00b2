"""The server that does the work of a render, on Linux: same output, and an end with the render."""

import json
import marshal
import os
import re
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from lmm_core.quarto.render_server import place, server
from lmm_core.quarto.render_server.server import BEGUN
from tests.commands import BIN, write
from tests.effort import PATIENCE
from tests.quarto_scripts import EXTENSION, add_extension, command_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no server on this system")

EXERCISE = {"t": "Div", "c": [["", ["exercise"], []], [{"t": "Para", "c": [{"t": "Str", "c": "Compute."}]}]]}
PAGE = {"pandoc-api-version": [1, 23, 1], "meta": {"lmm-asked": {"t": "MetaBool", "c": True}},
        "blocks": [{"t": "Para", "c": [{"t": "Str", "c": "Mean."}]}, EXERCISE]}  # fmt: skip
NOTES = "# Mean\n\nMean.\n\n::: exercise\nCompute.\n:::\n"
# What the extension's Lua filter starts.
CLIENT = [BIN / "python3", "-I", "-S"]
SCRIPT = EXTENSION / "lmm_client.py"
# The same, which says so if it runs `lmm-knit` in its place.
WATCHED = """
import runpy, sys
sys.addaudithook(lambda event, _: print(event, file=sys.stderr) if event == "os.exec" else None)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project, the commands as they are installed, and a cache folder with a short name, as sockets need it."""
    cache = tempfile.mkdtemp(prefix="lmm-")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    write(tmp_path / "_quarto.yml", "project: {type: website}\nfilters: [lmm]\nlmm: {index: false}\n")
    write(tmp_path / "notes.qmd", NOTES)
    (tmp_path / "_site").mkdir()
    add_extension(tmp_path)
    monkeypatch.setenv("QUARTO_PROJECT_DIR", str(tmp_path))
    yield tmp_path
    hook("post")  # ends the server, if there is one
    shutil.rmtree(cache)


def hook(stage, **changes):
    """Run a hook as Quarto does, which is this process."""
    return run(command_of(stage), **changes)


def page(*options, knit=BIN / "lmm-knit", **changes):
    """Run the filter of the page, as pandoc does in Quarto."""
    folder = os.environ["QUARTO_PROJECT_DIR"]
    named = {"QUARTO_DOCUMENT_PATH": folder, "QUARTO_DOCUMENT_FILE": "notes.qmd"}
    return run([*CLIENT, *options, SCRIPT, knit, "html"], json.dumps(PAGE), **named, **changes)


def is_served(**changes):
    """Tell whether the server does the work of the page, which has to be right."""
    status, out, said = page("-c", WATCHED, **changes)
    assert (status, json.loads(out)["blocks"]) == (0, PAGE["blocks"][:1])
    return "os.exec" not in said


def run(command, data="", **changes):
    """Run a command; what it returned and said."""
    done = subprocess.run(command, input=data, capture_output=True, text=True, env={**os.environ, **changes})
    return done.returncode, done.stdout, done.stderr


def alone(project):
    """What the page gives where there is no server."""
    return page(OTHER="1")


def imported(said):
    """The modules that Python says it has imported (`-X importtime`)."""
    return set(re.findall(r"^import time:.*\| +(\S+)$", said, re.M))


def server_of(project):
    """The process that listens for a project, which is at first the hook that has forked it."""
    for _ in range(int(PATIENCE * 100)):
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(place.socket_path(project)))
            process = int.from_bytes(one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
        if is_there(process):
            return process
        time.sleep(0.01)
    raise AssertionError("no server")


def is_there(process):
    """Tell whether a process runs."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(process):
    """Tell whether a process has ended, or ends soon."""
    for _ in range(int(PATIENCE * 100)):
        if not is_there(process):
            return True
        time.sleep(0.01)
    return False


def test_a_page_imports_next_to_nothing(project):
    hook("pre")
    status, out, said = page("-X", "importtime")
    assert (status, json.loads(out)["blocks"]) == (0, PAGE["blocks"][:1])
    assert not any(name.startswith("lmm_") for name in imported(said))
    assert imported(said).isdisjoint({"site", "socket", "pathlib", "re", "typing"})


def test_the_hook_after_a_render_imports_next_to_nothing(project):
    hook("pre")
    command = command_of("post")
    status, _, said = run([command[0], "-X", "importtime", *command[1:]])
    assert status == 0
    assert not any(name.startswith("lmm_") for name in imported(said))
    assert imported(said).isdisjoint({"site", "socket", "pathlib", "re", "shutil", "typing"})


def test_where_the_hook_before_a_render_stops_it_there_is_no_server(project):
    write(project / "other.qmd", "# Mean\n\n---\ntype: exercise\n---\nCompute.\n")
    assert hook("pre")[0] == 1
    assert not place.socket_path(project).exists()


def test_where_threads_are_left_there_is_no_server(project):
    code = (
        "import sys, threading\nfrom pathlib import Path\n"
        "from lmm_core.quarto.render_server.server import start_server\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\nstart_server(Path(sys.argv[1]))\n"
    )
    assert run([sys.executable, "-c", code, project])[0] == 0
    assert not place.socket_path(project).exists()


def test_a_page_that_the_server_forks_imports_nothing_of_ours(project):
    code = (
        "import sys\nfrom lmm_core.quarto.render_server.server import _import\nfrom lmm_filters.knit.page import run\n"
    )
    code += "_import()\nthere = {*sys.modules}\nrun()\nprint(*{*sys.modules} - there, file=sys.stderr)"
    named = {"QUARTO_DOCUMENT_PATH": str(project), "QUARTO_DOCUMENT_FILE": "notes.qmd"}
    status, out, said = run([sys.executable, "-c", code], json.dumps(PAGE), **named)
    assert (status, json.loads(out)["blocks"]) == (0, PAGE["blocks"][:1])
    assert not any(name.startswith(("lmm_", "panflute")) for name in said.split())


def test_the_server_ends_with_the_hook_after_the_render(project):
    hook("pre")
    process = server_of(project)
    assert hook("post") == (0, "", "")
    assert is_gone(process)
    assert not place.socket_path(project).exists()


def test_the_server_ends_with_quarto(project):
    code = f"import subprocess, sys; subprocess.run({command_of('pre')}); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as quarto:
        assert quarto.stdout.readline() == "ready\n"
        process = server_of(project)
        quarto.kill()
    assert is_gone(process)


def test_the_server_ends_when_nobody_asks(project, monkeypatch):
    monkeypatch.setattr(server, "IDLE", 0)
    one = server._listen(project)
    assert one.serve() is None
    one.close()
    assert not place.socket_path(project).exists()


@pytest.mark.parametrize(
    "notes",
    [NOTES, NOTES.replace("# Mean", "---\na: [\n---\n\n# Mean"), "# A\n\n::: exercize\nB\n:::\n", "::: {.lmm\n"],
)
def test_a_page_says_and_gives_what_it_would_without_a_server(project, notes):
    hook("pre")
    write(project / "notes.qmd", notes)
    assert page() == alone(project)


def test_the_hook_after_a_render_says_what_it_would_without_a_server(project):
    write(project / "_site/notes.html", "<p>Compute the mean of these nine values by hand, and the median.</p>")
    write(
        project / "notes.qmd",
        NOTES.replace("Compute.", "Compute the mean of these nine values by hand, and the median."),
    )
    without = hook("post")
    hook("pre")
    assert hook("post") == without
    assert without[0] == 1


def test_a_page_has_its_own_environment_and_folder(project):
    hook("pre")
    os.chdir(project)
    named = {"QUARTO_DOCUMENT_FILE": "notes.qmd", "QUARTO_DOCUMENT_PATH": "."}
    write("notes.qmd", "::: exercize\nB\n:::\n")
    command = [*CLIENT, SCRIPT, BIN / "lmm-knit", "html"]
    with_server = run(command, json.dumps(PAGE), **named)
    assert with_server == run(command, json.dumps(PAGE), **named, OTHER="1")
    assert "notes.qmd" in with_server[2]


@pytest.mark.parametrize("changes", [{"OTHER": "1"}, {"PYTHONUTF8": "1"}, {"LC_ALL": "C"}])
def test_in_another_environment_a_page_does_its_work_itself(project, changes):
    hook("pre")
    assert is_served()
    assert not is_served(**changes)


def test_where_pythons_variables_change_what_a_command_does_there_is_no_server(project):
    hook("pre", PYTHONUTF8="1")
    assert not is_served(PYTHONUTF8="1")


def test_empty_variables_which_pandoc_does_not_hand_on(project):
    hook("pre", OTHER="")
    assert is_served()


def test_the_client_and_the_server_mean_the_same_place(project, monkeypatch):
    ask = runpy.run_path(SCRIPT)["socket_path"]
    assert ask(str(project)) == str(place.socket_path(project))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert ask(str(project)) == str(place.socket_path(project))


OTHERS = {
    "another program": "#!/bin/sh\nexec cat\n",
    "for another Python": "#!/no/such/python\nfrom lmm_filters.lmm_knit import main\nmain()\n",
}


@pytest.mark.parametrize("program", OTHERS.values(), ids=OTHERS)
def test_an_lmm_knit_that_is_another_program_is_run_itself(project, program):
    hook("pre")
    other = write(project / "bin" / "lmm-knit", program)
    other.chmod(0o755)
    status, out, said = page("-c", WATCHED, knit=other)
    assert "os.exec" in said
    assert (status == 0 and json.loads(out) == PAGE) == ("cat" in program)


REQUESTS = {
    "nothing": lambda: b"nothing",
    "too little": lambda: marshal.dumps(("lmm_filters.knit.page:run", [], "/", dict(os.environ))),
    "a module": lambda: request("no.such.module:run"),
    "a function": lambda: request("lmm_filters.knit.page:no_such_function"),
}


def request(work):
    """Return what a client sends."""
    return marshal.dumps((work, [], "/", dict(os.environ), place.own_mark()))


def send(connection, said):
    """Send it as a client does."""
    socket.send_fds(connection, [len(said).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(said)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_request_of_another_version_is_refused(project, kind):
    hook("pre")
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(place.socket_path(project)))
        send(one, REQUESTS[kind]())
        assert one.recv(1) == b""
    assert is_served()


def test_no_library_reports_its_use_from_a_process_of_the_server(tmp_path):
    code = "import os\nfrom lmm_core.quarto.render_server import server\ndef show():\n"
    code += "    print(os.environ['ORT_DISABLE_TELEMETRY'], os.environ['HF_HUB_DISABLE_TELEMETRY'])\n    return 0\n"
    code += "streams = [os.dup(number) for number in range(3)]\n"
    code += "server.Request('__main__:show', [], '.', {'ORT_DISABLE_TELEMETRY': '0'}, streams).run()\n"
    assert run([sys.executable, "-c", code])[1] == "0 1\n"


def test_after_an_update_of_the_package_a_page_does_its_work_itself(project, monkeypatch):
    one = server._listen(project)
    monkeypatch.setattr(server, "program_time", lambda: one.time + 1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, request("lmm_filters.knit.page:run"))
        assert one._read(theirs) is None
    one.close()


def test_where_others_may_enter_the_folder_there_is_no_server(project):
    folder = place.socket_path(project).parent
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    assert hook("pre") == (0, "", "")
    assert [*folder.iterdir()] == []


def test_a_server_that_was_killed_leaves_the_work_to_the_page(project):
    hook("pre")
    os.kill(server_of(project), signal.SIGKILL)
    assert page() == alone(project)


def test_work_for_a_page_that_was_killed_ends(project):
    """The page waits for its input, which this test does not send."""
    hook("pre")
    named = {"QUARTO_DOCUMENT_PATH": str(project), "QUARTO_DOCUMENT_FILE": "notes.qmd"}
    client = [*CLIENT, SCRIPT, BIN / "lmm-knit", "html"]
    with subprocess.Popen(client, stdin=-1, env={**os.environ, **named}) as asking:
        works = child_of(server_of(project))
        asking.kill()
        assert is_gone(works)


@pytest.mark.parametrize(
    "work",
    [
        "print('done', end='')",
        "threading.Timer(0.1, print, ['late']).start()",
        "from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor().submit(print, 'in a pool')",
    ],
)
def test_a_process_of_the_server_ends_as_python_does(work):
    """It runs what is to be run at the end, waits for threads, and writes what it has kept."""
    begin = "import atexit, sys, threading, time\nfrom lmm_core.quarto.render_server.server import _end\n"
    begin += f"atexit.register(print, 'end')\n{work}\n"
    ends = [run([sys.executable, "-c", f"{begin}{end}(3)"], PYTHONUNBUFFERED="") for end in ("_end", "sys.exit")]
    assert ends[0] == ends[1]
    assert (ends[0][0], "end" in ends[0][1]) == (3, True)


def test_a_process_of_the_server_says_what_it_cannot_write():
    code = "import sys; from lmm_core.quarto.render_server.server import _end; print('done'); {}(0)"
    env = {**os.environ, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        for end in ("_end", "sys.exit"):
            done = subprocess.run([sys.executable, "-c", code.format(end)], stdout=full, stderr=-1, text=True, env=env)
            assert (done.returncode, "No space" in done.stderr) == (120, True)


def test_a_process_of_the_server_does_not_take_its_modules_apart():
    code = "import threading\nfrom lmm_core.quarto.render_server.server import _end\n"
    code += "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"  # as the time limit of a page
    code += "class Thing:\n    def __del__(self): print('apart')\nthing = Thing()\n_end(0)"
    assert run([sys.executable, "-c", code]) == (0, "", "")


def child_of(process):
    """The first process that another one starts."""
    for _ in range(int(PATIENCE * 100)):
        if found := Path(f"/proc/{process}/task/{process}/children").read_text().split():
            return int(found[0])
        time.sleep(0.01)
    raise AssertionError("no child")


@pytest.mark.parametrize(("answer", "status"), [(b"", 0), (b"0", 0), (BEGUN, 1), (BEGUN + b"7", 7)])
def test_work_that_has_begun_is_not_done_twice(project, answer, status):
    """A page whose server dies at its work fails: what it read is gone."""
    path = place.socket_path(project)
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        asked = threading.Thread(target=answer_one, args=(listener, answer))
        asked.start()
        done = page()
        asked.join()
        path.unlink()
    assert done[0] == status
    assert ("was ended" in done[2]) == (answer == BEGUN)


def answer_one(listener, answer):
    """Answer one request as a server would that dies then."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as reader:
        reader.read(int.from_bytes(reader.read(4), "big"))
        connection.sendall(answer)
