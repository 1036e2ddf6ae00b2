"""Commands that are ended at an exact moment: at the n-th thing that they write.

`python -m tests.attacks.killed_runs` imports the program once and forks for each command, which
takes hundredths of a second and not seconds. It opens no store itself, so that no thread of the
engine is lost in a fork. Each command is a process of its own: it is killed by SIGKILL, and
what it leaves is what a killed command leaves.
"""

import contextlib
import errno
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SMALL = 2  # points in one write, snippets and chunks in one batch: small documents have many moments
ENDS = ("kill", "store", "disk", "interrupt")


class Commands:
    """Runs commands, each in a forked process."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacks.killed_runs"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
        )  # fmt: skip
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def run(self, *arguments, at=None, end="kill"):
        """Run `lmm ARGUMENTS` in the working folder until its `at`-th write (from 0) and end it
        there: `kill` by SIGKILL; otherwise by an error, of the store, of a full disk, or by Ctrl-C.
        Returns its exit status (-9 where it was killed), what it said, and how many writes it
        had come to."""
        job = {"arguments": arguments, "at": at, "end": end}
        job |= {"folder": os.getcwd(), "environment": dict(os.environ)}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        assert answer, "the process that forks has ended"
        done = json.loads(answer)
        return done["status"], done["said"], done["writes"]

    def complete(self, *arguments):
        """Run a command to its end, and see that it did what it was asked."""
        status, said, writes = self.run(*arguments)
        assert status == 0, said
        return writes


class Writes:
    """Counts what a process writes, in memory that outlives it."""

    def __init__(self, at, end):
        self.count = mmap.mmap(-1, 8)
        self.at, self.end = at, end

    def __int__(self):
        return struct.unpack("q", self.count[:8])[0]

    def next(self, is_file=False):
        """Something is about to be written."""
        number = int(self)
        self.count[:8] = struct.pack("q", number + 1)
        if number == self.at:
            self.stop(is_file)

    def stop(self, is_file):
        from lmm_core.errors import StoreError

        if self.end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.end == "interrupt":
            raise KeyboardInterrupt
        if self.end == "store" and not is_file:
            raise StoreError("the store has failed")
        raise OSError(errno.ENOSPC, "No space left on device")

    def count_all(self):
        """Count from now on: each batch of points, each request that changes something on a
        server, each file that is opened to be written, made, renamed or removed, and the
        middle of a file."""
        from lmm_core.indexing import records, refresh
        from lmm_core.store import edge_store, qdrant_store

        records.BATCH = refresh.BATCH = SMALL
        edge_store.in_batches, qdrant_store.in_batches = self._batches, _small_batches
        edge_store.EdgeStore._settle = self._before(edge_store.EdgeStore._settle)
        self._count_requests()
        self._tear_files()
        sys.addaudithook(self._audit)

    def _batches(self, things, size):
        for batch in _small_batches(things, size):
            self.next()
            yield batch

    def _before(self, work):
        def counted(*given, **named):
            self.next()
            return work(*given, **named)

        return counted

    def _count_requests(self):
        import httpx

        send = httpx.Client.send

        def counted(client, request, **named):
            changes = request.method in ("PUT", "DELETE") or request.url.path.endswith(
                ("/points/batch", "/points/delete")
            )
            if changes:
                self.next()
            return send(client, request, **named)

        httpx.Client.send = counted

    def _tear_files(self):
        def write_bytes(path, data):
            with open(path, "wb") as file:
                file.write(data[: len(data) // 2])
                file.flush()
                self.next(is_file=True)
                file.write(data[len(data) // 2 :])

        Path.write_bytes = write_bytes

    def _audit(self, event, arguments):
        opened = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR) and not _is_apart(str(arguments[0]))
        if opened or event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir"):
            self.next(is_file=True)


def _is_apart(path):
    """Whether a file is no part of what is made: locks and devices."""
    return path.endswith((".lock", ".queue")) or path.startswith("/dev/")


def _small_batches(things, size):
    return (things[start : start + SMALL] for start in range(0, len(things), SMALL))


def serve():
    """Fork for each line of standard input, and answer what came of it."""
    import qdrant_client  # noqa: F401
    import qdrant_edge  # noqa: F401

    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(forked(job)), file=answers, flush=True)


def forked(job):
    """Do a job in a process of its own."""
    writes = Writes(job["at"], job["end"])
    reads, said = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reads)
        sys.stdout = sys.stderr = os.fdopen(said, "w")
        command(job, writes)
    os.close(said)
    with os.fdopen(reads, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(process, 0)
    return {"status": os.waitstatus_to_exitcode(status), "said": text, "writes": int(writes)}


def command(job, writes):
    """Run `lmm` and end the process with its exit status, 3 where an error was left to Python."""
    from lmm_core.cli import main

    status = 3
    try:
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        sys.argv = ["lmm", *job["arguments"]]
        writes.count_all()
        main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        if sys.exception() is not None:
            traceback.print_exc(file=sys.stderr)
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
