"""Logs and servers as they were typed: options, passwords, and reading with progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbdyno.cli.terminal.streams import drawing
from dbdyno.errors import DynoError

if TYPE_CHECKING:
    pass

STDIN = "-"
EVERY_S = "10s"


@dataclass(frozen=True)
class Options:
    """What was typed. `engine`: passed through to `dyno-engine digest`, as (option, value); a value
    of True is a switch."""

    format: str
    out: Path | None
    engine: tuple[tuple[str, str | bool], ...]
    url: dict[str, Any]
    brief: bool = False

    def typed(self, *names: str) -> list[str]:
        """Which of these options for logs were given."""
        return [name for name, _ in self.engine if name in names]


def all_classes(options: Options) -> Options:
    """With every class listed, unless a limit was typed: else new statements could not be
    distinguished."""
    if options.typed("--limit"):
        return options
    engine = (*options.engine, ("--limit", "all"))
    return Options(options.format, options.out, engine, options.url)


def read_log(
    sources: Sequence[str],
    options: Options,
    on_document: Callable[[Any], None] | None = None,
    made: str = "digest",
) -> tuple[Any, int]:
    from dbdyno.digest import reading

    follows = bool(options.typed("--follow"))
    used = [name for name in options.url if options.url[name] is not None]
    if follows and "every" in used:
        used.remove("every")
    if used:
        names = ", ".join("--" + name.strip("_").replace("_", "-") for name in used)
        raise click.UsageError(f"{names} is for a server's URL")
    arguments: list[str] = []
    for name, value in options.engine:
        arguments += [name] if value is True else [f"{name}={value}"]
    if follows:
        every_s = seconds("--every", options.url["every"] or EVERY_S)
        arguments.append(f"--every={max(1, round(every_s))}")
    progress = Progress()
    try:
        return reading.read(
            [*arguments, "--", *sources],
            on_progress=progress,
            on_document=on_document,
            made=made,
        )
    finally:
        progress.end()


class Progress:
    """How far reading is, in a line that is rewritten; nothing unless somebody watches."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._drawn = False

    def __call__(self, done: int, total: int | None) -> None:
        if not self._shown:
            return
        share = f" of {total / 2**20:,.0f} MiB, {done / total:.0%}" if total else " MiB"
        self._say(f"reading: {done / 2**20:,.0f}{share}")

    def seconds(self, done: float, total: float) -> None:
        """The same of a server's samples."""
        if self._shown:
            self._say(f"sampling: {done:.0f} of {total:.0f} s; Ctrl-C ends it with what there is")

    def _say(self, line: str) -> None:
        self.end()
        click.echo(line, nl=False, err=True)
        sys.stderr.flush()
        self._drawn = True

    def end(self) -> None:
        """Takes the line away."""
        if self._drawn:
            drawing(sys.stderr).write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def seconds(option: str, text: str) -> float:
    from dbdyno.experiment.values import units

    try:
        return units.duration_s(text)
    except ValueError as error:
        raise DynoError(f"`{option} {text}` {error}", fix="such as 10s or 5m") from None
