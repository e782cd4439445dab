"""A Galera cluster of MariaDB: all nodes have all data, and each takes writes.

All nodes start on copies of one directory that has been a cluster of one node before: files and
InnoDB hold one position of the cluster (`grastate.dat`, `seqno` not -1), so that a joining node
asks for what was committed since, which is nothing (IST), and no data is copied between servers. A
node that was killed later on has no position, and gets all data (SST) by rsync or mariabackup. One
more member may be an arbitrator (`arbitrator`), which has a vote and no data.

Sources: the MariaDB knowledge base on wsrep system variables, wsrep_provider_options, "State
Snapshot Transfers" and "mariadb-backup SST Method", Galera's documentation on `grastate.dat` and on
the states of a node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, GALERA, MEMBER, Node
from dbdyno.systems.base import Binaries, Resolved, TargetPlan
from dbdyno.systems.mysql.mariadb import SYSTEM
from dbdyno.systems.process.account import account_for
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology import arbitrator, statetransfer
from dbdyno.topology.arbitrator import Arbitrator
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Quorum, Start, Wiring, refuse, with_word

CLUSTER, IST, SST = "cluster", "ist", "sst"  # uses of a node's ports
SEED_TIMEOUT_S = 60.0
JOIN_TIMEOUT_S = 60.0  # from its answer until a node that was started again has what it missed
JOIN_POLL_S = 0.1
NAME = "libgalera_smm.so"
NAME_MAX = 32  # of a cluster; with a longer one nodes do not find each other (gcomm's String<32>)
OPTIONS = "wsrep_provider_options"
ADDRESS = "wsrep_cluster_address"  # without one, a node begins a cluster
OWN = tuple(
    f"wsrep_{name}"
    for name in (
        *("on", "provider", "cluster_address", "cluster_name", "new_cluster", "node_name"),
        *("node_address", "node_incoming_address", "start_position"),
        *("sst_method", "sst_auth", "sst_receive_address"),
    )
)
OWN_OPTIONS = ("base_host", "base_port", "gmcast.listen_addr", "ist.recv_addr")
WANTED = {"wsrep_on": "ON", "binlog_format": "ROW", "innodb_autoinc_lock_mode": "2"}
NOTE = (
    "each node starts on a copy of the loaded data; ports and names are each node's own, state is"
    " transferred by "
)
# What starts a server's accounts is its own, and no node may send it to the others.
ALONE_SQL = ("SET SESSION wsrep_on = OFF",)
STATES = ("Synced", "Donor/Desynced")  # in which a node serves clients


class Galera(Wiring):
    """See the module."""

    topology = GALERA
    kind = "mariadb"
    rejoins = True

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        refuse(target, OWN)
        settings = dict(resolved.settings)
        written = settings.pop(OPTIONS, "")
        for option in OWN_OPTIONS:
            if f"{option}=" in written.replace(" ", ""):
                raise DynoError(
                    f"{target.kind}: `{OPTIONS}` sets `{option}`, which each node has its own",
                    fix=f"remove `{option}`",
                )
        assert target.topology is not None
        note = f"{NOTE}{target.topology.sst}"
        made = with_word(target, replace(resolved, settings=settings), WANTED, note)
        files = {k: v for k, v in made.data_settings.items() if not k.startswith("wsrep_")}
        # A directory that has been a cluster is another one than the same data alone.
        return replace(
            made,
            data_settings={**files, "topology": GALERA},
            node_settings={**made.node_settings, **({OPTIONS: written} if written else {})},
        )

    def check_installed(self, target: TargetPlan, binaries: Binaries) -> None:
        assert target.topology is not None
        _provider(binaries)
        statetransfer.check_installed(target.topology.sst, binaries)
        if target.arbitrator is not None:
            arbitrator.find(binaries)

    def seed(self, members: Members, start: Start, directory: Path) -> None:
        node = members.nodes[0]
        server = start(self.options(members, node, directory))
        members.servers[node.name] = server
        try:
            deadline = time.monotonic() + SEED_TIMEOUT_S
            while said := _lacking(members, 1):
                if time.monotonic() > deadline:
                    raise DynoError(f"a Galera cluster of one node was not ready: {said}")
                time.sleep(0.02)
        except BaseException:
            server.stop(discard=True)
            raise
        if not server.stop():
            raise DynoError(
                "a Galera node did not stop cleanly after its data was loaded",
                cause="it was killed, or took too long to write its caches back",
                fix="look at the memory and the disk of the machine, then run again",
            )
        (directory / "data" / "galera.cache").unlink(missing_ok=True)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        assert members.target.topology is not None
        sst = members.target.topology.sst
        if members.target.arbitrator is not None:
            members.port(members.target.arbitrator, CLUSTER)  # known before it starts
        port = members.port(node, CLUSTER)
        provider = {
            "base_port": str(port),
            "gmcast.listen_addr": f"tcp://{LOOPBACK}:{port}",
            "ist.recv_addr": members.address(node, IST),
        }
        own = ";".join(f"{name}={value}" for name, value in provider.items())
        written = members.resolved.node_settings.get(OPTIONS, "").strip().rstrip(";")
        settings = {
            "wsrep_provider": str(_provider(members.binaries)),
            "wsrep_cluster_name": members.group[:NAME_MAX],
            ADDRESS: f"gcomm://{members.addresses(CLUSTER)}",
            "wsrep_node_name": node.name,
            "wsrep_node_address": LOOPBACK,
            "wsrep_sst_method": sst,
            "wsrep_sst_receive_address": members.address(node, SST),
            OPTIONS: f"{written};{own}" if written else own,
        }
        begin = {ADDRESS: "gcomm://"} if node == members.nodes[0] else {}
        return NodeOptions(
            settings={**settings, **begin},
            settings_again={ADDRESS: settings[ADDRESS]},
            sections={"sst": statetransfer.OPTIONS[sst]},
            init_sql=ALONE_SQL,
            account_sql=statetransfer.account_sql(sst, members.sst_password),
            environment=statetransfer.environment(sst, directory),
        )

    def wire(self, members: Members, node: Node) -> None:
        assert members.target.topology is not None
        server, sst = members.server(node), members.target.topology.sst
        statetransfer.authenticate(server, sst, members.sst_password)

    def rewire(self, members: Members, node: Node) -> None:
        """Waits until it serves clients. A node answers before that, while it takes what it missed
        from another one: were that stopped meanwhile, neither would come back."""
        server = members.server(node)
        deadline = time.monotonic() + JOIN_TIMEOUT_S
        while self.role(server) == DOWN:
            if time.monotonic() > deadline:
                raise DynoError(
                    f"{node.name} answers, and did not join the cluster again within"
                    f" {JOIN_TIMEOUT_S:.0f} s",
                    cause="the others have no quorum, or none of them can send it what it missed",
                    fix="look at its log, and at the faults before",
                )
            time.sleep(JOIN_POLL_S)
        self.wire(members, node)

    def accompany(
        self,
        members: Members,
        environment: Callable[[str], Mapping[str, str]],
        cpus: Sequence[int],
        check: Callable[[], None],
    ) -> None:
        node = members.target.arbitrator
        if node is None:
            return
        members.arbitrator = Arbitrator(
            arbitrator.Setting(
                name=node.name,
                program=arbitrator.find(members.binaries),
                host=members.binaries.host,
                account=account_for(SYSTEM.account),
                group=members.group[:NAME_MAX],
                addresses=members.addresses(CLUSTER),
                port=members.port(node, CLUSTER),
                options=members.resolved.node_settings.get(OPTIONS, ""),
                environment=environment(node.name),
                cpus=cpus,
                check=check,
            )
        )

    def lacking(self, members: Members) -> str:
        return _lacking(members, len(members.target.linked))

    def quorum(self, server: Any) -> Quorum | None:
        status = _looked(server).get("wsrep_cluster_status", "")
        if status not in ("Primary", "non-Primary"):
            return None  # Disconnected: it has left, or joins
        return Quorum(status == "Primary", f"wsrep_cluster_status is {status}")

    def role(self, server: Any) -> str:
        found = _looked(server)
        primary = found.get("wsrep_cluster_status") == "Primary"
        return MEMBER if primary and found.get("wsrep_local_state_comment") in STATES else DOWN


def _lacking(members: Members, nodes: int) -> str:
    """The state of each node that is not in step with so many."""
    said = []
    for name, server in members.servers.items():
        found = _status(server.rows("SHOW GLOBAL STATUS LIKE 'wsrep\\_%'"))  # type: ignore[attr-defined]
        state = found.get("wsrep_local_state_comment", "not known")
        size = found.get("wsrep_cluster_size", "0")
        status = found.get("wsrep_cluster_status", "not known")
        if (state, size, status) != (STATES[0], str(nodes), "Primary"):
            said.append(f"{name} is {state} in a {status} cluster of {size}")
    return "; ".join(said)


def _looked(server: Any) -> Mapping[str, str]:
    """What a node says of itself and its part of the cluster within LOOK_TIMEOUT_S."""
    names = "'wsrep_cluster_status', 'wsrep_local_state_comment'"
    sql = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"
    return _status(server.look(sql, LOOK_TIMEOUT_S))


def _status(rows: Sequence[Sequence[Any]]) -> Mapping[str, str]:
    return {str(name): str(value) for name, value in rows}


def _provider(binaries: Binaries) -> Path:
    """Galera's library: next to the server, else of the system."""
    base = binaries.paths["server"].parent.parent
    folders = [base / "lib/galera", base / "lib64/galera-4", base / "lib"]
    folders += [Path("/usr/lib/galera"), Path("/usr/lib64/galera-4"), Path("/usr/lib")]
    for folder in folders:
        if (folder / NAME).is_file():
            return folder / NAME
    raise DynoError(
        f"no Galera provider ({NAME}) found",
        cause="it is not installed",
        fix="run `make servers`, or `apt-get install galera-4`",
    )


WIRING = Galera()
