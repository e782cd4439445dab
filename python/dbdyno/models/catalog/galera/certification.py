"""How many transactions fail when several Galera nodes write the same rows?

A transaction runs on its node alone. When it asks to commit, its write-set is ordered among those
of all nodes. It fails if for one of its keys a conflicting write-set from another node is newer
than what it had seen. That happens in two places: while it runs, the write-set that arrives takes
its row by force (an abort at apply); while its own is on its way, it fails certification. Both end
with error 1213, and it has to run again. Transactions of one node never conflict: they wait.

Formula:
    others [rate] = rate * (1 - 1 / nodes)
        writes of the hot rows on other nodes
    at_apply [share] = hit(others, rows, skew, execute)
        aborted while it runs
    fails [share] = hit(others, rows, skew, execute + order)
        an attempt fails, in either place
    in_certification [share] = fails - at_apply
        ordered second
    attempts [number] = 1 / (1 - min(fails, 0.999999))
        attempts for one that commits
    lost [duration] = (attempts - 1) * (execute + order + backoff)
        time that failed attempts add
    latency [duration] = attempts * (execute + order) + (attempts - 1) * backoff
        from the first attempt to the commit, without waits for locks of the same node
    alone [duration] = execute + order
        the same with a single writer, without waits for locks
    ceiling [rate] = 1 / (hottest(rows, skew) * (execute + order))
        commits a second that the hot rows allow at all, with any number of writers: the hottest
        one's transactions come one after the other

Assumptions:
    Writes come at random (Poisson) and evenly over nodes; each transaction writes one of the hot
    rows from its begin on. Row number i is drawn with a chance in proportion to 1 / i^skew (Zipf):
    evenly with 0. A victim starts again at once, or after `backoff`.

    `execute` is from the lock to the request to commit, `order` from there to the answer: about one
    round trip to the farthest node and the flush. One writer of the row gives both.

    It holds while conflicts are rare. Where they are not, victims come back and conflict again; a
    file of transactions is simulated one by one: `dyno model certification transactions.csv`.

    A row that sessions write one after the other is a file too, in YAML: `dyno model certification
    hot.yaml` (docs/guide/galera.md). Its commits are compared with real nodes, with one, two and
    three that write, within 20 % (`docs/proof.md`).

Versions:
    Galera 3 and 4. Certification looks back over at most 16,384 write-sets. Keys are shared,
    reference, update or exclusive; exclusive conflicts with all, update with all but reference.
    Each pair of reference, update and exclusive was compared with real nodes, with strict and
    optimized `wsrep_certification_rules` alike; shared keys are of older protocols.

    At apply the locks of rows decide, so that there a reference (a foreign key to the row) and an
    update do collide; if the victim had been certified it is replayed, and its client sees a slow
    commit.

Source:
    Galera Cluster documentation, "Certification-Based Replication"; MariaDB documentation,
    `WSREP_CERT_KEYS`. Read 2026-11. P = 1 - exp(-rate x window) is the chance of at least one
    Poisson arrival in the window.

Trap:
    "Count wsrep_local_cert_failures." Most victims lose their rows at apply, which is counted in
    wsrep_local_bf_aborts: a transaction usually runs longer than its write-set is on its way. One
    that is hit on its way counts in both, so do not add them: count the clients' errors 1213.

    "More writers, more writes." A hot row takes one commit in the time of one COMMIT, from any
    number of nodes. From two and three nodes it took about as many as from one, and each commit
    failed every session of the other nodes that wanted the row (`docs/proof.md`). On three nodes
    that shared two processors it took 24 to 35 % and 41 to 47 % fewer commits from two and from
    three: failed attempts take processor time, which is not simulated. Send writes of hot rows to
    one node.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("rate", "rate", "writes of the hot rows on all nodes together", None, "0.0001/s",
          "1000000/s", example="100/s"),
    Input("nodes", "count", "nodes that write them", "2", "1", "64", whole=True),
    Input("rows", "count", "hot rows", "1", "1", "1000000000", whole=True),
    Input("skew", "number", "how unevenly they are written: Zipf's exponent, 0 evenly", "0", "0",
          "3"),
    Input("execute", "duration", "from the lock to the request to commit", "5ms", "0s", "1h"),
    Input("order", "duration", "from the request to commit to the answer", "1ms", "0s", "10m"),
    Input("backoff", "duration", "wait before the next attempt", "0s", "0s", "1h"),
)  # fmt: skip
OUTPUTS = ("fails", "at_apply", "in_certification", "attempts", "latency", "alone", "ceiling")
SAYS = (
    ("nodes <= 1", "Nothing fails with a single writer; a row takes at most {ceiling}."),
    ("", "{fails} of the attempts fail: {at_apply} at apply, {in_certification} in certification. A"
     " transaction takes {latency} on average instead of {alone} with a single writer."),
)  # fmt: skip
REFUSALS = (
    Note("execute + order <= 0", "execute and order are both zero: give order=1ms"),
)  # fmt: skip
NOTES = (
    Note("rate > ceiling", "the hot rows take {ceiling} at most, and {rate} are asked for: it ends"
         " in a queue with a single writer, in failures with several"),
    Note("fails > 0.2 and rate <= ceiling", "conflicts are frequent here, and victims that come"
         " back conflict again: simulate a file of sessions instead (docs/guide/galera.md)"),
)  # fmt: skip
SINGLE = 64  # ranks that are taken one by one; those behind them in groups that grow
GROUPS_A_DOUBLING = 12


_SINGLES = np.arange(1.0, SINGLE + 1)
_EDGES = np.unique(
    np.floor(SINGLE * 2.0 ** (np.arange(25 * GROUPS_A_DOUBLING) / GROUPS_A_DOUBLING))
)


@lru_cache(maxsize=16_384)
def _ranks(rows: float, skew: float) -> tuple[Any, Any]:
    """How many rows, and the chance of one of them: rank by rank, then groups of neighbours."""
    single = _SINGLES[: int(min(rows, SINGLE))]
    edges = np.append(_EDGES[: np.searchsorted(_EDGES, rows)], rows)
    first, last = edges[:-1] + 1, edges[1:]
    counts = np.concatenate([np.ones_like(single), last - first + 1])
    weights = np.concatenate([single, np.sqrt(first * last)]) ** -skew
    return counts, weights / np.dot(counts, weights)


def hit(others: float, rows: float, skew: float, window: float) -> float:
    """Chance that another node writes the row that a transaction writes within the window: the sum
    over rows of p (1 - exp(-others x p x window)), where p is the chance of the row. Rows behind
    the 64 hottest are taken in groups of neighbours."""
    counts, chances = _ranks(rows, skew)
    return float(np.sum(counts * chances * -np.expm1(-others * window * chances)))


def hottest(rows: float, skew: float) -> float:
    """Chance of the hottest row."""
    return float(_ranks(rows, skew)[1][0])


FUNCTIONS = {"hit": hit, "hottest": hottest}
GOLDEN = (
    Golden({"rate": "20/s", "execute": "5ms", "order": "2ms"},
           {"fails": "6.8%", "at_apply": "4.9%", "in_certification": "1.9%"},
           "by hand: 1 - exp(-10 x 0.007); simulated: 6.2 %"),
    Golden({"rate": "100/s", "rows": "100", "execute": "10ms"}, {"fails": "0.5%",
           "ceiling": "9091/s"}, "by hand: 1 - exp(-50 x 0.011 / 100), and 100 / 0.011"),
    Golden({"rate": "100/s", "rows": "2", "skew": "1", "execute": "10ms", "order": "0s"},
           {"fails": "24.0%", "ceiling": "150/s"},
           "by hand: 2/3 (1 - exp(-1/3)) + 1/3 (1 - exp(-1/6))"),
    Golden({"rate": "100/s", "nodes": "1"}, {"fails": "0%", "alone": "6ms", "ceiling": "167/s"},
           "published: no conflict between transactions of one node"),
    Golden({"rate": "100/s", "execute": "10ms", "order": "10ms"},
           {"fails": "63.2%", "attempts": "2.72"}, "by hand: 1 - 1/e, and e attempts"),
)  # fmt: skip
