"""Read archives (zip, tar, gzip, bzip2, xz), also nested.

Types are detected by their first bytes. Limits protect against decompression bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...errors import LmmError

LIMIT = 256 * 1024 * 1024  # unpacked bytes per file
MEMBERS = 20_000  # members per file
DEPTH = 4  # nesting; a tgz in a zip needs three: zip, gzip, tar
_ZIP, _GZIP, _BZIP2, _XZ = b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"
_NOT_READ = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "rar", b"\x28\xb5\x2f\xfd": "zstd"}
_SHORT = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar", ".svgz": ".svg", ".emlz": ".eml"}


class ArchiveError(LmmError):
    """An archive or a member cannot be read."""


@dataclass
class Budget:
    """The remaining bytes and members of a file."""

    size: int = LIMIT
    members: int = MEMBERS

    def take(self, data: bytes) -> bytes:
        """Charge data to the budget and return it. Raise ArchiveError if exceeded."""
        self.size -= len(data)
        self.members -= 1
        if self.size < 0 or self.members < 0:
            raise ArchiveError(f"it holds more than {LIMIT >> 20} MiB or {MEMBERS} files, and the rest was not read")
        return data


def unpack(name: str, data: bytes, budget: Budget, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield paths and data of members; the path is "" for a single packed file or other data.

    Raise ArchiveError for unreadable members after the others."""
    try:
        members = _members(name, data, budget)
        if members is None or depth >= DEPTH:
            yield "", data
            return
        problems: list[str] = []
        for member, inner in members:
            try:
                for deeper, content in unpack(member or name, inner, budget, depth + 1):
                    yield "/".join(filter(None, (member, deeper))), content
            except ArchiveError as error:
                if budget.size < 0 or budget.members < 0:
                    raise
                problems.append(f"{member}: {error}" if member else str(error))
        if problems:
            raise ArchiveError("; ".join(problems[:3]))
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        raise ArchiveError(str(error)) from error
    except (NotImplementedError, RuntimeError, ValueError, LookupError) as error:  # encrypted, unsupported, or damaged
        raise ArchiveError(str(error)) from error


def inner_name(name: str) -> str:
    """Return the name inside a single-file archive: `a.json` for `a.json.gz`."""
    path = PurePosixPath(name)
    return path.with_suffix(_SHORT.get(path.suffix.lower(), "")).name if path.suffix else name


def _members(name: str, data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]] | None:
    for sign, kind in _NOT_READ.items():
        if data.startswith(sign):
            raise ArchiveError(f"{kind} archives cannot be read")
    if data.startswith(_ZIP):
        return _zipped(data, budget)
    if data[257:262] == b"ustar" or (name.lower().endswith(".tar") and data):
        return _tarred(data, budget)
    if data.startswith((_GZIP, _BZIP2, _XZ)):
        return _alone(data, budget)
    return None


def _zipped(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                with archive.open(info) as file:
                    yield info.filename, budget.take(file.read(max(budget.size, 0) + 1))


def _tarred(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for info in archive:
            file = archive.extractfile(info) if info.isfile() else None
            if file is not None:
                yield info.name, budget.take(file.read(max(budget.size, 0) + 1))


def _alone(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    most = max(budget.size, 0) + 1
    if data.startswith(_XZ):
        yield "", budget.take(lzma.LZMADecompressor(memlimit=LIMIT).decompress(data, most))
    elif data.startswith(_BZIP2):
        yield "", budget.take(bz2.BZ2File(io.BytesIO(data)).read(most))
    else:
        yield "", budget.take(gzip.GzipFile(fileobj=io.BytesIO(data)).read(most))
