"""A lost primary is replaced, in a topology whose nodes elect none.

In the order of the field's tools (Orchestrator, Patroni, MHA): the old primary is fenced (killed,
since nothing else is certain of one that hangs), the most advanced of the living replicas applies
all that it has received and is promoted, the others follow it. The old primary comes back as a
replica or stays down: two primaries there never are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from functools import partial
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Node
from dbdyno.topology.base import Members, Position, Succession

APPLY_TIMEOUT_S = 120.0
POLL_S = 0.02
REDIS_TIME = "%d %b %Y %H:%M:%S.%f"

FENCED, CANDIDATE, PROMOTED = "fenced", "candidate", "promoted"
FOLLOWS, RETURNED = "follows", "returned"
"""What became of a node."""

Tell = Callable[[str, str, str], None]  # a node's name, one of the above, what servers say of it


def logged(text: str) -> datetime:
    """The time of a line of a log, in ISO 8601 or as Redis writes it."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.strptime(text, REDIS_TIME)


def logged_at(says: re.Pattern[str], log: str) -> float | None:
    """When a log last said something, in Unix seconds, by the `time` of the pattern, in UTC; None
    if it does not say it."""
    found = list(says.finditer(log))
    return logged(found[-1]["time"]).replace(tzinfo=UTC).timestamp() if found else None


def candidate(positions: Mapping[str, Position]) -> str | None:
    """The replica that has received most, the first of several; None if none is left. What a
    replica has applied does not count: it will have applied all of it before it takes over."""
    if not positions:
        return None
    most = max(each.received for each in positions.values())
    return next(name for name, each in positions.items() if each.received == most)


def positions(succession: Succession, members: Members) -> dict[str, Position]:
    """Of the replicas that answer, in the order of their start. All are asked at the same time."""

    asked = _able(members)
    if not asked:
        return {}
    with ThreadPoolExecutor(len(asked)) as pool:
        found = zip(asked, pool.map(partial(_position, succession, members), asked), strict=True)
        return {node.name: one for node, one in found if one is not None}


def any_answers(succession: Succession, members: Members) -> bool:
    """Whether some replica could take over. Returns with the first that answers: one that hangs
    is not waited for as long as another does not."""
    asked = _able(members)
    if not asked:
        return False
    pool = ThreadPoolExecutor(len(asked))
    try:
        looks = [pool.submit(_position, succession, members, node) for node in asked]
        return any(look.result() is not None for look in as_completed(looks))
    finally:
        pool.shutdown(wait=False)  # a question that is left behind ends after LOOK_TIMEOUT_S


def _able(members: Members) -> list[Node]:
    return [node for node in members.followers if node.name not in members.deposed]


def _position(succession: Succession, members: Members, node: Node) -> Position | None:
    """Of one replica; None if it does not answer."""
    server = members.server(node)
    try:
        return succession.position(server) if server.process.alive() else None
    except Exception:  # it hangs, or died just now: each client library says it in its way
        return None


def take_over(
    succession: Succession, members: Members, tell: Tell, check: Callable[[], None] = lambda: None
) -> Node:
    """Fences the primary and promotes a replica. DynoError if there is none that could be. `check`
    is called while a replica applies what it has received, and raises to end that."""
    old = members.leader
    if not any_answers(succession, members):
        raise DynoError(
            f"no node can take over from {old.name}: no replica answers",
            cause="all others are down, or hang",
            fix="use more nodes, or fewer faults at once",
        )
    server = members.server(old)
    server.kill()
    server.close_connection()
    tell(old.name, FENCED, "")
    found = positions(succession, members)  # what was under way has arrived by now
    name = candidate(found)
    if name is None:
        raise DynoError(f"the last replica of {old.name} died while it took over")
    node = next(each for each in members.nodes if each.name == name)
    if not found[name].applied:
        tell(name, CANDIDATE, f"it received {found[name].text}, and applies what is left of it")
    applied = _applied(succession, members.server(node), found[name], check)
    succession.prepare(members, node)
    succession.promote(members, node)
    members.deposed.add(old.name)
    members.leader_name = name
    others = (f"{other} {each.text}" for other, each in found.items() if other != name)
    tell(name, PROMOTED, "; ".join([f"it had {applied.text}", *others]))
    return node


def _applied(
    succession: Succession, server: Any, position: Position, check: Callable[[], None]
) -> Position:
    """Waits until a replica has applied all that it has received."""
    deadline = time.monotonic() + APPLY_TIMEOUT_S
    while not position.applied:
        if time.monotonic() > deadline:
            raise DynoError(
                f"a replica has not applied what it received within {APPLY_TIMEOUT_S:.0f} s",
                cause=f"it is at {position.text}; its applier has stopped, or is far behind",
                fix="see the server's log; a smaller load leaves replicas closer behind",
            )
        check()
        time.sleep(POLL_S)
        position = succession.position(server)
    return position
