"""How often one address may ask."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

MOST = 10_000  # addresses that are remembered: about 2 MB
MINUTE = 60.0


class Rates:
    """A token bucket for each address: full it holds the questions of a minute, and fills
    evenly. rate: questions a minute; clock: seconds."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.clock = rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, cost: float = 1.0) -> float:
        """Take something out of an address's bucket. Returns 0, or the seconds until there is
        enough in it, where nothing was taken."""
        key, now = network_of(address), self.clock()
        left, then = self._buckets.pop(key, (float(self.rate), now))
        left = min(float(self.rate), left + (now - then) * self.rate / MINUTE)
        missing = max(0.0, cost - left)
        self._buckets[key] = (left if missing else left - cost, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return missing * MINUTE / self.rate


def counted_as(address: str, proxies: Sequence[str]) -> str:
    """Who counts as one; "" for proxies, through which many come, and where that is not known."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    near = any(parsed in ipaddress.ip_network(proxy, strict=False) for proxy in proxies)
    return "" if near else network_of(address)


def network_of(address: str) -> str:
    """Who counts as one: an address; of IPv6 the /64 that one line gets."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
