"""Limits how often one address may ask."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

MOST = 10_000  # addresses that are remembered: about 2 MB
MINUTE = 60.0


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


def counted_as(address: str, proxies: Sequence[str]) -> str:
    """Return the network that an address counts for; "" for proxies and unknown addresses."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    near = any(parsed in ipaddress.ip_network(proxy, strict=False) for proxy in proxies)
    return "" if near else network_of(address)


def network_of(address: str) -> str:
    """Return who counts as one: an address, or for IPv6 the /64 that one line gets."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
