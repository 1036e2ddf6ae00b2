"""Have the server of a render do the work of a command.

It imports little: each page of a render waits for it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

BEGUN = b"+"
SIZE = 4  # bytes that say how long a request is
_PATIENCE = 10  # seconds until a server that does not answer is left alone


def ask_server(work: str) -> int | None:
    """Have a function run with the streams, arguments, environment and folder of this process, and return its
    exit status. Return None, with nothing done, if the project has no server that fits. work: the function's
    module and name, with a colon between them; it returns the status."""
    if sys.platform != "linux":
        return None
    folder = os.environ.get("QUARTO_PROJECT_DIR")
    if not folder:
        return None
    import socket

    from .place import is_usual

    with socket.socket(socket.AF_UNIX) as connection:
        try:
            if not is_usual() or not _begin(connection, work, Path(folder)):
                return None
        except OSError:
            return None
        connection.settimeout(None)
        return _wait(connection)


def _begin(connection: socket.socket, work: str, project_dir: Path) -> bool:
    """Send a request, and return True if its work has begun."""
    if sys.platform != "linux":
        return False
    import marshal  # the same Python reads it
    import socket

    from .place import fingerprint, is_ours, socket_path

    connection.settimeout(_PATIENCE)
    connection.connect(str(socket_path(project_dir)))
    if not is_ours(connection):
        return False
    request = marshal.dumps((work, sys.argv, str(Path.cwd()), dict(os.environ), fingerprint()))
    socket.send_fds(connection, [len(request).to_bytes(SIZE, "big")], [0, 1, 2])
    connection.sendall(request)
    return connection.recv(len(BEGUN)) == BEGUN


def _wait(connection: socket.socket) -> int:
    """Return the exit status of the work that has begun: 1 if its server has died."""
    said = b""
    try:
        while part := connection.recv(16):
            said += part
    except ConnectionError:
        said = b""
    if said:
        return int(said)
    from ...logging import say

    say("LM markdown: The work was not done, because a process of it was ended.", err=True)
    return 1
