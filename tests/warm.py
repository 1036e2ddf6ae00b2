"""Start our commands as processes without the half second that Python and the libraries take.

One server process for each test session has everything imported. `commands_folder` holds a
small program for each command, to be put first on PATH. Whoever starts one, a test or pandoc,
gets a fork of the server with the program's own descriptors, folder, environment, arguments
and limits, and its exit status. A few tests start the commands that are installed, to prove
that these work, too.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
from pathlib import Path

try:
    import resource
except ImportError:  # Windows can neither fork nor limit a process: each command is started as it is installed
    resource = None  # type: ignore[assignment]

BIN = Path(sys.executable).parent
FOLDER = "LMM_TEST_WARM"  # the variable that names the folder of the programs
COMMANDS = {
    "lmm": "lmm_core.cli",
    **{name: f"lmm_filters.{name.replace('-', '_')}" for name in
       ("lmm-rag", "lmm-knit", "lmm-chat", "lmm-index", "lmm-pass")},
}  # fmt: skip
PACKAGES = {"lmm_core": "lmm_core", "lmm_filters": "filters"}  # each with its folder
# Imported late by the commands, since they take long. (Of the quick tests, no command asks a Qdrant server.)
LIBRARIES = ("openai", "openai.types.chat", "qdrant_edge", "panflute", "pydantic_settings", "psutil", "httpx")

# Nothing but built-in modules: this is what each start of a command costs. Python's own variables
# and the locale decide how Python starts, so that with others the real command is run.
PROGRAM = """#!{python} -IS
import _socket, marshal, os, resource, sys
name = os.path.basename(sys.argv[0])
real = os.path.join({bin!r}, name)
environment = dict(os.environ)
own = {{key: value for key, value in environment.items() if key.startswith(("PYTHON", "LC_", "LANG"))}}
if own != {locale!r} or None in (sys.stdin, sys.stdout, sys.stderr):  # a descriptor that is closed
    os.execv(real, [real, *sys.argv[1:]])
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
limits = {{number: resource.getrlimit(number) for number in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_NOFILE)}}
umask = os.umask(0)
os.umask(umask)
start = marshal.dumps((os.getpid(), os.getcwd(), [real, *sys.argv[1:]], environment, umask, limits))
descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
try:
    server.connect({address!r})
    server.sendmsg([len(start).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
except OSError:  # the server is not ready yet
    os.execv(real, [real, *sys.argv[1:]])
while start:
    start = start[server.send(start):]
status = server.recv(1)
os._exit(status[0] if status else 255)
"""


def start_server(folder: Path) -> subprocess.Popen[bytes]:
    """Write the programs into a folder and start the server behind them. It ends with its
    standard input. Name the folder in the environment, for the processes of pytest-xdist."""
    address = str(folder / "server")
    kept = {key: value for key, value in os.environ.items() if key.startswith(("PYTHON", "LC_", "LANG"))}
    for name in COMMANDS:
        program = folder / name
        program.write_text(PROGRAM.format(python=sys.executable, bin=str(BIN), locale=kept, address=address))
        program.chmod(0o755)
    os.environ[FOLDER] = str(folder)
    return subprocess.Popen([sys.executable, "-m", "tests.warm", address], cwd=Path(__file__).parents[1],
                            stdin=subprocess.PIPE)  # fmt: skip


def search_path() -> str:
    """Return a PATH that finds our commands, the ready ones before the installed ones."""
    return os.pathsep.join(str(folder) for folder in (os.environ.get(FOLDER), BIN) if folder)


def serve(address: str) -> None:
    """Fork for each program that asks, until standard input ends."""
    before = dict(os.environ)
    for module in _modules():
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module)
    added = {key: value for key, value in os.environ.items() if key not in before}
    assert threading.active_count() == 1, "a thread does not survive a fork"
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(64)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        program, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _run(program, added)
        program.close()


def _modules() -> list[str]:
    ours = [
        (name, path.relative_to(folder))
        for name, folder in PACKAGES.items()
        for path in Path(folder).rglob("[a-z]*.py")
    ]
    return [*LIBRARIES, *(".".join((name, *path.with_suffix("").parts)) for name, path in ours)]


def _run(program: socket.socket, added: dict[str, str]) -> None:
    """Be the command that a program was started as, and tell it the exit status."""
    size, descriptors, _, _ = socket.recv_fds(program, 4, 3)
    with program.makefile("rb") as reader:
        pid, folder, arguments, environment, umask, limits = marshal.loads(reader.read(int.from_bytes(size, "big")))
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update({**added, **environment})
    for number, values in limits.items():
        resource.setrlimit(number, values)
    sys.argv = arguments
    sys.modules["__main__"] = types.ModuleType("__main__")
    _open_streams()
    _stand_for(pid)
    status = _status(COMMANDS[Path(arguments[0]).name])
    with contextlib.suppress(OSError):  # the program was killed
        program.send(bytes([status]))
    os._exit(status)


def _open_streams() -> None:
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = open(number, "w" if number else "r", encoding=old.encoding, errors=old.errors, closefd=False,
                      buffering=1 if number == 2 or os.isatty(number) else -1)  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stand_for(pid: int) -> None:
    """Take the program for this process: its parent is pandoc, ours is the server."""
    import psutil

    parent = psutil.Process(pid).ppid()
    os.getppid = lambda: parent
    start = psutil.Process.__init__
    psutil.Process.__init__ = lambda self, given=None: start(self, pid if given is None else given)  # type: ignore[method-assign]


def _status(module: str) -> int:
    """Run a command's main function, and what Python runs at its end. Return the exit status."""
    status = 0
    try:
        importlib.import_module(module).main()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (what Python itself would print)
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        status = 120
    return status


if __name__ == "__main__":
    serve(sys.argv[1])
