"""Documents that wait to be written to the index.

Their chunks would take 0.7 MB of memory for 20 KB of text, so they wait packed, in a sixth of that, and where all wait
for all, as before an embedding model begins, compressed, in a twentieth.
"""

from __future__ import annotations

import pickle
import zlib
from typing import Any

from ..encode import Encoded


class Waiting:
    """A document's chunks, and what is told of them before they are written.

    fingerprint: of the file, to be recorded with the chunks; is_long: it waits until all others are made."""

    def __init__(self, made: Encoded, fingerprint: str, is_long: bool) -> None:
        self.docid, self.source, self.fingerprint = made.docid, made.source, fingerprint
        self.language, self.named_by = made.language, made.named_by
        self.count, self.too_long = len(made.chunks), made.too_long
        self._packed = zlib.compress(pickle.dumps(made), 1 if is_long else 0)  # 0: as it is

    def unpack(self) -> Encoded:
        """Return the document."""
        made: Any = pickle.loads(zlib.decompress(self._packed))
        assert isinstance(made, Encoded)
        return made
