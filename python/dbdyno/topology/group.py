"""Group replication of MySQL with a single primary, which the group elects.

Sources: MySQL's reference manual on group replication: system variables, START GROUP_REPLICATION,
`replication_group_members`, and "Configuring Instances for Group Replication".
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.experiment.types import DOWN, GROUP, PRIMARY, REPLICA, Node
from dbdyno.systems.base import Resolved, TargetPlan
from dbdyno.systems.mysql.managed import USER
from dbdyno.systems.process.managed import NodeOptions
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.base import LOOK_TIMEOUT_S, Members, Quorum, Wiring, refuse, with_word
from dbdyno.topology.replicas import mysqlfamily
from dbdyno.topology.replicas.mysql import FORGET, WANTED, plugins, without_identity

TALK = "group"  # use of a node's port
PLUGINS = "group_replication.so"
PREFIX = "group_replication_"
OWN = tuple(
    f"{PREFIX}{name}"
    for name in (
        *("group_name", "local_address", "group_seeds", "bootstrap_group", "start_on_boot"),
        *("recovery_get_public_key", "single_primary_mode", "ip_allowlist"),
    )
)
NOTE = (
    "each node starts on a copy of the loaded data; the first one begins the group and is its"
    " primary"
)
_MEMBERS = "performance_schema.replication_group_members"


class Group(Wiring):
    """See the module."""

    topology = GROUP
    kind = "mysql"
    takes_writes = re.compile(r"^ *(?P<time>\S+)Z .*This server is working as primary member", re.M)
    rejoins = True

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        refuse(target, (*mysqlfamily.OWN, *OWN))
        # A server that is alone while it is loaded does not know the plugin's settings.
        own = {k: v for k, v in resolved.settings.items() if k.startswith(PREFIX)}
        others = {k: v for k, v in resolved.settings.items() if k not in own}
        wanted = {**WANTED, **mysqlfamily.durable_log(target)}
        logged = mysqlfamily.logged(replace(resolved, settings=others))
        made = with_word(target, logged, wanted, NOTE)
        return replace(made, node_settings={**made.node_settings, **own})

    def prepare(self, members: Members, node: Node, directory: Path) -> None:
        without_identity(directory)

    def options(self, members: Members, node: Node, directory: Path) -> NodeOptions:
        own = {
            "group_name": members.group,
            "local_address": members.address(node, TALK),
            "group_seeds": members.addresses(TALK),
            "bootstrap_group": "OFF",
            "start_on_boot": "OFF",
            "recovery_get_public_key": "ON",
            "ip_allowlist": "127.0.0.0/8",
        }
        written = members.resolved.node_settings
        return NodeOptions(
            {
                "server_id": str(members.number(node)),
                "report_host": LOOPBACK,
                **plugins(members, PLUGINS),
                **{name: value for name, value in written.items() if name.startswith(PREFIX)},
                **{f"{PREFIX}{name}": value for name, value in own.items()},
            }
        )

    def wire(self, members: Members, node: Node) -> None:
        server = members.server(node)
        server.rows(FORGET)  # the loaded data may come from a server with a log
        begins = node == members.nodes[0]
        switch = "SET GLOBAL group_replication_bootstrap_group = "
        statements = [_join(members)]
        server.run("mysql", [f"{switch}ON", *statements, f"{switch}OFF"] if begins else statements)

    def rewire(self, members: Members, node: Node) -> None:
        members.server(node).run("mysql", [_join(members)])

    def lacking(self, members: Members) -> str:
        wanted, said = len(members.nodes), []
        for name, server in members.servers.items():
            rows = server.rows(f"SELECT member_state FROM {_MEMBERS}")  # type: ignore[attr-defined]
            online = sum(state == "ONLINE" for (state,) in rows)
            if online < wanted:
                states = ", ".join(str(state) for (state,) in rows) or "no group"
                said.append(f"{name} sees {online} of {wanted} online ({states})")
        return "; ".join(said)

    def quorum(self, server: Any) -> Quorum | None:
        """A member without a majority stays ONLINE, and calls the others UNREACHABLE."""
        rows = server.look(
            f"SELECT member_id = @@server_uuid, member_state FROM {_MEMBERS}", LOOK_TIMEOUT_S
        )
        if not any(own and state == "ONLINE" for own, state in rows):
            return None
        lost = sum(state == "UNREACHABLE" for _, state in rows)
        return Quorum(2 * lost < len(rows), f"{lost} of {len(rows)} members are UNREACHABLE")

    def role(self, server: Any) -> str:
        rows = server.look(
            f"SELECT member_id = @@server_uuid, member_state, member_role FROM {_MEMBERS}",
            LOOK_TIMEOUT_S,
        )
        mine = [(state, role) for own, state, role in rows if own]
        lost = sum(state == "UNREACHABLE" for _, state, _ in rows)
        if not mine or mine[0][0] != "ONLINE" or 2 * lost >= len(rows):
            return DOWN
        return PRIMARY if mine[0][1] == "PRIMARY" else REPLICA


def _join(members: Members) -> str:
    return f"START GROUP_REPLICATION USER='{USER}', PASSWORD='{members.password}'"


WIRING = Group()
