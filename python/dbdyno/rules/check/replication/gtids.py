"""GTIDs: MySQL's sets, and MariaDB's states, each with an algebra of its own.

MySQL: `UUID:1-5:7,UUID:tag:1-3`: sets of transactions, so a difference is exact. MariaDB:
`domain-server-sequence`. `gtid_binlog_state` has the last sequence of each server in each domain;
positions such as `gtid_slave_pos` have one of each domain only, so that what a replica wrote itself
is gone from them once the source writes again. Sources: the manuals' pages on GTIDs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Interval = tuple[int, int]  # both ends belong to it
Whose = tuple[str, str]  # UUID and tag
Set = Mapping[Whose, Sequence[Interval]]
State = Mapping[tuple[int, int], int]  # (domain, server) -> the last sequence
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def parse(text: str) -> dict[Whose, list[Interval]]:
    """A set of MySQL's. ValueError if it is none."""
    found: dict[Whose, list[Interval]] = {}
    for part in "".join(text.split()).lower().split(","):
        if not part:
            continue
        uuid, *words = part.split(":")
        if not _UUID.fullmatch(uuid) or not words:
            raise ValueError(f"{part!r} is no GTID")
        tag = ""
        for word in words:
            if word[:1].isdigit():
                first, _, last = word.partition("-")
                found.setdefault((uuid, tag), []).append((int(first), int(last or first)))
            else:
                tag = word
    return {whose: _joined(some) for whose, some in found.items()}


def _joined(intervals: Sequence[Interval]) -> list[Interval]:
    """In order, without overlaps and without neighbours."""
    joined: list[Interval] = []
    for first, last in sorted(one for one in intervals if one[0] <= one[1]):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def subtract(one: Set, other: Set) -> dict[Whose, list[Interval]]:
    """What is in `one` and not in `other`."""
    left = {whose: _without(some, other.get(whose, ())) for whose, some in one.items()}
    return {whose: some for whose, some in left.items() if some}


def _without(intervals: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    left = list(intervals)
    for first, last in others:
        left = [
            piece
            for low, high in left
            for piece in ((low, min(high, first - 1)), (max(low, last + 1), high))
            if piece[0] <= piece[1]
        ]
    return _joined(left)


def of(one: Set, uuids: Sequence[str]) -> dict[Whose, Sequence[Interval]]:
    """The part of these servers."""
    return {whose: some for whose, some in one.items() if whose[0] in uuids}


def count(one: Set) -> int:
    """How many transactions."""
    return sum(last - first + 1 for some in one.values() for first, last in some)


def text(one: Set) -> str:
    """As MySQL writes it."""
    return ",".join(
        ":".join((uuid, *([tag] if tag else []), *map(_interval, some)))
        for (uuid, tag), some in sorted(one.items())
    )


def _interval(interval: Interval) -> str:
    first, last = interval
    return str(first) if first == last else f"{first}-{last}"


def each(one: Set, most: int) -> list[str]:
    """The first transactions, one by one."""
    found: list[str] = []
    for (uuid, tag), some in sorted(one.items()):
        for first, last in some:
            for number in range(first, min(last, first + most) + 1):
                found.append(":".join((uuid, *([tag] if tag else []), str(number))))
                if len(found) == most:
                    return found
    return found


def parse_state(words: str) -> dict[tuple[int, int], int]:
    """A state or a position of MariaDB's. ValueError if it is none."""
    found: dict[tuple[int, int], int] = {}
    for part in words.replace("[", " ").replace("]", " ").replace(",", " ").split():
        domain, server, sequence = map(int, part.split("-"))
        found[domain, server] = max(found.get((domain, server), 0), sequence)
    return found


def ahead(replica: State, *sources: State) -> dict[tuple[int, int], tuple[int, int]]:
    """(domain, server) -> the sequence that the sources have, 0 for none, and the replica's, where
    that is later."""
    found = {}
    for whose, sequence in replica.items():
        known = max((source.get(whose, 0) for source in sources), default=0)
        if sequence > known:
            found[whose] = (known, sequence)
    return found
