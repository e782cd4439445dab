"""What a layout is asked to survive, as counts of members lost at each site."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

SITES_MAX, MEMBERS_MAX, CRASHES_MAX = 6, 15, 7


@dataclass(frozen=True)
class Wish:
    """What must not stop writes. `crashes`: any so many members at once. `sites`: any so many sites
    at once. `together`: both at the same moment. `then`: any so many crashes later, after the loss
    of the sites has been agreed on. `local`: a site with data has a second node with data, so that
    its clients find one nearby after one crash."""

    crashes: int = 0
    sites: int = 0
    together: bool = False
    then: int = 0
    local: bool = False

    def __post_init__(self) -> None:
        for name in ("crashes", "sites", "then"):
            if not 0 <= getattr(self, name) <= CRASHES_MAX:
                raise ValueError(f"`{name}` is from 0 to {CRASHES_MAX}")
        if self.together and not (self.crashes and self.sites):
            raise ValueError("`together` needs `crashes` and `sites`")
        if self.then and not self.sites:
            raise ValueError("`then` needs `sites`: crashes after the loss of sites")

    def said(self) -> str:
        """In words."""
        crashes = _many(self.crashes, "crash", "crashes") if self.crashes else ""
        sites = f"the loss of any {_many(self.sites, 'site', 'sites')}" if self.sites else ""
        joint = " together with " if self.together else " and "
        parts = [joint.join(part for part in (sites, f"any {crashes}" if crashes else "") if part)]
        if self.then:
            parts.append(f"any {_many(self.then, 'crash', 'crashes')} after it")
        if self.local:
            parts.append("a second node with data at each site that has one")
        return ", ".join(part for part in parts if part) or "nothing"


@dataclass(frozen=True)
class Failure:
    """Members lost at each site: `before`, already agreed on, so out of the last view; `now`, at
    once. `what`: in words."""

    before: tuple[int, ...]
    now: tuple[int, ...]
    what: str

    @property
    def gone(self) -> tuple[int, ...]:
        """All that are lost at each site."""
        return tuple(b + n for b, n in zip(self.before, self.now, strict=True))


def failures(wish: Wish, sizes: Sequence[int]) -> list[Failure]:
    """Every failure of a layout with so many members at each site, without repetition."""
    nothing = (0,) * len(sizes)
    lost_sites = [(nothing, "")] if not wish.sites else []
    for some in combinations(range(len(sizes)), min(wish.sites, len(sizes))):
        if wish.sites:
            counts = tuple(size if i in some else 0 for i, size in enumerate(sizes))
            lost_sites.append((counts, f"loss of {_sites(some)}"))
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], Failure] = {}

    def add(before: tuple[int, ...], now: tuple[int, ...], what: str) -> None:
        found.setdefault((before, now), Failure(before, now, what))

    for counts, what in lost_sites if wish.sites else ():
        add(nothing, counts, what)
        left = [size - count for size, count in zip(sizes, counts, strict=True)]
        if wish.together:
            for more in _spread(left, wish.crashes):
                both = tuple(a + b for a, b in zip(counts, more, strict=True))
                add(nothing, both, f"{what} and crash of {_nodes(more)}")
        if wish.then:
            for more in _spread(left, wish.then):
                add(counts, more, f"{what}, later crash of {_nodes(more)}")
    if wish.crashes:
        for some_nodes in _spread(sizes, wish.crashes):
            add(nothing, some_nodes, f"crash of {_nodes(some_nodes)}")
    return list(found.values())


def _spread(room: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Ways to take `count` members, or all if there are fewer."""
    count = min(count, sum(room))
    for taken in product(*(range(min(count, most) + 1) for most in room)):
        if sum(taken) == count:
            yield taken


def letter(site: int) -> str:
    """A site's name."""
    return "abcdefghijkl"[site]


def _sites(some: Sequence[int]) -> str:
    word = "site" if len(some) == 1 else "sites"
    return f"{word} {' '.join(letter(i) for i in some)}"


def _nodes(counts: Sequence[int]) -> str:
    parts = [f"{count} at {letter(i)}" for i, count in enumerate(counts) if count]
    return ", ".join(parts) or "nobody"


def _many(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
