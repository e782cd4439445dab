"""`dyno sysbench`: becomes the engine, which knows sysbench's command line. Nothing is parsed here,
and nothing of Python is left while the load runs: signals and the exit code are the engine's."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

import click

from dbdyno import installed
from dbdyno.errors import DynoError

# What Python ignores from its start on, and a program that it becomes would go on ignoring.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)


@click.command(
    context_settings={"ignore_unknown_options": True}, add_help_option=False, no_args_is_help=False
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def sysbench(args: tuple[str, ...]) -> None:
    """Do what sysbench does with ARGS: its options, tests, Lua scripts and reports.

    The same as `dyno-engine sysbench ARGS`, and as the engine called by the name sysbench, through
    a link, which starts faster. See sysbench.md.
    """
    become(list(args))


def main(args: list[str]) -> NoReturn:
    """`become`, for who has no click around it."""
    try:
        become(args)
    except DynoError as error:
        print(f"dyno: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def become(args: list[str]) -> NoReturn:
    """Replaces this process by the engine. Raises DynoError if there is none that fits."""
    engine = installed.find()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.execv(engine, [str(engine), "sysbench", *args])
