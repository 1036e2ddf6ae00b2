"""The names under which settings are found: the file and the environment variables.

Imports no pydantic: filters ask `is_setting` at each start.
"""

from __future__ import annotations

import re

from ..models.trust import TRUST_VARIABLE

CONFIG_NAME = "config.toml"
MOST_BYTES = 100_000  # of that file: no real one comes near it, and a longer one could take for ever to read
PREFIX = "LMM_"
TOKEN_VARIABLE = "LMM_SERVE_TOKEN"  # the token that clients of `lmm serve` have to send
IN_COURSE = "LMM_IN_COURSE"  # 1 in a render that `lmm course` has started
KEY_NAME = re.compile(r"(.*[_-])?(api)?(key|token|secret|password)", re.I)  # a setting that would hold a key
# The marks of a filter and of a course on runs that they start, a secret, and what the person at this machine trusts.
_NO_SETTINGS = ("LMM_INNER", IN_COURSE, TOKEN_VARIABLE, TRUST_VARIABLE)


def is_setting(variable: str) -> bool:
    """Return True if an environment variable has to be a setting.

    These are the variables that begin with `LMM_`, in any case, except those in
    `_NO_SETTINGS` and `LMM_TEST_…`, which belong to the tests.
    """
    name = variable.upper()
    return name.startswith(PREFIX) and name not in _NO_SETTINGS and not name.startswith("LMM_TEST_")
