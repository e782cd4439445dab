"""`dyno sysbench`: becomes the engine, which knows sysbench's command line. Only `--dyno-out` is
parsed here, and nothing of Python is left while the load runs: signals and the exit code are the
engine's.

With `--dyno-out=DIR` the engine is a child that records what it does into DIR, second by second;
whatever ends it, the record then becomes a run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from dbdyno import installed
from dbdyno.cli.terminal.streams import shown
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Process

# What Python ignores from its start on, and a program that it becomes would go on ignoring.
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
# What is meant for the load.
_PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
OUT = "dyno-out"


@click.command(
    context_settings={"ignore_unknown_options": True}, add_help_option=False, no_args_is_help=False
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def sysbench(args: tuple[str, ...]) -> None:
    """Do what sysbench does with ARGS: its options, tests, Lua scripts and reports.

    The same as `dyno-engine sysbench ARGS`, and as the engine called by the name sysbench, through
    a link, which starts faster. With `--dyno-out=DIR` it leaves a run directory too. See
    sysbench.md.
    """
    call(list(args))


def main(args: list[str]) -> NoReturn:
    """`call`, for who has no click around it."""
    try:
        call(args)
    except DynoError as error:
        print(shown(f"dyno: {error}"), file=sys.stderr)
        sys.exit(error.exit_code)


def call(args: list[str]) -> NoReturn:
    """Replaces this process by the engine, or ends it as the engine ended. Raises DynoError if
    there is none that fits, or the directory for the run is not free."""
    out, rest = taken_out(args)
    engine = installed.find()
    if out is not None:
        _end_as(_recorded(engine, out, rest))
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.execv(engine, [str(engine), "sysbench", *rest])


def taken_out(args: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The directory that `--dyno-out` names, if it does, and the other arguments. As for all
    options, `_` is `-` and the last one counts; its value may also be the next argument."""
    found, rest = None, []
    words = iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        if not word.startswith("--") or name[2:].replace("_", "-") != OUT:
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value:
            raise DynoError(f"--{OUT} names no directory", fix=f"write --{OUT}=DIR")
        found = Path(value)
    return found, rest


def _recorded(engine: Path, out: Path, args: Sequence[str]) -> int:
    """Runs the engine and makes a run of what it has measured; its exit code, or less than 0: minus
    the signal that ended it."""
    from dbdyno.store.run import RECORD

    out = out.absolute()
    made = _free(out)
    record = out / RECORD
    code = _run([str(engine), "record", str(record), "sysbench", *args])
    if not record.exists() or not record.stat().st_size:
        with contextlib.suppress(OSError):
            record.unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()
        print(shown(f"dyno: nothing was measured, so {out} holds no run"), file=sys.stderr)
        return code
    try:
        _import(out, record, args)
    except DynoError as error:
        text = f"dyno: {error}\n  the measured data is in {record}"
        print(shown(text), file=sys.stderr)
        return code or error.exit_code
    return code


def _free(out: Path) -> list[Path]:
    """Makes the directory; those that were made, the innermost first. DynoError if it is used or
    cannot be."""
    missing = [one for one in (out, *out.parents) if not one.exists()]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.mkdir(mode=0o700, exist_ok=True)
        used = next(out.iterdir(), None)
    except OSError as error:
        raise DynoError(
            f"--{OUT}: cannot make {out}: {error.strerror or error}",
            cause="a file is in the way, or the place belongs to someone else",
            fix="name another place",
        ) from None
    if used is not None:
        raise DynoError(
            f"--{OUT}: {out} is not empty (it contains {used.name})",
            cause="an earlier run was written there, and nothing is overwritten",
            fix="name another directory",
        )
    return missing


def _run(command: Sequence[str]) -> int:
    """Runs a child that has this process's streams and signals; its return code."""
    child: Process | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif child.poll() is None:
            child.send_signal(number)

    for number in _PASSED_ON:
        # Under nohup SIGHUP goes on being ignored, by the child too.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, pass_on)
    child = LOCAL.start(command, group="inherited")
    for signalled in early:
        child.send_signal(signalled)
    return child.wait()


def _import(out: Path, record: Path, args: Sequence[str]) -> None:
    """Makes the run. DynoError if it cannot be written, or the record cannot be read."""
    from dbdyno.cli.runs.import_ import name_of
    from dbdyno.imports import Told, arrange, collect, plan_of, write

    collected = collect([record], {})
    cells = arrange(collected.results, [])
    plan = plan_of(cells, collected, Told(name_of(out), "", None))
    command = ["dyno", "sysbench", *map(_without_password, args), f"--{OUT}={out}"]
    write(out, plan, cells, collected, command)


def _without_password(word: str) -> str:
    name, equals, value = word.partition("=")
    is_secret = name.startswith("--") and name.endswith("password") and value
    return f"{name}{equals}***" if is_secret else word


def _end_as(code: int) -> NoReturn:
    """Ends this process as the engine ended."""
    sys.stdout.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(abs(code))
