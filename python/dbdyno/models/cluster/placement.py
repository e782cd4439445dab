"""Where to put how many nodes, so that a cluster survives what was asked; or why no layout does.

A failure is survived if what is left is primary (`quorum.py`) and holds data. For given numbers of
members at each site the conditions on weights are linear, 2*w(lost) + w(lost before) < w(all), and
members of a site are interchangeable. So if any weights do, equal ones within each site do (the
mean over all exchanges of members), and only one weight a site has to be searched.

If none do, there is a proof of one kind (Farkas' lemma): a list of failures, each so and so often,
in which every member is lost in at least half of the cases. Whatever the weights are, half of them
or more are lost on the average, so one of these failures takes at least half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from scipy.optimize import linprog

from dbdyno.models.cluster.failures import (
    MEMBERS_MAX,
    SITES_MAX,
    Failure,
    Wish,
    failures,
    letter,
)
from dbdyno.wording.plurals import count

WEIGHT_TRIED_MAX = 9  # a site's weight; what needs larger ones is not searched for
SHOWN_MAX = 3


@dataclass(frozen=True)
class Limits:
    """What may be used. `members` counts arbitrators too; `data_sites`: how many sites may have
    data (0: at all)."""

    members: int = 9
    sites: int = 4
    arbitrators: int = 0
    data_sites: int = 0
    weights: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.members <= MEMBERS_MAX or not 1 <= self.sites <= SITES_MAX:
            raise ValueError(f"at most {MEMBERS_MAX} members at {SITES_MAX} sites, at least one")
        if not 0 <= self.arbitrators < self.members:
            raise ValueError("arbitrators are fewer than members")


@dataclass(frozen=True)
class Site:
    """Members at one site; all have the same weight."""

    data: int
    arbitrators: int
    weight: int

    @property
    def size(self) -> int:
        """Members."""
        return self.data + self.arbitrators


@dataclass(frozen=True)
class Layout:
    """Sites in order of size."""

    sites: tuple[Site, ...]

    @property
    def data(self) -> int:
        """Nodes with data."""
        return sum(site.data for site in self.sites)

    @property
    def members(self) -> int:
        """All members."""
        return sum(site.size for site in self.sites)

    def said(self) -> str:
        """`2+2+1`, or with weights and arbitrators in words."""
        plain = "+".join(str(site.size) for site in self.sites)
        if all(site.weight == 1 and not site.arbitrators for site in self.sites):
            return plain
        parts = []
        for number, site in enumerate(self.sites):
            nodes = f"{site.data} {'node' if site.data == 1 else 'nodes'}" if site.data else ""
            judges = "an arbitrator" if site.arbitrators == 1 else f"{site.arbitrators} arbitrators"
            named = " and ".join(
                part for part in (nodes, judges if site.arbitrators else "") if part
            )
            heavy = "" if site.weight == 1 else f" of weight {site.weight}"
            each = " each" if heavy and site.size > 1 else ""
            parts.append(f"{named}{heavy}{each} at {letter(number)}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Proof:
    """Why no weights help a layout with so many members at each site: failures with the share of
    cases that each is, in which every member counts for at least a half. Or, without cases, why
    weights do not matter (`reason`)."""

    sizes: tuple[int, ...]
    cases: tuple[tuple[Fraction, Failure], ...] = ()
    reason: str = ""

    def holds(self) -> bool:
        """Checks it, exactly."""
        if not self.cases:
            return bool(self.reason)
        if sum(share for share, _ in self.cases) != 1:
            return False
        return all(
            sum(share * (2 * case.now[i] + case.before[i]) for share, case in self.cases) >= size
            for i, size in enumerate(self.sizes)
        )

    def said(self) -> str:
        """In a sentence."""
        shape = "+".join(map(str, self.sizes))
        if not self.cases:
            return f"{shape}: {self.reason}"
        listed = "; ".join(f"{share} {case.what}" for share, case in self.cases)
        earlier = any(any(case.before) for _, case in self.cases)
        more = ", a loss before the last vote counted as half of one" if earlier else ""
        return f"{shape}: in these cases every member is lost half of the time{more}: {listed}"


@dataclass(frozen=True)
class Found:
    """The answer: the cheapest layout, or why there is none. `tried`: layouts tried."""

    wish: Wish
    limits: Limits
    layout: Layout | None
    tried: int
    bounds: tuple[str, ...] = ()  # arguments that hold for every layout within the limits
    proofs: tuple[Proof, ...] = field(default=())


def search(wish: Wish, limits: Limits | None = None) -> Found:
    """The layout with the fewest nodes with data, then the fewest arbitrators, then equal weights,
    then the smallest weights, that survives the wish."""
    limits = limits or Limits()
    # Each takes a linear programme: made only if no layout is found.
    proofs: dict[tuple[int, ...], Callable[[], Proof]] = {}
    tried = 0
    for data, judges in _budgets(limits):
        best: tuple[tuple[int, int, tuple[int, ...]], Layout] | None = None
        for sites in _shapes(data, judges, limits):
            tried += 1
            sizes = tuple(sum(pair) for pair in sites)
            asked = failures(wish, sizes)
            if reason := _data_lost(wish, sites, asked):
                proofs.setdefault(sizes, partial(Proof, sizes, (), reason))
                continue
            weights = _weights(sizes, _key(asked), limits.weights)
            if weights is None:
                proofs[sizes] = partial(_proof, sizes, asked, limits.weights)
                continue
            made = Layout(
                tuple(Site(*pair, weight) for pair, weight in zip(sites, weights, strict=True))
            )
            cost = (len(set(weights)), len(sizes), weights)
            if best is None or cost < best[0]:
                best = cost, made
        if best is not None:
            return Found(wish, limits, best[1], tried)
    proved = tuple(prove() for prove in proofs.values())
    return Found(wish, limits, None, tried, bounds(wish, limits), proved)


def survives(wish: Wish, sites: Sequence[Site]) -> Failure | None:
    """The first failure that stops this layout; None if it survives them all."""
    sizes = [site.size for site in sites]
    total = sum(site.weight * site.size for site in sites)
    for one in failures(wish, sizes):
        now = sum(site.weight * n for site, n in zip(sites, one.now, strict=True))
        before = sum(site.weight * n for site, n in zip(sites, one.before, strict=True))
        if 2 * now + before >= total:
            return one
        if _nobody_with_data([(site.data, site.arbitrators) for site in sites], one):
            return one
    return None


def bounds(wish: Wish, limits: Limits) -> tuple[str, ...]:
    """Arguments that settle the question for every layout within the limits, whatever weights."""
    found = []
    if wish.crashes and limits.members < 2 * wish.crashes + 1:
        found.append(
            f"Of at most {count(limits.members, 'member')} {_heaviest(wish.crashes)} at least"
            " half of the weight, since the others are not more; to survive"
            f" {'its' if wish.crashes == 1 else 'their'} crash takes {2 * wish.crashes + 1}"
            " members."
        )
    if wish.sites and limits.sites < 2 * wish.sites + 1:
        found.append(
            f"Of at most {count(limits.sites, 'site')} {_heaviest(wish.sites)} at least half of"
            " the weight, wherever the nodes are; to survive"
            f" {'its' if wish.sites == 1 else 'their'} loss takes {2 * wish.sites + 1} sites, of"
            " which some may hold an arbitrator only."
        )
    data_sites = min(limits.data_sites or limits.sites, limits.sites)
    if wish.sites and data_sites <= wish.sites:
        found.append(
            f"Data is at {count(data_sites, 'site')} at most; the loss of {wish.sites} takes"
            " it all, and arbitrators have none."
        )
    if wish.local and limits.members - limits.arbitrators < 2:
        found.append("A second node with data takes two of them.")
    return tuple(found)


def _heaviest(count: int) -> str:
    """Of members or sites, with the verb."""
    return "the heaviest holds" if count == 1 else f"the {count} heaviest hold"


def _budgets(limits: Limits) -> Iterator[tuple[int, int]]:
    for data in range(1, limits.members + 1):
        for judges in range(min(limits.arbitrators, limits.members - data) + 1):
            yield data, judges


def _shapes(data: int, judges: int, limits: Limits) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ways to put so many nodes with data and arbitrators on sites, (data, arbitrators) each, in
    order of size; no empty site."""

    def place(
        data: int, judges: int, left: int, top: tuple[int, int, int]
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        if data == judges == 0:
            yield ()
            return
        if not left:
            return
        for here in range(data, -1, -1):
            for both in range(judges, -1, -1):
                key = (here + both, here, both)
                if key[0] == 0 or key > top:
                    continue
                for rest in place(data - here, judges - both, left - 1, key):
                    yield ((here, both), *rest)

    allowed = limits.data_sites or limits.sites
    top = (data + judges, data, judges)
    for sites in place(data, judges, limits.sites, top):
        if sum(1 for here, _ in sites if here) <= allowed:
            yield sites


def _data_lost(wish: Wish, sites: Sequence[tuple[int, int]], asked: Sequence[Failure]) -> str:
    """Why data is not there after one of the failures; "" if it always is."""
    if wish.local and any(data == 1 for data, _ in sites):
        return "a site has one node with data only"
    for one in asked:
        if _nobody_with_data(sites, one):
            return f"{one.what} takes the last node with data"
    return ""


def _nobody_with_data(sites: Sequence[tuple[int, int]], one: Failure) -> bool:
    """Whether it can take every node with data, the worst choice at each site."""
    return all(gone >= data for (data, _), gone in zip(sites, one.gone, strict=True))


def _key(asked: Sequence[Failure]) -> tuple[tuple[int, ...], ...]:
    """The conditions as rows r with r . weights < total: 2*now + before, the strictest only."""
    rows = {tuple(2 * n + b for n, b in zip(o.now, o.before, strict=True)) for o in asked}
    return tuple(
        sorted(
            row
            for row in rows
            if not any(o != row and all(a >= b for a, b in zip(o, row, strict=True)) for o in rows)
        )
    )


@lru_cache(maxsize=4096)
def _weights(
    sizes: tuple[int, ...], rows: tuple[tuple[int, ...], ...], unequal: bool
) -> tuple[int, ...] | None:
    """The smallest weights, one a site, that satisfy all rows; equal ones if they do."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    of = np.array(sizes, dtype=np.int64)
    if (table.sum(axis=1) < of.sum()).all():
        return (1,) * len(sizes)
    if not unequal:
        return None
    tried = _grid(len(sizes))
    fits = (tried @ table.T < (tried @ of)[:, None]).all(axis=1)
    good = tried[fits]
    if not len(good):
        return None
    order = np.lexsort((*good.T[::-1], good @ of, good.max(axis=1)))
    return tuple(int(value) for value in good[order[0]])


@lru_cache(maxsize=16)
def _grid(sites: int) -> np.ndarray:
    """All weights that are tried, a row each."""
    top = WEIGHT_TRIED_MAX if sites <= 4 else 4
    axes = np.meshgrid(*[np.arange(top + 1)] * sites, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def _proof(sizes: tuple[int, ...], asked: Sequence[Failure], unequal: bool) -> Proof:
    """Failures and their shares from the linear programme's dual, checked exactly."""
    if not unequal:
        worst = max(
            asked, key=lambda one: sum(2 * n + b for n, b in zip(one.now, one.before, strict=True))
        )
        return Proof(sizes, (), f"with equal weights, {worst.what} takes half or more")
    rows = np.array(
        [[2 * n + b for n, b in zip(o.now, o.before, strict=True)] + [1] for o in asked],
        dtype=float,
    )
    of = np.array([*sizes, 0], dtype=float)
    goal = np.zeros(len(sizes) + 1)
    goal[-1] = -1  # the largest margin
    solved = linprog(
        goal,
        A_ub=rows,
        b_ub=np.ones(len(asked)),
        A_eq=[of],
        b_eq=[1],
        bounds=[(0, None)] * len(sizes) + [(None, None)],
        method="highs",
    )
    shares = [Fraction(-float(y)).limit_denominator(720) for y in solved.ineqlin.marginals]
    total = sum(shares)
    cases = tuple(
        (share / total, case) for share, case in zip(shares, asked, strict=True) if share > 0
    )
    proof = Proof(sizes, cases)
    if cases and proof.holds():
        return proof
    return Proof(sizes, (), f"no weights up to {WEIGHT_TRIED_MAX} do")


def arguments(found: Found) -> list[str]:
    """Why there is no layout, a sentence each."""
    if found.bounds:
        return list(found.bounds)
    shown = sorted(found.proofs, key=lambda p: (-sum(p.sizes), -len(p.sizes), p.sizes))
    lines = [f"{one.said()}." for one in shown[:SHOWN_MAX]]
    rest = len(shown) - SHOWN_MAX
    if rest <= 0:
        return lines
    others = "other one falls" if rest == 1 else f"{rest} others fall"
    return [*lines, f"The {others} in the same way."]
