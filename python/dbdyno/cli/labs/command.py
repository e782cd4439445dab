"""`dyno lab`: its commands and their options."""

from __future__ import annotations

from typing import Any

import click

from dbdyno.cli import completing
from dbdyno.cli.terminal import length

_JSON = click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
_NODE = click.argument("node", required=False, metavar="[NODE]", shell_complete=completing.nodes)


@click.group()
def lab() -> None:
    """Start servers to work with by hand: a cluster, a primary with replicas, a single server.

    Servers of a lab are started like those of a trial: privately, on loopback, as an unprivileged
    account. A process in the background owns them and ends the lab after --for; if that process
    dies, even by `kill -9`, guardians remove servers and files. Data is not kept.

    NODE is a node's name (galera.2), its number (2) or its role now (primary, replica; router: what
    is in front of them, arbitrator: the member without data); if several labs are up, LAB comes
    before it (galera.primary). Without NODE, the primary is meant.

    \b
    dyno lab up galera --nodes 3
    dyno lab shell 2
    dyno lab kill galera.3
    dyno lab status
    dyno lab down
    """


@lab.command()
@click.argument(
    "what",
    metavar="galera|replicas|group|sentinel|cluster|KIND",
    shell_complete=completing.labs_to_be,
)
@click.option(
    "--kind", metavar="KIND", help="Kind of the servers, where several have the topology."
)
@click.option("--nodes", type=int, metavar="N", help="Number of nodes, the primary included.")
@click.option(
    "--wait-for-replicas",
    type=int,
    metavar="N",
    help="Of replicas, sentinel and cluster: how many must have received a commit before it is"
    " acknowledged.",
)
@click.option(
    "--replication",
    metavar="WORD",
    help="Of replicas of PostgreSQL: physical (default) or logical.",
)
@click.option(
    "--primaries",
    type=click.Choice(["one", "all"]),
    help="Of group: whether one node takes writes, or all do.",
)
@click.option(
    "--router",
    metavar="KIND",
    help="Router in front of the nodes: pgbouncer, pgpool or haproxy.",
)
@click.option(
    "--arbitrator",
    is_flag=True,
    default=None,
    help="Of galera: one more member, garbd, which has a vote and no data.",
)
@click.option(
    "--sst",
    metavar="HOW",
    help="Of galera: how all data come to a node, rsync or mariabackup.",
)
@click.option("--name", default="", metavar="NAME", help="Name of the lab. [default: WHAT it is]")
@click.option("--version", metavar="VERSION", help='Version of the servers: "11.8".')
@click.option("--basedir", metavar="DIR", help="Prefix of the servers' programs.")
@click.option("--memory", metavar="SIZE", help="What each node may use for caching: 256Mi.")
@click.option("--durability", metavar="WORD", help="full, os_crash_unsafe or none.")
@click.option(
    "--config",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of all nodes, in the server's own name; may be repeated.",
)
@click.option(
    "--for",
    "for_s",
    default="8h",
    show_default=True,
    metavar="TIME",
    callback=length.seconds,
    help="When it ends by itself.",
)
@click.option(
    "--scratch",
    metavar="DIR",
    help="Directory of the servers' files [default: $DYNO_SCRATCH or /var/tmp].",
)
@_JSON
def up(**options: Any) -> int:
    """Start a lab: a topology, or a single server of a KIND.

    Progress goes to standard error, the table of nodes to standard output.

    \b
    dyno lab up galera --nodes 3 --memory 256Mi
    dyno lab up replicas --kind postgres --nodes 2 --wait-for-replicas 1
    dyno lab up galera --nodes 2 --arbitrator
    dyno lab up replicas --kind postgres --nodes 2 --router pgpool
    dyno lab up replicas --kind postgres --nodes 2 --replication logical
    dyno lab up mariadb --version 11.8 --name new
    """
    from dbdyno.cli.labs.life import up as started

    return started(**options)


@lab.command()
@click.argument("name", required=False, metavar="[LAB]", shell_complete=completing.labs)
@_JSON
def status(name: str | None, as_json: bool) -> int:
    """Show labs and their nodes: roles, ports, processes, lag, memory."""
    from dbdyno.cli.labs.life import status as shown

    return shown(name, as_json)


@lab.command()
@_NODE
@click.option("--export", is_flag=True, help="Print lines for a shell, to be evaluated.")
@click.option("--password-file", is_flag=True, help="Print the file that holds the password.")
@_JSON
def url(node: str | None, export: bool, password_file: bool, as_json: bool) -> int:
    """Print the URL of a node, for other commands of dyno and for clients.

    It holds no password: that is in a file, which --password-file of other commands reads.

    \b
    dyno check "$(dyno lab url)" --password-file "$(dyno lab url --password-file)"
    eval "$(dyno lab url replica --export)"
    """
    from dbdyno.cli.labs.reaching import url as printed

    if export + password_file + as_json > 1:
        raise click.UsageError("give one of --export, --password-file and --json")
    return printed(node, export=export, password_file=password_file, as_json=as_json)


@lab.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="[NODE] [ARGS...]",
    shell_complete=completing.nodes,
)
def shell(words: tuple[str, ...]) -> int:
    """Open the system's own client at a node: mariadb, mysql, psql or redis-cli.

    ARGS are the client's, which reads standard input as ever.

    \b
    dyno lab shell
    dyno lab shell galera.2 -e "SHOW STATUS LIKE 'wsrep_cluster_size'"
    """
    from dbdyno.cli.labs.shell import shell as opened

    return opened(words)


@lab.command()
@_NODE
@click.option("--lines", default=20, show_default=True, type=click.IntRange(1, 10_000),
              help="How many of the last ones.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Go on with what is logged from now on.")
@_JSON
def logs(node: str | None, lines: int, follow: bool, as_json: bool) -> int:
    """Show the log of a node's server."""
    from dbdyno.cli.labs.reaching import logs as shown

    if follow and as_json:
        raise click.UsageError("--follow shows a log to people, --json to programs: give one")
    return shown(node, lines, follow=follow, as_json=as_json)


@lab.command()
@click.argument("names", nargs=-1, metavar="[LAB...]", shell_complete=completing.labs)
@click.option("--all", "every", is_flag=True, help="All labs.")
@_JSON
def down(names: tuple[str, ...], every: bool, as_json: bool) -> int:
    """End labs, and remove their servers and data. Without LAB, the only one."""
    from dbdyno.cli.labs.life import down as ended

    if every and names:
        raise click.UsageError("--all means every lab: name none")
    return ended(names, every=every, as_json=as_json)


def _action(name: str, about: str) -> None:
    """Adds a command that does one of `dbdyno.lab.servers.ACTIONS` to nodes."""

    @lab.command(name, help=about)
    @click.argument(
        "nodes", nargs=-1, required=True, metavar="NODE...", shell_complete=completing.nodes
    )
    @_JSON
    def command(nodes: tuple[str, ...], as_json: bool) -> int:
        from dbdyno.cli.labs.life import act

        return act(name, nodes, as_json=as_json)


for _name, _about in (
    ("kill", "End nodes by SIGKILL, as a crash does."),
    ("stop", "Stop nodes gracefully."),
    ("start", "Start nodes again that were killed or stopped, on their data."),
    ("restart", "Stop nodes gracefully, and start them again."),
    ("pause", "Freeze nodes by SIGSTOP: connections stay open, and nothing answers."),
    ("resume", "End a pause."),
):
    _action(_name, _about)
