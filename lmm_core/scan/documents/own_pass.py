"""Custom passes: functions from blocks to blocks, named `module:function`."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...ending import end_as_usual
from ...errors import ModelError, PassError
from ...logging import LoggerBase
from ...markdown.blocks import Block, ErrorBlock, HeadingBlock, MetadataBlock, TextBlock

Pass = Callable[[list[Block]], Any]


def load_pass(name: str) -> Pass:
    """Return the function named `module:function`, from the working folder first.

    Raise PassError, and any error of the module.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise PassError(f"{name!r}: a pass is named as module:function")
    end_as_usual()
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        own_pass = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        raise PassError(f"{name}: there is no module {error.name!r} in {folder} or among the installed ones") from None
    except AttributeError:
        raise PassError(f"{name}: there is no {function!r} in {module}") from None
    if not callable(own_pass):
        raise PassError(f"{name}: {function!r} is not a function")
    return own_pass  # type: ignore[no-any-return]


def run_pass(function: Pass, blocks: Sequence[Block], logger: LoggerBase) -> list[Block]:
    """Return the document made by a pass, unchanged if a model fails.

    Raise PassError if the result is no list of blocks, and any error of the pass.
    """
    try:
        result = function(list(blocks))
        if inspect.iscoroutine(result):
            from ...models.chat import run

            result = run(result)
    except ModelError as error:
        logger.error(str(error))
        return list(blocks)
    kinds = (TextBlock, ErrorBlock, HeadingBlock, MetadataBlock)
    if not isinstance(result, list) or not all(isinstance(block, kinds) for block in result):
        name = getattr(function, "__name__", "the pass")
        raise PassError(f"{name}: a pass has to return a list of blocks (at least the list that it was given)")
    return result
