"""The server of a render: it forks for each command that asks.

It ends after the hook behind the render, with Quarto, or when nobody has asked for a while. Only on Linux: on
macOS a process that has forked may not use the system's libraries, and Windows cannot fork.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ... import NO_REPORTS
from ...workflows.known.forks import may_fork
from .place import is_ours, is_usual, own_mark, own_variables, program_time, socket_path

if TYPE_CHECKING:
    import socket

IDLE = 60.0  # seconds without a request after which it ends
BEGUN = b"+"
SIZE = 4  # bytes that say how long a request is
_PATIENCE = 5  # seconds for a request to arrive
LAST = "lmm_core.quarto.hook:after_render"  # the work after which it ends
_NEEDED = (  # for pages, and after the render
    "native_blocks", "after_render", "render", "ask_box", "leaks",
    "..workflows.indexing.reports", "..workflows.indexing.run", "..workflows.indexing.stores",
    "..workflows.known.cache", "..workflows.models", "..workflows.typos",
)  # fmt: skip


class Request(NamedTuple):
    """Work that is to be done. work: a function (`module:name`) that returns the exit
    status; streams: descriptors of standard input, output and error."""

    work: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]

    def run(self) -> int:
        """Do the work in this process, made like the one that asks, and return the exit status."""
        for number, descriptor in enumerate(self.streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        _open_streams()
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(NO_REPORTS | self.environment)
        sys.argv[:] = self.arguments
        status: int = _function(self.work)()
        return status


@dataclass(slots=True)
class Server:
    """A server that listens. inode: of its socket; quarto: a descriptor of the process whose render it serves;
    variables: those that a command which it can stand for has, too; time: when its program was installed; jobs:
    by descriptors of processes, what these are and who has asked for them."""

    listener: socket.socket
    path: Path
    inode: int
    quarto: int
    variables: dict[str, str]
    time: int
    is_open: bool = True
    jobs: dict[int, tuple[int, socket.socket]] = field(default_factory=dict)

    def serve(self) -> Request | None:
        """Work until the end, and return None then. In a process that is made for a request, return that."""
        from select import select

        while self.is_open or self.jobs:
            asking = [connection for _, connection in self.jobs.values()]
            doors = [self.listener] if self.is_open else []
            watched: list[Any] = [self.quarto, *asking, *self.jobs, *doors]
            ready = select(watched, [], [], IDLE)[0]
            if self.quarto in ready or not (ready or self.jobs):
                return None
            for one in ready:
                if one in self.jobs:
                    self._finish(one)
                elif one in asking:  # it sends nothing more, so that it is gone
                    self._give_up(one)
                elif request := self._accept():
                    return request
        return None

    def close(self) -> None:
        """Listen no more, and remove the socket if it is not that of a later server."""
        self.is_open = False
        self.listener.close()
        with suppress(OSError):
            if self.path.stat().st_ino == self.inode:
                self.path.unlink()

    def _accept(self) -> Request | None:
        """Fork for a request that fits, and return it in the process made for it, else None."""
        if sys.platform != "linux":
            return None
        connection, _ = self.listener.accept()
        request = self._read(connection)
        pid = _fork() if request else None
        if request and pid == 0:
            self.inode = 0  # the socket is not this process's
            self.listener.close()
            connection.sendall(BEGUN)
            connection.close()
            return request
        if request:
            for descriptor in request.streams:
                os.close(descriptor)
        if request and pid:
            self.jobs[os.pidfd_open(pid)] = pid, connection
            if request.work == LAST:
                self.close()
        else:
            connection.close()
        return None

    def _read(self, connection: socket.socket) -> Request | None:
        """Return the request that arrives, or None if this server does not stand for the command that asks."""
        if sys.platform != "linux":
            return None
        import marshal
        import socket

        connection.settimeout(_PATIENCE)
        streams: list[int] = []
        try:
            if not is_ours(connection):
                return None
            size, streams, _, _ = socket.recv_fds(connection, SIZE, 3)
            with connection.makefile("rb") as reader:
                work, arguments, folder, environment, mark = marshal.loads(reader.read(int.from_bytes(size, "big")))
            if mark == own_mark() and own_variables(environment) == self.variables and program_time() == self.time:
                _function(work)  # imported here, it is there for the next page as well
                return Request(work, arguments, folder, environment, streams)
        except (OSError, EOFError, ValueError, TypeError, ImportError, AttributeError):
            pass  # a client of another version may say other things
        for descriptor in streams:
            os.close(descriptor)
        return None

    def _give_up(self, connection: socket.socket) -> None:
        """End the process that works for somebody who is gone. Nobody has waited for it yet, so it is still it."""
        for pid, who in self.jobs.values():
            if who is connection:
                os.kill(pid, SIGTERM)

    def _finish(self, descriptor: int) -> None:
        """Tell who has asked for a process its exit status."""
        pid, connection = self.jobs.pop(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(descriptor)
        with suppress(OSError), connection:
            connection.sendall(b"%d" % (status if status >= 0 else 128 - status))


def start_server(project_dir: Path) -> None:
    """Fork a server for the render of a project by the process that has started this one. Do without it where
    that cannot be."""
    if not is_usual() or not may_fork():  # models may have left threads
        return
    try:
        server = _listen(project_dir)
    except OSError:
        return
    sys.stdout.flush()  # else the server would write it, too
    sys.stderr.flush()
    if (pid := _fork()) == 0:
        _be(server)
    server.listener.close()
    os.close(server.quarto)
    if pid is None:
        server.close()


def _be(server: Server) -> NoReturn:
    """Serve, and end this process then. A process that is made for a request ends as its command does."""
    request = None
    try:
        server.listener.listen()  # again: the system names who has listened last as the other end
        _leave_streams()
        if _import():
            request = server.serve()
    finally:
        if request is None:
            server.close()
            os._exit(0)
    _end(request.run())


def _end(status: int) -> NoReturn:
    """End this process as Python does, but without taking all its modules apart, which takes as long as half an
    empty Python. If a stream cannot be written, Python ends it itself, and says so."""
    threading._shutdown()  # type: ignore[attr-defined]  # as in `multiprocessing`: waits for threads
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _listen(project_dir: Path) -> Server:
    """Return a server, in the place of one that there was before. Raise OSError if there can be none."""
    if sys.platform != "linux":
        raise OSError("no server")
    import socket

    quarto = os.pidfd_open(os.getppid())
    listener = socket.socket(socket.AF_UNIX)
    try:
        path = socket_path(project_dir)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.parent.stat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(f"{path.parent} is open to others")
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        listener.listen()
        return Server(listener, path, path.stat().st_ino, quarto, own_variables(os.environ), program_time())
    except OSError:
        listener.close()
        os.close(quarto)
        raise


def _fork() -> int | None:
    """Fork, and return what that gives, or None if it cannot be done."""
    if sys.platform != "linux":
        return None
    gc.freeze()  # what is there already is not looked through in a fork, which would copy it
    try:
        return os.fork()
    except OSError:
        return None


def _leave_streams() -> None:
    """Let go of the streams, for whose end others wait."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def _import() -> bool:
    """Import what is needed, and return True if a process with all that may fork."""
    for module in _NEEDED:
        import_module(module if module.startswith(".") else f".{module}", "lmm_core.quarto")
    return may_fork()


def _function(work: str) -> Callable[[], int]:
    """Return the function that does a work. Raise ImportError or AttributeError if there is none."""
    module, _, name = work.partition(":")
    function: Callable[[], int] = getattr(import_module(module), name)
    return function


def _open_streams() -> None:
    """Open Python's streams anew, since their buffers hang on what the descriptors are."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = open(  # noqa: SIM115
            number, "w" if number else "r", 1 if number == 2 or os.isatty(number) else -1, old.encoding, old.errors,
            closefd=False,
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
