"""Who a request comes from: an address, a token's holder, or a user whom a trusted proxy names."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ...errors import TokenError
from ..log import Say
from .rates import network_of, plain_address
from .tokens import TokenFile

PEER = "lmm.peer"  # in a scope: the address that the connection comes from, whoever it says it is for
WHO = "lmm.who"  # in a scope: who is counted in place of the address
LONGEST = 256  # bytes of a user's name
NO_TOKEN = "This server needs an access token."
NO_USER = "You are not signed in here. Sign in, then load the page again."
DIRECT = "This server is asked through its sign-in page only."
UNKNOWN = "Who may ask cannot be checked just now. Tell your teacher."


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks, as far as it is counted, and why they are refused: a status, 0 for not, and a sentence."""

    counted: str
    status: int = 0
    why: str = ""
    is_user: bool = False


@dataclass
class Readers:
    """Tells who a request comes from, and whether they may ask.

    token: one for all, "" for none; file: those of courses and groups; header: in which the proxies
    name the user, "" for none. Names are never kept: who is counted is a hash."""

    token: str = ""
    file: TokenFile | None = None
    header: str = ""
    proxies: Sequence[str] = ()
    log: Say | None = None
    _networks: list[Any] = field(init=False)
    _header: bytes = field(init=False)

    def __post_init__(self) -> None:
        self._networks = [ipaddress.ip_network(proxy, strict=False) for proxy in self.proxies]
        self._header = self.header.lower().encode("ascii")

    def identify(self, scope: Any) -> Reader:
        """Return who a request comes from. The last of what was asked for decides."""
        client = scope.get("client")
        reader = Reader(client[0] if client else "")
        if self._header:
            reader = self._user(scope, reader)
        return reader if reader.status else self._holder(scope, reader)

    # Users

    def _user(self, scope: Any, reader: Reader) -> Reader:
        if not self._is_proxy(scope.get(PEER) or ""):
            return Reader(reader.counted, 403, DIRECT)
        given = [value.strip() for name, value in scope["headers"] if name.lower() == self._header]
        if len(given) != 1 or not given[0] or len(given[0]) > LONGEST:
            self._tell(f"the sign-in: the proxy has sent {_described(given)} in {self.header}")
            return Reader(reader.counted, 401, NO_USER)
        return Reader(f"user {blake2b(given[0], digest_size=16).hexdigest()}", is_user=True)

    def _is_proxy(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(plain_address(address))
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    # Tokens

    def _holder(self, scope: Any, reader: Reader) -> Reader:
        try:
            known = self.file.tokens() if self.file else None
            if known is None and not self.token:
                return reader
            given = _bearer(scope)
            if self.token and given and hmac.compare_digest(given, self.token.encode("utf-8")):
                return reader
            name = self.file.name_of(given) if self.file and given else ""
        except TokenError as error:
            self._tell(f"the tokens: {error}")
            return Reader(reader.counted, 503, UNKNOWN)
        if not name:
            return Reader(reader.counted, 401, NO_TOKEN)
        return reader if reader.is_user else Reader(f"token {name} {network_of(reader.counted)}")

    def _tell(self, message: str) -> None:
        if self.log is not None:
            self.log(message)


def _bearer(scope: Any) -> bytes:
    given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, token = given.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _described(given: Sequence[bytes]) -> str:
    if len(given) > 1:
        return f"{len(given)} names"
    return "a name that is too long" if given and given[0] else "no name"
