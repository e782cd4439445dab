"""Faults as an experiment means them. Lengths in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

ANY_NODE = "any"  # of a fault: the trial's seed chooses
ALL_NODES = "all"  # of a fault: each of them, at once

NODES, CLIENTS = "nodes", "clients"  # other ends of links: the nodes of the target, the load
AFTER = "after"  # of `replace`: records change once the new node works
OUT, IN = "out", "in"  # what the fault's nodes send, what is sent to them


@dataclass(frozen=True)
class Line:
    """What a line is like, each way; None: as it is otherwise."""

    delay_s: float | None = None
    jitter_s: float | None = None  # up to so much more
    bytes_per_s: int | None = None
    loss: float | None = None  # share of packets


@dataclass(frozen=True)
class Fault:
    """Something done to servers at second `at_s` of a trial's measured time. `nodes`: roles, `any`,
    or names; `for_s`: how long it lasts, None: until the end of the trial."""

    at_s: float
    do: str  # a name of `experiment.faults.KEYS`
    nodes: tuple[str, ...]
    target: str
    for_s: float | None = None
    peers: tuple[str, ...] = ()  # of faults on links: NODES, CLIENTS, names of nodes
    one_way: str = ""  # of these: OUT, IN, or both ways
    line: Line = field(default_factory=Line)  # of `link`
    sql: str = ""  # of `sql`: the first statement; of `alter`: the change of the table
    more_sql: tuple[str, ...] = ()  # of `sql`: what its session sends then
    cpu_cores: float | None = None  # of `limit`
    memory_bytes: int | None = None  # of `limit`
    disk_iops: int | None = None  # of `limit`: of reads and of writes each
    disk_bytes_per_s: int | None = None  # of `limit`: the same
    clock_s: float = 0.0  # of `clock`: how far forward
    every_s: float = 0.0  # of `nemesis`: mean pause between faults
    hold_s: float = 0.0  # of `nemesis`: how long each lasts
    of: tuple[str, ...] = ()  # of `nemesis`: what it draws from
    tool: str = ""  # of `backup` and `alter`
    logs: str = ""  # of `backup`: `streamed` or `kept`; empty: none
    to_s: float | None = None  # of `restore`: moment up to which logs are replayed; None: their end
    version: str = ""  # of `upgrade`: leading numbers
    basedir: str = ""  # of `upgrade`: where its programs are; empty: where dyno looks
    kind: str = ""  # of `upgrade`: that of its target
    table: str = ""  # of `alter`
    record: str = ""  # of `replace`: AFTER; empty: before the new node starts

    @property
    def is_between_nodes(self) -> bool:
        """Whether it is on links between nodes."""
        return any(peer != CLIENTS for peer in self.peers)

    @property
    def is_on_clients(self) -> bool:
        """Whether it is on links to clients."""
        return CLIENTS in self.peers

    @property
    def is_on_clocks(self) -> bool:
        """Whether its nodes must have a clock that can be put forward and back."""
        return self.do == "clock"
