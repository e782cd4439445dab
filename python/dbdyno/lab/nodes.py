"""Which lab and which node a word means.

A node is called as its server is (`galera.2`; the first one as its lab, `galera`), or by its number
or its role at this moment: `2`, `primary`, `replica`, `router`, `arbitrator`; with several labs,
LAB before it: `galera.2`, `galera.primary`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean, listed
from dbdyno.experiment.types import (
    ARBITRATOR,
    DOWN,
    MEMBER,
    PRIMARY,
    REPLICA,
    ROUTER,
    TO_PRIMARY,
)
from dbdyno.lab.registry import Record

NO_SERVERS = (ROUTER, ARBITRATOR)  # words for the only one of a lab, whatever its state
WORDS = (PRIMARY, REPLICA, *NO_SERVERS)


def lab(records: Sequence[Record], name: str | None) -> Record:
    """The lab of that name; without one the only lab. DynoError if there is none, or several."""
    by_name = {record.name: record for record in records}
    if name is None:
        return _only(records, "name it")
    if name not in by_name:
        fix = did_you_mean(name, by_name) if by_name else "start one: dyno lab up mariadb"
        raise DynoError(f"no lab called `{name}` is up", fix=fix)
    return by_name[name]


def _only(records: Sequence[Record], what: str) -> Record:
    if len(records) == 1:
        return records[0]
    if not records:
        raise DynoError("no lab is up", fix="start one: dyno lab up mariadb")
    names = listed(record.name for record in records)
    raise DynoError(f"{len(records)} labs are up: {names}", fix=what)


def found(records: Sequence[Record], word: str) -> tuple[Record, str]:
    """The lab that a word is about, and what it says of the node: a node's name, or one of WORDS.
    DynoError that lists the nodes if it means none."""
    for record in records:
        if word in _names(record):
            return record, word
        if word == record.name:  # which comes up, and has no nodes yet
            return record, word
        above, _, rest = word.rpartition(".")
        if above == record.name:
            return record, _within(record, rest)
    if word.isdigit() or word in WORDS:
        record = _only(records, f"write LAB.{word}, such as {records[0].name}.{word}")
        return record, _within(record, word)
    if not records:
        raise DynoError("no lab is up", fix="start one: dyno lab up mariadb")
    names = [name for record in records for name in _names(record)]
    raise DynoError(f"no lab has a node `{word}`", fix=did_you_mean(word, [*names, *WORDS]))


def _within(record: Record, rest: str) -> str:
    """A number or a role of a lab's node."""
    names = _names(record)
    servers = [name for name in names if name.rpartition(".")[2] not in NO_SERVERS]
    if rest.isdigit() and 1 <= int(rest) <= len(servers):
        return servers[int(rest) - 1]
    if rest in WORDS:
        return rest
    raise DynoError(
        f"lab `{record.name}` has no node `{rest}`",
        fix=f"known: {listed([*names, *WORDS])}" if names else "wait until it is up",
    )


def by_role(name: str, word: str, nodes: Sequence[Mapping[str, Any]]) -> str:
    """The name of the first node that is what `word` says, by the roles of `status`. Of members of
    a cluster the first one is the primary, as in experiments, and the others are replicas. A router
    or an arbitrator stays one while it is down."""
    up = [node for node in nodes if node["role"] != DOWN]
    members = [node for node in up if node["role"] == MEMBER]
    wanted = [node for node in up if node["role"] == word]
    if word in NO_SERVERS:
        wanted = [node for node in nodes if str(node["name"]).endswith(f".{word}")]
    elif members:
        wanted = members[:1] if word == TO_PRIMARY else members[1:]
    if not wanted:
        roles = ", ".join(f"{node['name']} is {node['role']}" for node in nodes)
        raise DynoError(
            f"lab `{name}` has no {word} now",
            cause=roles or "it comes up",
            fix="name a node, or start it again: dyno lab start NODE",
        )
    return str(wanted[0]["name"])


def _names(record: Record) -> list[str]:
    return [str(node["name"]) for node in record.nodes]
