"""Decide which hosts may get a key.

A `config.toml` may come with a cloned folder, so it can send a key only to this machine and the key's own source.
Other hosts need the user's consent in LMM_TRUST, in the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass

from ..errors import TrustError
from .addresses import address_of, read_host

TRUST_VARIABLE = "LMM_TRUST"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, order=True, slots=True)
class Pair:
    """A host (with its port unless 443) and a variable whose key it may get."""

    host: str
    variable: str

    @property
    def setting(self) -> str:
        """Return LMM_TRUST extended by this pair."""
        pairs = [*read_trust_variable(), self]
        return f'{TRUST_VARIABLE}="{", ".join(f"{pair.host} {pair.variable}" for pair in pairs)}"'


def read_pair(host: str, variable: str) -> Pair:
    """Parse a pair. Raise TrustError, without repeating the text, which may be a key."""
    if not _VARIABLE.fullmatch(variable):
        raise TrustError("give the name of an environment variable (A-Z, 0-9, _), never the key itself")
    return Pair(read_host(host), variable)


def read_trust_variable() -> list[Pair]:
    """Parse LMM_TRUST: `HOST VARIABLE, HOST VARIABLE`.

    Raise TrustError with the number of a wrong pair; its text may be a key."""
    pairs = []
    for number, text in enumerate(os.environ.get(TRUST_VARIABLE, "").split(","), 1):
        words = text.split()
        try:
            if len(words) not in (0, 2):
                raise TrustError("write a host and a variable: HOST VARIABLE, HOST VARIABLE")
            pairs += [read_pair(*words)] if words else []
        except TrustError as error:
            raise TrustError(f"{TRUST_VARIABLE}, pair {number}: {error}") from None
    return pairs


def key_refusal(url: str, variable: str, file: str, home: Collection[str] = (), otherwise: str = "") -> str:
    """Return why a key is not sent to a server, with the setting to allow it, or "".

    file: the `config.toml` that names server or variable; "" if the user does, who may send the key anywhere
    home: hosts of the key's own source
    otherwise: advice beyond https"""
    if not file:
        return ""
    try:
        address = address_of(url)
        if address.here or (address.scheme == "https" and address.host in home):
            return ""
        if address.scheme != "https":
            unsafe = f"the key in {variable} is not sent to {address.host} unencrypted, as {file} asks"
            return f"{unsafe}: use https://{otherwise}"
        pair = read_pair(address.host, variable)
        if pair in read_trust_variable():
            return ""
        setting = pair.setting
    except TrustError as error:
        return f"the key in {variable} is not sent to the server that {file} names: {error}"
    return (
        f"the key in {variable} is not sent to {pair.host}, which {file} names: "
        f"if that server may have it, set in the environment of this machine: {setting}"
    )
