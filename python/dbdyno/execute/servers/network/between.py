"""The network between the nodes of a topology: a relay's listener for each port that a node opens
to each of the others.

Nodes tell each other their addresses, so none can be given other ones. Instead each node runs with
the engine's library for LD_PRELOAD (`dyno-engine relay --redirect`), which leads its connections
by a table of its own: from a port of another node to the listener for connections of this node
to that port. Children of a server (rsync, PostgreSQL's processes) inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.execute.servers.network.links import Links, Measured
from dbdyno.experiment.types import Network
from dbdyno.hosts.base import Host

LIBRARY = "redirect.so"
RUN_TIMEOUT_S = 30.0
TABLE_BYTES_MAX = 4096  # `redirect/lib.rs` reads no more


class Between:
    """See the module. One for each start of a topology; it lives as long as `Links`."""

    def __init__(
        self,
        links: Links,
        host: Host,
        engine: Path,
        directory: Path,
        target: str,
        network: Network | None,
    ) -> None:
        """`directory`: not there yet, for tables that every account may read. DynoError if what
        is measured of a `network` is not what was asked for."""
        self._links = links
        self._directory = directory
        self._target = target
        self._network = network or Network()
        self._ports: dict[str, int] = {}  # of servers, by listener
        self._at: dict[str, int] = {}  # of the relay, by listener
        self.measured: Measured | None = None
        if network is not None:
            self.measured = links.measure(f"nodes of {target}", network)
        directory.mkdir(parents=True)
        directory.chmod(0o755)
        library = directory / LIBRARY
        done = host.run([engine, "relay", "--redirect", library], timeout_s=RUN_TIMEOUT_S)
        if done.returncode != 0:
            raise DynoError(
                f"the network between nodes of `{target}` cannot be made: {done.stderr.strip()}",
                fix="install dbdyno's engine again",
            )

    def environment(self, node: str) -> Mapping[str, str]:
        """See `topology.base.Between`."""
        table = self._directory / node
        if not table.exists():
            table.touch(0o644)
        return {"LD_PRELOAD": str(self._directory / LIBRARY), "DYNO_REDIRECT": str(table)}

    def open(self, ports: Mapping[str, Mapping[str, int]]) -> None:
        """See `topology.base.Between`."""
        for source in ports:
            lines = []
            for node, uses in ports.items():
                if node == source:
                    continue
                for use, port in uses.items():
                    lines.append(f"{port} {self._listener(source, node, use, port)}\n")
            self._write(source, "".join(lines))

    def check(self) -> None:
        """See `topology.base.Between`."""
        relay = self._links.relay
        if not self._at:
            return  # a node that is alone
        assert relay is not None
        if not any(relay.state(name).accepted for name in self._at):
            raise DynoError(
                f"the nodes of `{self._target}` reach each other without the network between them",
                cause="their program does not take part in LD_PRELOAD: it is linked statically",
                fix="use a dynamically linked server, such as a package's",
            )

    def _listener(self, source: str, node: str, use: str, port: int) -> int:
        """The relay's port for connections of one node to a port of another."""
        name = f"{source}>{node} {use}"
        if self._ports.get(name) != port:
            self._at[name] = self._links.listen(name, (source, node), port, self._network)
            self._ports[name] = port
        return self._at[name]

    def _write(self, node: str, lines: str) -> None:
        assert len(lines) <= TABLE_BYTES_MAX
        new = self._directory / f"{node}.new"
        new.write_text(lines)
        new.chmod(0o644)
        os.replace(new, self._directory / node)
