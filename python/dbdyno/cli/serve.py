"""`dyno serve`: runs, digests and models in a browser."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from dbdyno import userconfig
from dbdyno.errors import DynoError
from dbdyno.store.naming import RUNS

PORT = 8137


@click.command()
@click.argument(
    "directory", type=click.Path(path_type=Path, file_okay=False), metavar="[DIR]", required=False
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True,
              help="Port to listen on; 0 takes any free one.")  # fmt: skip
@click.option("--read-only", is_flag=True, help="Show only: start, stop and change nothing.")
@click.option("--token", envvar="DYNO_SERVE_TOKEN", metavar="TOKEN",
              help="Secret that the address must hold, 16 characters at least [default:"
              " $DYNO_SERVE_TOKEN, else a random one].")  # fmt: skip
def serve(directory: Path | None, host: str, port: int, read_only: bool, token: str | None) -> int:
    """Serve the runs below DIR as pages, on this machine alone.

    DIR is the directory of runs of your settings, else `runs`, unless another is given. Printed is
    the address to open, which holds a random token. Each page has its data at the same address with
    .json behind it. Ends with Ctrl-C.
    """
    from dbdyno.web import listening
    from dbdyno.web.security import TOKEN_MIN, Access

    directory = directory or userconfig.read().runs or RUNS
    if not directory.is_dir():
        raise DynoError(
            f"{directory} is no directory",
            cause="there are no runs yet, or they are elsewhere",
            fix="name the directory that holds them; `dyno run` makes `runs`",
        )
    if token is not None and len(token) < TOKEN_MIN:
        raise click.UsageError(f"--token: at least {TOKEN_MIN} characters")
    bound = listening.bind(host, port)
    own = bound.getsockname()[1]
    access = Access(own) if token is None else Access(own, token)
    name = f"[{host}]" if bound.family == socket.AF_INET6 else host

    def ready() -> None:
        click.echo(f"http://{name}:{own}/?token={access.token}")

    if not listening.is_loopback(bound):
        click.echo(
            "warning: other machines can connect, and the token crosses the network in clear text;"
            " `ssh -L` is safer than --host",
            err=True,
        )
    listening.serve(directory.absolute(), access, bound, ready, read_only=read_only)
    return 0
