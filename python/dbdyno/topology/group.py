"""Group replication of MySQL, with a single primary, which the group elects, or with all members
as primaries.

Sources: MySQL's reference manual on group replication: system variables, START GROUP_REPLICATION,
`replication_group_members`, "Configuring Instances for Group Replication", "Multi-Primary Mode" and
"Group Replication Limitations".
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, GROUP, MEMBER, PRIMARY, REPLICA, Node
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
CHECKS = "enforce_update_everywhere_checks"
OWN = tuple(
    f"{PREFIX}{name}"
    for name in (
        *("group_name", "local_address", "group_seeds", "bootstrap_group", "start_on_boot"),
        *("recovery_get_public_key", "ip_allowlist"),
    )
)
# Members check each transaction for what several writers cannot have: SERIALIZABLE, cascades.
MULTI_PRIMARY = {f"{PREFIX}single_primary_mode": "OFF", f"{PREFIX}{CHECKS}": "ON"}
NOTE = (
    "each node starts on a copy of the loaded data; the first one begins the group and is its"
    " primary"
)
MULTI_NOTE = (
    "each node starts on a copy of the loaded data; the first one begins the group, and each is a"
    " primary"
)
# What members add to a number that is generated, so that theirs differ; node n begins at n.
INCREMENT, INCREMENT_DEFAULT = f"{PREFIX}auto_increment_increment", 7
_MEMBERS = "performance_schema.replication_group_members"


class Group(Wiring):
    """See the module."""

    topology = GROUP
    kind = "mysql"
    takes_writes = re.compile(r"^ *(?P<time>\S+)Z .*This server is working as primary member", re.M)
    rejoins = True

    def resolve(self, target: TargetPlan, resolved: Resolved) -> Resolved:
        refuse(target, (*mysqlfamily.OWN, *OWN))
        _refuse_mode(target)
        # A server that is alone while it is loaded does not know the plugin's settings.
        own = {k: v for k, v in resolved.settings.items() if k.startswith(PREFIX)}
        others = {k: v for k, v in resolved.settings.items() if k not in own}
        wanted = {**WANTED, **mysqlfamily.durable_log(target), **_mode(target)}
        logged = mysqlfamily.logged(replace(resolved, settings=others))
        multi = target.topology is not None and target.topology.multi_primary
        made = with_word(target, logged, wanted, MULTI_NOTE if multi else NOTE)
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
            "SELECT member_id = @@server_uuid, member_state, member_role,"
            f" @@{PREFIX}single_primary_mode FROM {_MEMBERS}",
            LOOK_TIMEOUT_S,
        )
        mine = [(state, role, single) for own, state, role, single in rows if own]
        lost = sum(state == "UNREACHABLE" for _, state, _, _ in rows)
        if not mine or mine[0][0] != "ONLINE" or 2 * lost >= len(rows):
            return DOWN
        _, role, single = mine[0]
        if role != "PRIMARY":
            return REPLICA
        return PRIMARY if int(single) else MEMBER


def _mode(target: TargetPlan) -> dict[str, str]:
    """Settings of a group whose members are all primaries; none of another one."""
    topology = target.topology
    if topology is None or not topology.multi_primary:
        return {}
    # A server does not heed an offset that is greater than the increment.
    few = topology.nodes <= INCREMENT_DEFAULT or INCREMENT in map(_plain, target.config)
    return MULTI_PRIMARY | ({} if few else {INCREMENT: str(topology.nodes)})


def _refuse_mode(target: TargetPlan) -> None:
    """DynoError for `config` that sets what `primaries` does."""
    for name in target.config:
        if _plain(name) in MULTI_PRIMARY:
            raise DynoError(
                f"{target.kind}: `{name}` cannot be set in `config:`",
                cause="`primaries` of the topology says it for all nodes",
                fix=f"remove `{name}`, and write `topology: {{kind: group, primaries: all}}` for a"
                " group that is written to everywhere",
            )


def _plain(name: str) -> str:
    return name.strip().replace("-", "_").lower()


def _join(members: Members) -> str:
    return f"START GROUP_REPLICATION USER='{USER}', PASSWORD='{members.password}'"


WIRING = Group()
