"""Checks of single values of the settings. Each returns the value to be used, or raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ..files.gitignore import pattern_problem
from ..models.trust import VARIABLE

MOST_PRICE = 1e9  # of a million tokens: more is a slip, and cannot be counted with
# Headers that browsers send, or that say something else.


def checked_parameters(extra: dict[str, Any]) -> dict[str, Any]:
    """Check further parameters of a provider."""
    from ..models.openai.extra import checked_extra

    return checked_extra(extra)


def checked_patterns(patterns: Sequence[str]) -> Sequence[str]:
    """Check patterns as in .gitignore."""
    if problem := next(filter(None, map(pattern_problem, patterns)), ""):
        raise ValueError(problem)
    return patterns


def checked_variable(name: str) -> str:
    """Check the name of an environment variable: only capitals, since a key put here by mistake is no such name."""
    if name and not VARIABLE.fullmatch(name):
        raise ValueError("should be the name of an environment variable (A-Z, 0-9, _), never the key itself")
    return name


def checked_price(price: Sequence[float]) -> Sequence[float]:
    """Check the price of tokens sent and received."""
    if price and (len(price) != 2 or not all(0 <= one <= MOST_PRICE for one in price)):
        raise ValueError("should be two numbers, of a million tokens sent and of a million received: [0.15, 0.6]")
    return price


def checked_synonyms(synonyms: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Check names that mean the same; one may stand without brackets."""
    lists = {name: others if isinstance(others, list | tuple) else [others] for name, others in synonyms.items()}
    for name, others in lists.items():
        for one in (name, *others):
            if not isinstance(one, str) or not re.search(r"\w", one):
                raise ValueError(f"should be a word or a list of words for each word, not {one!r:.60} for {name!r:.60}")
    return {name: tuple(others) for name, others in lists.items()}


def checked_language(language: str) -> str:
    """Check the code of a language."""
    if language and not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", language):
        raise ValueError(f'should be the code of a language ("en", "de-CH"), not {language!r:.60}')
    return language


def checked_page(page: str) -> str:
    """Check an address, or the path of a page from the root of its site, perhaps with an anchor."""
    name = re.fullmatch(r"[\w./ -]+(?:#[\w.-]+)?", page)
    is_page = name is not None and page[:1] not in "/ #" and ".." not in page.split("/")
    if page and not is_page and not _is_url(page):
        raise ValueError(
            f"should be an address (https://example.org/privacy) or a page of the site (privacy.html), not {page!r:.60}"
        )
    return page


def checked_origins(origins: Sequence[str]) -> list[str]:
    """Check scheme, host and port as browsers send them; `null` stands for pages opened as files."""
    made = [origin.strip().rstrip("/").lower() for origin in origins]
    for origin in made:
        if origin != "null" and (not _is_url(origin) or urlsplit(origin).path):
            raise ValueError(
                f"should be sites like https://course.example.org (or null), without a path, not {origin:.60}"
            )
    return made


def checked_hosts(hosts: Sequence[str]) -> Sequence[str]:
    """Check names of hosts."""
    for host in hosts:
        if not re.fullmatch(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", host):
            raise ValueError(f"should be names without scheme, port and path, not {host!r:.60}")
    return hosts


def checked_addresses(addresses: Sequence[str]) -> Sequence[str]:
    """Check addresses of machines and networks."""
    from ipaddress import ip_network

    for address in addresses:
        try:
            ip_network(address)
        except ValueError:
            raise ValueError(f"should be addresses like 10.0.0.7 or 10.0.0.0/24, not {address!r:.60}") from None
    return addresses


def _is_url(url: str) -> bool:
    try:
        return bool(checked_url(url))
    except ValueError:
        return False


def checked_url(url: str) -> str:
    """Check an address. The error does not repeat it, and one that clients could misread is refused."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        # Clients differ in how they read `\` and white space in an address.
        good = good and re.fullmatch(r"[!-\[\]-~]+", url) is not None
    except ValueError:
        good = False
    if not good:
        raise ValueError("should be an address that begins with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("should be an address alone, without user, password, `?` or `#`")
    return url
