"""Packets are lost between client and server, or new connections find no room in a listen queue.

TCP sends a lost packet again after a timeout: 200 ms at first on a local network, then twice as
long each time (RFC 6298; Linux: TCP_RTO_MIN). So a session whose packets are lost waits, and how
long the sessions waited shows how many retransmits there must have been. A client whose connection
was turned away tries again after 1 s, in the same manner.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dbdyno.analysis.causes.evidence import STALL, Evidence, Moved
from dbdyno.analysis.causes.rule import ANY, Match, Rule

RETRANSMITS, SEGMENTS = "network.retransmits_per_s", "network.segments_per_s"
OVERFLOWS = "network.listen_overflows_per_s"

SEGMENT_TIMEOUT_S = 0.2
CONNECT_TIMEOUT_S = 1.0
COUNT_MIN = 3.0  # a stall: fewer come by chance
FACTOR_MIN = 5.0  # so many times as often as otherwise
SHARE_MIN = 0.001  # of the segments sent
PART_MIN = 0.5  # of the repetitions that waiting sessions make


def packets(seen: Evidence) -> Match | None:
    """Segments sent again account for half of the time that is missing, or more. Either end may
    have sent them: requests are lost as well as answers."""
    if connections(seen) is not None:
        return None  # whose requests for a connection are sent again, too
    moved = _most(seen, seen.everywhere(RETRANSMITS))
    if moved is None or not _accounts(seen, moved, SEGMENT_TIMEOUT_S):
        return None
    sent = seen.moved.get(moved.metric.replace(RETRANSMITS, SEGMENTS))
    if sent is None or moved.during < SHARE_MIN * _asked(seen, sent):
        return None
    return Match(0.85, moved.metric, {"again": moved, "sent": sent})


def connections(seen: Evidence) -> Match | None:
    """The server's machine turned clients away, for half of the time that is missing."""
    moved = _most(seen, seen.named(OVERFLOWS))
    if moved is None or not _accounts(seen, moved, CONNECT_TIMEOUT_S):
        return None
    return Match(0.85, moved.metric, {"refused": moved})


def _most(seen: Evidence, ends: Iterable[Moved]) -> Moved | None:
    """Of several machines, the one with the most."""
    return max(ends, key=lambda moved: _extra(seen, moved), default=None)


def _extra(seen: Evidence, moved: Moved) -> float:
    """More than otherwise: of a stall all together, of a side a second."""
    if seen.question == STALL:
        return moved.gained - moved.expected
    return moved.during - moved.otherwise


def _accounts(seen: Evidence, moved: Moved, timeout_s: float) -> bool:
    """Whether so many repetitions explain half of the sessions' time that is missing."""
    still = max(1.0 - seen.share, 0.0) * seen.sessions
    if seen.question == STALL:  # each session repeats after 1, 3, 7, ... timeouts
        wanted = still * math.log2(1.0 + seen.length_s / timeout_s)
        least = COUNT_MIN
    else:  # packets are lost now and then: a timeout each, a second
        wanted, least = still / timeout_s, 0.0
    if moved.during < FACTOR_MIN * moved.otherwise or still <= 0.0:
        return False
    return _extra(seen, moved) >= max(least, PART_MIN * wanted)


def _asked(seen: Evidence, sent: Moved) -> float:
    """Segments a second of which they are a share. In a stall only those beyond the usual: what
    else the machine sends all the time says nothing about waiting sessions."""
    return sent.during - sent.otherwise if seen.question == STALL else sent.during


RULES = (
    Rule("network", ANY, packets),
    Rule("listen_queue", ANY, connections),
)
