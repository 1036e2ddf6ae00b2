"""The list of commands, which imports none of them."""

import click
import pytest

from lmm_core.cli import cli
from lmm_core.cli.registry import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_help_of_a_command_says_first(name):
    command = cli.get_command(click.Context(cli), name)
    assert COMMANDS[name].help == command.get_short_help_str(90)
