"""What a cluster is made of: members at sites, and how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.models.cluster.files.options import WEIGHT_MAX, Options

MEMBERS_MAX = 64


@dataclass(frozen=True)
class Member:
    """A node. An arbitrator (garbd) votes and relays, and holds no data: no writes there."""

    name: str
    site: str = "main"
    weight: int = 1
    arbitrator: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= WEIGHT_MAX:
            raise ValueError(f"the weight of {self.name} must be from 0 to {WEIGHT_MAX}")


@dataclass(frozen=True)
class Topology:
    """Members by name in the order given; `latency_s`: one way, between two sites or two members
    (a member's own pair wins); what is not named has `near_s`."""

    members: Mapping[str, Member]
    latency_s: Mapping[frozenset[str], float] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    near_s: float = 0.0002
    transfer_s: float = 0.0  # how long a joiner takes to catch up before it serves
    writes_per_s: float = 0.0  # of the whole cluster; only flow control asks for it
    idle: bool = False  # nothing is written: members hear each other's keepalives only

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("a cluster has at least one node")
        if len(self.members) > MEMBERS_MAX:
            raise ValueError(f"at most {MEMBERS_MAX} nodes")
        if all(one.arbitrator for one in self.members.values()):
            raise ValueError("every node is an arbitrator: none has data")
        if not any(one.weight for one in self.members.values()):
            raise ValueError("every weight is 0: no component can ever have a majority")
        farthest = max(self.latency_s.values(), default=0.0)
        if 2 * farthest >= self.options.suspect_s:
            raise ValueError(
                f"members that are {farthest:g} s apart suspect each other before they can agree"
                f" (evs.suspect_timeout is {self.options.suspect_s:g} s)"
            )

    def between(self, one: str, other: str) -> float:
        """Seconds that a message takes from one member to another."""
        sites = frozenset((self.members[one].site, self.members[other].site))
        for pair in (frozenset((one, other)), sites):
            if pair in self.latency_s:
                return self.latency_s[pair]
        return self.near_s

    def sites(self) -> tuple[str, ...]:
        """Sites in the order of their first member."""
        return tuple(dict.fromkeys(one.site for one in self.members.values()))

    def at(self, name: str) -> tuple[str, ...]:
        """A member's name, or a site's members; KeyError for anything else."""
        if name in self.members:
            return (name,)
        found = tuple(one.name for one in self.members.values() if one.site == name)
        if not found:
            raise KeyError(name)
        return found
