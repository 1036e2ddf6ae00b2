"""Limits how often one address may ask."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, MutableSequence, Sequence
from hashlib import blake2b
from multiprocessing import get_context

MOST = 10_000  # addresses that are remembered: about 2 MB
MINUTE = 60.0
Room = MutableSequence[float]
SLOTS = 16_384  # shared buckets: 256 KB


class Rates:
    """A token bucket for each address, which holds the questions of a minute and refills evenly.

    rate: questions a minute; clock: returns seconds."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, cost: float = 1.0) -> float:
        """Take something out of an address's bucket.

        Return 0, or, if there is not enough, the seconds until there is; nothing is taken then."""
        key, now = network_of(address), self.clock()
        left, then = self._buckets.pop(key, (float(self.rate), now))
        left = min(float(self.rate), left + (now - then) * self.rate / MINUTE)
        missing = max(0.0, cost - left)
        self._buckets[key] = (left if missing else left - cost, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return missing * MINUTE / self.rate


class SharedRates(Rates):
    """The buckets of several processes, in memory that they share.

    Each address has one of so many buckets, by a secret hash. Two processes that take from a bucket in the
    same instant may count once: nobody waits for a process that was ended in between.
    room: what `SharedRates.room` makes, for each bucket what was used and when."""

    def __init__(self, rate: int, room: Room, secret: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(rate, clock)
        self._room = room
        self._secret = secret

    @staticmethod
    def room() -> Room:
        """Return memory for the buckets, which processes share that are given it when they are started."""
        made: Room = get_context("spawn").RawArray("d", 2 * SLOTS)
        return made

    def take(self, address: str, cost: float = 1.0) -> float:
        """See `Rates`."""
        digest = blake2b(network_of(address).encode(), key=self._secret, digest_size=8).digest()
        at, now = 2 * (int.from_bytes(digest) % SLOTS), self.clock()
        used, then = self._room[at], self._room[at + 1]  # what was used, since new memory holds zeros
        used = max(0.0, used - max(0.0, now - then) * self.rate / MINUTE)
        missing = max(0.0, cost - (self.rate - used))
        self._room[at], self._room[at + 1] = used if missing else used + cost, now
        return missing * MINUTE / self.rate


def counted_as(address: str, proxies: Sequence[str]) -> str:
    """Return the network that an address counts for; "" for proxies and unknown addresses."""
    try:
        parsed = ipaddress.ip_address(plain_address(address))
    except ValueError:
        return ""
    near = any(parsed in ipaddress.ip_network(proxy, strict=False) for proxy in proxies)
    return "" if near else network_of(address)


def network_of(address: str) -> str:
    """Return who counts as one: an address, or for IPv6 the /64 that one line gets."""
    address = plain_address(address)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


def plain_address(address: str) -> str:
    """Return an IPv4 address that is written as an IPv6 one (`::ffff:10.0.0.7`) as itself, others as they are."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if parsed.version == 6 else None
    return str(mapped) if mapped else address
