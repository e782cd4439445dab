"""What an operator does to a topology that is well: another primary, and a new node in the place of
one whose data are lost. Each part of it is timed by a `step`.

A planned change of the primary loses nothing: the old one is closed (it acknowledges nothing any
more), the replica applies what is left, and only then it is promoted. Where a step before that
fails, the old one is opened again. Once the promotion has begun it is not: one that was not
answered may have taken effect, or take effect later (`pg_promote` that takes too long, a statement
to a server that hangs), and two nodes that take writes part for good. A closed one loses nothing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Node
from dbdyno.systems import backups
from dbdyno.systems.backups.base import WAIT, Site, Step
from dbdyno.systems.process.account import private_directory
from dbdyno.topology import failover
from dbdyno.topology.base import Members, Succession
from dbdyno.topology.locks import NodeLocks

READY_S = 60.0  # in which replicas must be well: one may just be starting, or catching up
LAG_MAX_S = 5.0  # of the replica that takes over: it is waited for while nobody can write
CATCH_UP_S = 60.0
POLL_S = 0.02
PROBE = "dbdyno_probe"  # a table that a server makes which takes writes


def switch_over(
    succession: Succession,
    members: Members,
    node: Node,
    step: Step,
    tell: failover.Tell,
    lead: Callable[[], None],
) -> None:
    """Has a replica take over that is `ready`. `lead` has clients' addresses lead to the new
    leader. The old primary's process may have ended then: see `Succession.retire`. DynoError: the
    old primary leads as before, or stays closed once a promotion has begun."""
    old = members.leader
    with step("close"):
        reopen = succession.close(members)
    has_begun = False
    try:
        with step("catch_up"):
            succession.drain(members, node)
        with step("promote"):
            succession.prepare(members, node)
            has_begun = True
            _promote(succession, members, node)
    except BaseException:
        if not has_begun:
            reopen()
        raise
    members.deposed.add(old.name)
    members.leader_name = node.name
    tell(node.name, failover.PROMOTED, f"planned, from {old.name}")
    with step("lead"):
        lead()


def _promote(succession: Succession, members: Members, node: Node) -> None:
    """DynoError that says what became of the old primary, if the promotion fails."""
    try:
        succession.promote(members, node)
    except Exception as error:  # each client library has errors of its own
        why = error.what if isinstance(error, DynoError) else str(error) or type(error).__name__
        raise DynoError(
            f"the promotion of {node.name} failed, and {members.leader.name} stays closed: {why}",
            cause=f"{node.name} may take writes by now, or later: with both open they would part",
            fix=f"see the log of {node.name}; find out whether it takes writes before the other",
        ) from error


@dataclass(frozen=True)
class Ready:
    """The replica that shall take over, and what was waited for, as the end of a sentence."""

    node: Node
    waited: str


def ready(
    succession: Succession,
    members: Members,
    locks: NodeLocks,
    held: ExitStack,
    step: Step,
    check: Callable[[], None],
) -> Ready:
    """Holds all nodes, until `held` ends, from a moment on at which no other thread works on one of
    them and all are well. DynoError if they are not well within READY_S in which nobody works on
    them; `check` raises to end the wait."""
    with step("check"):
        node, problem = _hold_if_well(succession, members, locks, held)
    if node is not None:
        return Ready(node, "")
    waited: dict[str, None] = {}
    with step(WAIT):
        deadline = time.monotonic() + READY_S
        while node is None:
            check()
            waited |= dict.fromkeys(locks.others())
            if problem is None:
                deadline = time.monotonic() + READY_S
            elif time.monotonic() > deadline:
                raise problem
            time.sleep(POLL_S)
            node, problem = _hold_if_well(succession, members, locks, held)
    return Ready(node, f"; it waited for {', '.join(waited)}" if waited else "")


def _hold_if_well(
    succession: Succession, members: Members, locks: NodeLocks, held: ExitStack
) -> tuple[Node | None, DynoError | None]:
    """The replica that shall take over, with all nodes held; or none, and nothing is held. Then why
    nodes are not well; None: they are worked on."""
    if locks.others():
        return None, None
    try:
        _well(succession, members)  # not held yet: one that is down can be started
        if not held.enter_context(locks.all_if_idle("a switchover")):
            held.close()
            return None, None
        return _well(succession, members), None  # one may have been worked on in between
    except DynoError as problem:
        held.close()
        return None, problem


def _well(succession: Succession, members: Members) -> Node:
    """The most advanced replica. DynoError if one does not answer, or that one is far behind."""
    found = failover.positions(succession, members)
    lacking = [node.name for node in members.followers if node.name not in found]
    if lacking or not found:
        raise DynoError(
            f"no switchover now: {' and '.join(lacking) or 'no replica'} does not answer",
            cause="it is down, or hangs; after the switchover it would be a node less",
            fix="mend that first, or use a failover",
        )
    name = failover.candidate(found)
    node = next(each for each in members.nodes if each.name == name)
    lag_s = float(members.server(node).lag_s())
    if lag_s > LAG_MAX_S:
        raise DynoError(
            f"no switchover now: {node.name} is {lag_s:.1f} s behind",
            cause="writes would wait until it has caught up",
            fix="wait for it, or lower the load",
        )
    return node


def must_follow(members: Members, name: str) -> None:
    """To be asked before a node is replaced: DynoError if it leads."""
    if name == members.leader.name:
        raise DynoError(
            f"{name} leads, and is not replaced",
            cause="no other node has taken over from it: it has what all others lack",
            fix="replace a replica; a lost primary needs a failover first",
        )


def seed_again(
    succession: Succession,
    members: Members,
    node: Node,
    step: Step,
    check: Callable[[], None],
    database: str,
) -> str:
    """Makes a node whose process is dead and whose data are gone again, of a backup of the primary
    that is taken now. It follows when this returns."""
    source = Site(members.primary, database, step, check)
    target = Site(members.server(node), database, step, check)
    made = backups.of(members.target.kind).take(source, "")
    try:
        made.tool.place(target, made)
        succession.seeded(members, node, target.given.directory)
        with step("start"):
            target.server.start_again()
        with step("join"):
            return succession.join(members, node, made.path)
    finally:
        shutil.rmtree(made.path, ignore_errors=True)


def detach(succession: Succession, members: Members, node: Node, step: Step, database: str) -> None:
    """Makes a replica a server of its own, which takes writes. DynoError if it must not be."""
    with step("check"):
        left = len(members.followers) - 1
        if left < members.waits:
            raise DynoError(
                f"{node.name} cannot be detached: commits wait for {members.waits} of"
                f" {len(members.followers)} replicas",
                cause="they would wait for one that follows no more",
                fix="use more nodes, or a smaller `wait_for_replicas`",
            )
        _must_be_replica(members, node)
    with step("catch_up"):
        succession.catch_up(members, node)
    with step("detach"):
        _must_be_replica(members, node)  # by now: a failover waits for no work
        members.detached.add(node.name)  # before it takes writes: routers must not send it any
        succession.promote(members, node)
        succession.forget(members, node)
    with step("verify"):
        probe = f"{PROBE} (a INT)"
        server = members.server(node)
        server.run(database, [f"CREATE TABLE {probe}", f"DROP TABLE {PROBE}"])


def _must_be_replica(members: Members, node: Node) -> None:
    if node not in members.followers:
        raise DynoError(
            f"{node.name} is no replica that could be detached",
            cause="it leads, is down since the start, or was detached before",
            fix="name another node; after a failover roles are not those of the start",
        )


def joins_by_itself(members: Members, node: Node, step: Step) -> str:
    """The same where nodes send each other their data: an empty directory is enough. A node that
    gives up at its start, as one does that loses the others while it asks them for data, is started
    once more, as its service would be."""
    server = members.server(node)
    with step("initialise"):
        private_directory(server.directory / "data", server.given.account)
    with step("start"):
        try:
            server.start_again()
        except DynoError:
            if server.alive():
                raise
            server.start_again()
    return "it got all data from another node (SST)"


def until(is_there: Callable[[], bool], what: str, timeout_s: float = CATCH_UP_S) -> None:
    """Waits for a condition. DynoError if that takes longer."""
    deadline = time.monotonic() + timeout_s
    while not is_there():
        if time.monotonic() > deadline:
            raise DynoError(
                f"{what} within {timeout_s:.0f} s",
                cause="it is far behind, or its applier has stopped",
                fix="see the servers' logs; a smaller load leaves replicas closer behind",
            )
        time.sleep(POLL_S)
