"""The commands of `dyno`: a line each, loaded when used.

A command's module declares its options with click alone, so that help and a Tab are answered at
once; what it needs to work (numpy, scipy, pydantic, drivers) it imports where it works.
"""

from __future__ import annotations

import keyword
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# In the order of a user's work: the first paragraph of its help, and the module that declares it.
COMMANDS = {
    "try": (
        "Try WHAT in one line: an answer in about two minutes, and an experiment to go on with.",
        "dbdyno.cli.trying.command",
    ),
    "init": (
        "Write a commented experiment to start from.",
        "dbdyno.cli.init",
    ),
    "schema": (
        "Print the JSON Schema of an experiment, for editors.",
        "dbdyno.cli.schema",
    ),
    "plan": (
        "Plan EXPERIMENT: how many blocks and minutes find a difference of a given size.",
        "dbdyno.cli.planning.command",
    ),
    "run": (
        "Run EXPERIMENT: a YAML file, or the name of a shipped study.",
        "dbdyno.cli.running.command",
    ),
    "status": (
        "Show the progress of a run.",
        "dbdyno.cli.runs.status",
    ),
    "report": (
        "Draw the report of a run again, or share it.",
        "dbdyno.cli.runs.report",
    ),
    "compare": (
        "Compare run B with run A: ratios B/A.",
        "dbdyno.cli.runs.compare",
    ),
    "history": (
        "Show the runs below DIR over time, by plan: spread between runs, change points, and what"
        " changed where they are.",
        "dbdyno.cli.runs.history",
    ),
    "pool": (
        "Combine the ratios of several runs of one plan: other days, other machines.",
        "dbdyno.cli.runs.pool",
    ),
    "export": (
        "Write a run's numbers for other programs.",
        "dbdyno.cli.runs.export",
    ),
    "import": (
        "Import existing results as a run, and report on it.",
        "dbdyno.cli.runs.import_",
    ),
    "digest": (
        "Report the statements on which a server spent its time.",
        "dbdyno.cli.logs.digest",
    ),
    "check": (
        "Check servers and their files: findings with evidence, effect, fix and undo.",
        "dbdyno.cli.checking.command",
    ),
    "prove": (
        "Prove what an index, a setting or a rewrite changes, on a throw-away server.",
        "dbdyno.cli.proving.command",
    ),
    "lab": (
        "Start servers to work with by hand: a cluster, a primary with replicas, a single server.",
        "dbdyno.cli.labs.command",
    ),
    "model": (
        "Compute an answer: how much memory, how many nodes, what it costs, how long.",
        "dbdyno.cli.models.model",
    ),
    "config": (
        "Show the settings of ~/.config/dbdyno/config.toml, and where that file is.",
        "dbdyno.cli.config",
    ),
    "serve": (
        "Serve the runs below DIR as pages, on this machine alone.",
        "dbdyno.cli.serve",
    ),
    "sysbench": (
        "Do what sysbench does with ARGS: its options, tests, Lua scripts and reports.",
        "dbdyno.cli.sysbench",
    ),
}


class Commands(click.Group):
    """Imports a command when it is asked for, and lists all of them without."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[cmd_name][1]), _attribute(cmd_name))
        assert isinstance(command, click.Command)
        return command

    def every(self) -> dict[str, click.Command]:
        """All commands, loaded: for who writes documentation."""
        ctx = click.Context(self)
        loaded = {name: self.get_command(ctx, name) for name in COMMANDS}
        return {name: command for name, command in loaded.items() if command is not None}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As Group's, from the lists above."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [(name, _about(name, limit)) for name in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As Group's, from the lists above."""
        from click.shell_completion import CompletionItem

        named = [
            CompletionItem(name, help=_about(name))
            for name in COMMANDS
            if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]


def _about(name: str, limit: int = 45) -> str:
    """The help's first paragraph, as click shortens it."""
    return click.Command(name, help=COMMANDS[name][0]).get_short_help_str(limit)


def _attribute(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
