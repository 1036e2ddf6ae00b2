"""Passes of the user's own: a function `blocks -> blocks`, named `module:function`."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ModelError, PassError
from ..logging import LoggerBase
from ..markdown.blocks import Block, ErrorBlock, HeadingBlock, MetadataBlock, TextBlock

Pass = Callable[[list[Block]], Any]


def load_pass(name: str) -> Pass:
    """The function that `module:function` names; modules are looked for in the working
    folder first, as `python -m` does. Raises PassError; errors in the module itself
    rise as they are."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise PassError(f"{name!r}: a pass is named module:function")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        raise PassError(f"{name}: no module {error.name!r} in {folder} or among what is installed") from None
    except AttributeError:
        raise PassError(f"{name}: no {function!r} in {module}") from None
    if not callable(found):
        raise PassError(f"{name}: {function!r} is no function")
    return found  # type: ignore[no-any-return]


def run_pass(function: Pass, blocks: Sequence[Block], logger: LoggerBase) -> list[Block]:
    """What a pass makes of a document; it may be asynchronous. Where a model fails it, the
    document stays as it is. Raises PassError where what it makes is no list of blocks;
    errors in the pass rise as they are."""
    try:
        made = function(list(blocks))
        if inspect.iscoroutine(made):
            from ..models.chat import run

            made = run(made)
    except ModelError as error:
        logger.error(str(error))
        return list(blocks)
    kinds = (TextBlock, ErrorBlock, HeadingBlock, MetadataBlock)
    if not isinstance(made, list) or not all(isinstance(block, kinds) for block in made):
        name = getattr(function, "__name__", "the pass")
        raise PassError(f"{name}: a pass gives back a list of blocks (return the list that it was given, at least)")
    return made
