"""Have the server of a render (`lmm_core.quarto.render_server`) do the work of a command, on Linux.

Every page waits for it. So it is run without site-packages, and imports little:
python3 -I -S lmm_client.py /path/of/lmm-knit FORMAT
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would have to be imported
if TYPE_CHECKING:
    from _socket import socket

BEGUN = b"+"
SIZE = 4  # bytes that say how long a request is
_PATIENCE = 10  # seconds until a server that does not answer is left alone
_SCRIPT = b"from lmm_filters.lmm_knit import main"  # in every script that an installer makes for lmm-knit


def ask_server(work: str, command: str, arguments: list[str]) -> int | None:
    """Have the server do what a command would do with the streams, folder and environment of this process, and
    return the exit status. Return None, with nothing done, if the project has no server that stands for the
    command. work: the server's function; command: the path of the command; arguments: after its name."""
    folder = os.environ.get("QUARTO_PROJECT_DIR")
    if sys.platform != "linux" or not folder:
        return None
    import _socket  # `socket` takes as long to import as Python to start

    connection = _socket.socket(_socket.AF_UNIX)
    try:
        connection.settimeout(_PATIENCE)
        connection.connect(socket_path(folder))
        user = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[4:8]
        if int.from_bytes(user, sys.byteorder) != os.geteuid():
            return None
        _send(connection, (work, [command, *arguments], os.getcwd(), dict(os.environ), _mark(command)))
        if connection.recv(len(BEGUN)) != BEGUN:
            return None
    except OSError:
        return None
    connection.settimeout(None)
    return _wait(connection)


def socket_path(folder: str) -> str:
    """Return the path at which the server of a project listens. Raise OSError if there is no such project."""
    found = os.stat(folder)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return f"{cache}/lmm/render/{found.st_dev:x}-{found.st_ino:x}"


def _mark(command: str) -> tuple[str, str, str]:
    """Return what tells the server whether it is the Python that a command would start."""
    return sys.version, os.path.dirname(sys.executable), os.path.dirname(command)


def _send(connection: socket, request: tuple[object, ...]) -> None:
    """Send a request, and the standard streams with it."""
    import _socket
    import marshal  # the server has the same Python, or refuses

    data = marshal.dumps(request)
    descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))  # an `array` takes long to import
    streams = _socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors
    connection.sendmsg([len(data).to_bytes(SIZE, "big")], [streams])
    connection.sendall(data)


def _wait(connection: socket) -> int:
    """Return the exit status of the work that has begun: 1 if its server has died."""
    said = b""
    try:
        while part := connection.recv(16):
            said += part
    except ConnectionError:
        said = b""
    if said:
        return int(said)
    print("LM markdown: The work was not done, because a process of it was ended.", file=sys.stderr)
    return 1


def _is_plain(command: str) -> bool:
    """Return True if `lmm-knit` does nothing but what the server does, by the Python that runs this."""
    with open(command, "rb") as file:
        text = file.read(2000)
    return _SCRIPT in text and os.fsencode(os.path.dirname(sys.executable) + "/python") in text


def main(command: str, *arguments: str) -> None:
    """Do the work of `lmm-knit`, in this process if the server cannot do it."""
    status = ask_server("lmm_filters.knit.page:run", command, [*arguments]) if _is_plain(command) else None
    if status is None:
        os.execv(command, [command, *arguments])
    sys.exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
