"""How long does a commit take in a Galera cluster whose nodes are apart?

A write-set is sent to all nodes and is delivered, in one order for all, once every node is known to
have it. With two nodes the answer of the other one says so. With more, a node must also hear that
the others have heard of each other, which takes one more way. Nodes that all send at the same time
carry each other's answers, and may wait less.

Formula:
    ways [count] = 0 if nodes <= 1 else (2 if nodes <= 2 else 3)
        ways from node to node, one after the other, until a write-set is delivered
    order [duration] = ways * delay
        until it is delivered; a commit takes longer by what it takes alone
    latency [duration] = order + alone
        a commit
    row [rate] = 1 / max(latency, 0.000001)
        commits a second that one row allows, from any number of nodes

Assumptions:
    All nodes are equally far from each other; the farthest one counts. No link is near its
    bandwidth, and no node waits for a processor: with nodes on one machine and no delay the time is
    that of processors, and not what this model is about.

    `alone` is a commit on one node: its flush, or what a flush costs where it is not durable.

    One transaction sends one write-set, when it commits. A client that is far from its node adds a
    round trip a statement.

Versions:
    Galera 4 (26.4), observed 2026-11.

Source:
    Galera Cluster documentation, "Certification-Based Replication": write-sets get their place in a
    total order before they are certified. That a message is delivered once all members are known to
    have it is the safe delivery of extended virtual synchrony (Moser, Amir, Melliar-Smith, Agarwal:
    Extended Virtual Synchrony, 1994). The number of ways was observed.

Trap:
    "A commit costs one round trip to the nearest nodes, as a majority is enough." Galera waits for
    all nodes: the farthest one decides, and a node that hangs stops all commits.

    "Each further node makes a commit slower." From the third on, the delay between them counts and
    not how many they are, as long as no processor or link is busy.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("nodes", "count", "nodes of the cluster", "3", "1", "64", whole=True),
    Input("delay", "duration", "one way between two nodes, the farthest", "5ms", "0s", "10m"),
    Input("alone", "duration", "a commit on one node", "1ms", "0s", "1m"),
)  # fmt: skip
OUTPUTS = ("latency", "order", "ways", "row")
SAYS = (
    ("ways <= 0", "A single node waits for no other: a commit takes {latency}."),
    ("", "A commit takes {latency}: {ways} ways between nodes, and what it takes alone. One row"
     " allows {row}."),
)  # fmt: skip
REFUSALS = ()
NOTES = (
    Note("nodes > 1 and delay < 0.0002", "so near each other the time is that of processors, which"
         " is not part of this"),
)  # fmt: skip
GOLDEN = (
    Golden({"nodes": "1"}, {"latency": "1ms", "ways": "0"}, "by hand: no other node to wait for"),
    Golden({"nodes": "2"}, {"order": "10ms", "ways": "2"}, "by hand: there and back"),
    Golden({"nodes": "3"}, {"order": "15ms", "latency": "16ms"}, "by hand: 3 x 5 ms, and 1 ms"),
    Golden({"nodes": "5", "delay": "20ms"}, {"order": "60ms"}, "by hand: the same three ways"),
)  # fmt: skip
