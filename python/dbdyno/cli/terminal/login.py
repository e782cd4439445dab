"""Options of a login at an external server: where the password comes from, and what protects it.

A password itself is never an option: other users of the machine can read a command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dbdyno.experiment.types import Credentials

_SOURCES = {  # option -> field of `Credentials`
    "password_env": "env",
    "password_file": "file",
    "password_command": "command",
    "defaults_group": "defaults_group",
}
NAMES = (*_SOURCES, "tls", "cleartext_password", "server_public_key")  # also keys of a target
_COMMAND = "--password-command"

_OPTIONS = (
    click.option("--password-env", metavar="NAME", help="Environment variable with the password."),
    click.option("--password-file", metavar="FILE", help="File with the password."),
    click.option(_COMMAND, metavar="COMMAND", help="Command that prints the password."),
    click.option(
        "--defaults-group", metavar="NAME", help="Group of ~/.my.cnf with user and password."
    ),
    click.option("--tls", metavar="MODE", help="off, prefer, require, verify or ca:FILE."),
    click.option(
        "--cleartext-password",
        is_flag=True,
        default=None,
        help="The password itself may be sent, over TLS or a Unix socket.",
    ),
    click.option(
        "--server-public-key",
        metavar="FILE|get",
        help="MySQL's RSA key, for the password if there is no TLS.",
    ),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them; they arrive by the `NAMES`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were typed. click.UsageError for two sources of one password."""
    if sum(typed[name] is not None for name in _SOURCES) > 1:
        raise click.UsageError("name one source of the password")
    return {name: typed[name] for name in NAMES if typed[name] is not None}


def credentials(typed: Mapping[str, Any]) -> Credentials:
    """Where the password of a URL comes from, and how it may be sent."""
    from dbdyno.experiment.types import Credentials

    said = given(typed)
    return Credentials(
        **{field: said.get(name) for name, field in _SOURCES.items()},
        cleartext=said.get("cleartext_password", False),
        server_public_key=said.get("server_public_key"),
    )


def without_commands(arguments: list[str]) -> list[str]:
    """A command line as it may be kept: a command that prints a password may hold it."""
    from dbdyno.experiment.file.hidden import HIDDEN

    kept = list(arguments)
    for number, argument in enumerate(arguments):
        if argument.startswith(f"{_COMMAND}="):
            kept[number] = f"{_COMMAND}={HIDDEN}"
        elif number and arguments[number - 1] == _COMMAND:
            kept[number] = HIDDEN
    return kept
