"""How long does a commit take in a MySQL group whose members are apart?

The member that commits sends the transaction to all others, and a majority must accept it before it
has its place in the order of all messages. Each member has places of its own in that order, taken
in turns. One that has nothing to send says so when it hears of a later place, and what comes after
its place waits for that. So a commit waits for a way there and a way back: to the majority, and to
the farthest member where the place of that one comes before.

With a single consensus leader only the primary has places, and the majority alone counts.

Formula:
    majority [count] = floor((len(delays) + 1) / 2)
        other members that must accept a transaction
    near [duration] = nearest(delays, majority)
        one way to the last of them
    far [duration] = max(delays) if leaders == "all" else near
        one way to the farthest member that is waited for
    ways [count] = 2
        ways between members that a commit waits for
    order [duration] = ways * near
        until the transaction has its place
    earliest [duration] = order + alone
        a commit that waits for no other member's place
    latest [duration] = ways * far + alone
        a commit that waits for the farthest member's place

Assumptions:
    A single member writes, as in single-primary mode. No link is near its bandwidth, no member
    waits for a processor, and none is slowed by flow control.

    `alone` is a commit without the ways, in the same group of members side by side: certification,
    its own flush, and what the group's protocol takes of processors.

    group_replication_consistency is EVENTUAL or BEFORE_ON_PRIMARY_FAILOVER, the defaults: AFTER
    waits until all members have prepared the transaction, BEFORE until those before it are applied.

    A client that is far from the primary adds a round trip a statement.

Versions:
    MySQL 8.0 and later. A single consensus leader: 8.0.27 and later, with
    group_replication_paxos_single_leader=ON, which is not the default.

Source:
    MySQL Reference Manual, "Group Replication Background" and "Single Consensus Leader"; MySQL's
    blog on its consensus protocol, 2017: every member proposes for places of its own. That two ways
    are enough was observed.

Trap:
    "A majority is enough, so a distant member costs nothing." Its places in the order must be
    filled or left empty by itself: of three members one at a distance delays about a third of the
    commits (a published measurement), unless there is a single consensus leader.

    "Group replication is synchronous: a commit is visible everywhere." It has its place in the
    order everywhere; other members apply it later, as replicas do.
"""

from __future__ import annotations

from dbdyno.models.catalog.replication.replica_commit import nearest
from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("delays", "duration", "one way to each other member", "5ms,5ms", "0s", "10m", many=True),
    Input("leaders", "word", "which members propose: all, or one (a single consensus leader)",
          "all", words=("all", "one")),
    Input("alone", "duration", "a commit without the ways", "2ms", "0s", "1m"),
)  # fmt: skip
OUTPUTS = ("earliest", "latest", "order", "near", "far", "majority", "ways")
SAYS = (
    ("latest > earliest", "A commit takes {earliest} to {latest}: a way there and back, to the"
     " majority or to the farthest member, and what it takes alone."),
    ("", "A commit takes {earliest}: a way there and back, and what it takes alone."),
)  # fmt: skip
REFUSALS = ()
NOTES = (
    Note("far < 0.0002", "so near each other the time is that of processors, which is not part of"
         " this"),
)  # fmt: skip
FUNCTIONS = {"nearest": nearest}
GOLDEN = (
    Golden({}, {"earliest": "12ms", "latest": "12ms", "majority": "1"},
           "by hand: 2 x 5 ms, and 2 ms"),
    Golden({"delays": "1ms,20ms"}, {"earliest": "4ms", "latest": "42ms"},
           "by hand: the nearest is the majority; the distant one has places of its own"),
    Golden({"delays": "1ms,20ms", "leaders": "one"}, {"earliest": "4ms", "latest": "4ms"},
           "by hand: the majority alone"),
    Golden({"delays": "1ms,2ms,3ms,40ms"}, {"majority": "2", "order": "4ms"},
           "by hand: three of five, of which one commits"),
)  # fmt: skip
