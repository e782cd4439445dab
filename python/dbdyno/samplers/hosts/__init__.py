"""Samples of machines that dbdyno does not run on, under the names of the local ones.

`host: ssh://...` reads a machine's /proc over one connection and installs nothing there (`remote`);
`host: prometheus:...` asks a Prometheus for what its node_exporter measured (`prometheus`). Names
begin with `host.` (`host.cpu.busy`), and with the target's before it where a cell has several.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno import kinds
from dbdyno.experiment.targets import host, server_url
from dbdyno.experiment.types import Target
from dbdyno.hosts import ssh
from dbdyno.samplers.base import prefixed
from dbdyno.samplers.hosts.feed import Feed
from dbdyno.samplers.hosts.prometheus import PrometheusFeed
from dbdyno.samplers.hosts.remote import SshFeed


def feeds(targets: Sequence[Target]) -> list[Feed]:
    """What samples the hosts of a cell's targets."""
    several = len(targets) > 1
    found = []
    for target in targets:
        if target.host is not None:
            prefix = prefixed(target.name if several else "", "host")
            found.append(feed(target.host, target.kind, _port(target), prefix))
    return found


def _port(target: Target) -> int | None:
    """Where the server listens on its host; None if that is a socket, or unknown."""
    url = server_url.parse(target.url) if target.url else None
    if url is None or url.socket is not None:
        return None
    return url.port or kinds.of(url.kinds[0]).port


def feed(where: str, kind: str, port: int | None, prefix: str) -> Feed:
    """What samples a target's host. `where` is its `host:`, `kind` and `port` help to find the
    server's process there, `prefix` heads its sources (`host`, `db.host`)."""
    source = host.parse(where)
    if isinstance(source, ssh.SshAddress):
        return SshFeed(source, kind, port, prefix)
    return PrometheusFeed(source, prefix)


__all__ = ["Feed", "PrometheusFeed", "SshFeed", "feed", "feeds"]
