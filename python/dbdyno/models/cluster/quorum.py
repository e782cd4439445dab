"""When a component of a cluster is primary.

    primary  iff  2*w(m) + w(l) > w(p)

p: members of the last primary view; l: those of them that left gracefully; m: those of them that
are left in this component; w: the sum of their weights (pc.weight, 0 to 255). Equality is split
brain: neither half may go on (https://galeracluster.com/library/documentation/weighted-quorum.html,
which writes (w(p) - w(l)) / 2 < w(m)). Who joined meanwhile has no vote in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dbdyno.models.cluster.files.options import Options


@dataclass(frozen=True)
class Vote:
    """One evaluation of the rule, with its numbers."""

    remaining: int
    left: int
    last: int
    ignore_sb: bool = False
    ignore_quorum: bool = False

    @property
    def votes(self) -> int:
        """The left side: 2*w(m) + w(l)."""
        return 2 * self.remaining + self.left

    @property
    def split_brain(self) -> bool:
        """Whether it is exactly half."""
        return self.votes == self.last

    @property
    def majority(self) -> bool:
        """The rule alone."""
        return self.votes > self.last

    @property
    def primary(self) -> bool:
        """The rule, or an option that overrides it."""
        return self.majority or self.ignore_quorum or (self.ignore_sb and self.split_brain)

    def said(self) -> str:
        """The rule with its numbers."""
        sign = ">" if self.majority else "=" if self.split_brain else "<"
        tail = "" if self.majority else ": split brain" if self.split_brain else ": a minority"
        if self.primary and not self.majority:
            tail += f", overridden by pc.{'ignore_quorum' if self.ignore_quorum else 'ignore_sb'}"
        left = f" + {self.left}" if self.left else ""
        return f"2*{self.remaining}{left} = {self.votes} {sign} {self.last}{tail}"


def vote(
    last: Mapping[str, int],
    remaining: Collection[str],
    left: Collection[str] = (),
    options: Options | None = None,
) -> Vote:
    """The vote of the members `remaining` of the last primary view (name -> weight)."""
    options = options or Options()
    assert not set(remaining) & set(left)
    return Vote(
        sum(last[name] for name in remaining if name in last),
        sum(last[name] for name in left if name in last),
        sum(last.values()),
        options.ignore_sb,
        options.ignore_quorum,
    )


def survives(weights: Mapping[str, int], crashed: Iterable[str], left: Iterable[str] = ()) -> bool:
    """Whether what remains is primary when these crash, and those leave gracefully, at once."""
    gone = {*crashed, *left}
    return vote(weights, [name for name in weights if name not in gone], [*left]).primary
