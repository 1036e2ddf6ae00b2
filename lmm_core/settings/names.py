"""Name the settings' file and environment variables, without pydantic: filters call `is_setting` at each start."""

from __future__ import annotations

import re

from ..models.addresses import TRUST_VARIABLE

CONFIG_NAME = "config.toml"
MOST_BYTES = 100_000  # of that file, far above real sizes
PREFIX = "LMM_"
TOKEN_VARIABLE = "LMM_SERVE_TOKEN"  # the token required by `lmm serve`
IN_COURSE = "LMM_IN_COURSE"  # 1 in a render by `lmm course`
KEY_NAME = re.compile(r"(.*[_-])?(api)?(key|token|secret|password)", re.I)  # a setting that would hold a key
# Internal runs, a secret, and the user's trust
_NO_SETTINGS = ("LMM_INNER", IN_COURSE, TOKEN_VARIABLE, TRUST_VARIABLE)


def is_setting(variable: str) -> bool:
    """Return True for variables that must be settings: all `LMM_…`, in any case, except `_NO_SETTINGS` and
    `LMM_TEST_…`."""
    name = variable.upper()
    return name.startswith(PREFIX) and name not in _NO_SETTINGS and not name.startswith("LMM_TEST_")
