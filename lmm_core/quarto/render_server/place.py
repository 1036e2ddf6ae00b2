"""Where the server of a project listens, and what tells that it is the Python that a command would start."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import NO_REPORTS
from ...files.user import cache_folder

if TYPE_CHECKING:
    import socket

# Variables that differ between the parts of one render.
_OF_A_PART = ("QUARTO_", "PANDOC_", "DENO_")
# Variables of Python's that change nothing of what a command does.
_HARMLESS = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}


def socket_path(project_dir: Path) -> Path:
    """Return the path at which the server of a project listens. Raise OSError if there is no such folder."""
    found = project_dir.stat()
    return cache_folder() / "render" / f"{found.st_dev:x}-{found.st_ino:x}"


def is_usual() -> bool:
    """Return True if this Python was started as the scripts of our commands start theirs: the hooks of a
    render do not heed Python's variables, the commands do."""
    has_streams = None not in (sys.stdin, sys.stdout, sys.stderr)
    return has_streams and all(key in _HARMLESS for key in os.environ if key.startswith("PYTHON"))


def own_mark() -> tuple[Any, ...]:
    """Return what a client says of itself if this Python is the one that its command would start: version, and
    the folders of interpreter and command."""
    folder = str(Path(sys.executable).parent)
    return sys.version, folder, folder


def program_time() -> int:
    """Return the time (ns) at which this program was installed, which tells of a newer one in its place."""
    return Path(__file__).stat().st_mtime_ns


def own_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what has to be the same in the environments of a server and a client. Empty variables do not count,
    which pandoc hands to none of its filters, nor those that our package sets itself."""
    own = {key: value for key, value in environment.items() if value and not key.startswith(_OF_A_PART)}
    return NO_REPORTS | own


def is_ours(connection: socket.socket) -> bool:
    """Return True if the process at the other end of a connection belongs to this user."""
    if sys.platform != "linux":
        return False
    import socket

    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # process, user and group
    return int.from_bytes(found[4:8], sys.byteorder) == os.geteuid()
