"""Names of the settings' file and environment variables. Imports no pydantic: filters ask `is_setting` at each
start.
"""

from __future__ import annotations

import re

from ..models.trust import TRUST_VARIABLE

CONFIG_NAME = "config.toml"
MOST_BYTES = 100_000  # of that file, far more than any real one
PREFIX = "LMM_"
TOKEN_VARIABLE = "LMM_SERVE_TOKEN"  # the token that clients of `lmm serve` have to send
IN_COURSE = "LMM_IN_COURSE"  # 1 in a render that `lmm course` has started
KEY_NAME = re.compile(r"(.*[_-])?(api)?(key|token|secret|password)", re.I)  # a setting that would hold a key
# For runs that a filter or a course starts, a secret, and the person's trust
_NO_SETTINGS = ("LMM_INNER", IN_COURSE, TOKEN_VARIABLE, TRUST_VARIABLE)


def is_setting(variable: str) -> bool:
    """Return True if an environment variable has to be a setting.

    Those are all that begin with `LMM_`, in any case, except `_NO_SETTINGS` and `LMM_TEST_…` (of the tests)."""
    name = variable.upper()
    return name.startswith(PREFIX) and name not in _NO_SETTINGS and not name.startswith("LMM_TEST_")
