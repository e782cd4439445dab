"""How long do writes stall when a Galera node crashes, pauses or leaves?

A write is delivered once every member of the view has it, so that all writes stall from the moment
that one member falls silent until the others have agreed to go on without it. `--from` a server's
URL takes the options that it runs with. With a file the model runs a whole script of events on a
topology, draws each node's state over time, and says who is primary, how long writes stall, and
why: `dyno model cluster-timeline cluster.yaml`.

Formula:
    agreed_from [duration] = suspect + retransmission - (keepalive if idle == 'yes' else 0)
        earliest agreement after the silence begins
    agreed_to [duration] = suspect + check + retransmission
        latest agreement: the suspicion waits for the next check
    dropped [word] = "yes" if event == 'crash' or event == 'pause' and pause > agreed_to else (
        "either" if event == 'pause' and pause > agreed_from else "no")
        whether the others go on without that member: only if the silence outlasts the agreement
    relayed [duration] = peer + 1.3
        until a lost link between two is bridged by a third
    pause_or_relay [duration] = pause if event == 'pause' else relayed if event == 'link' else 0
        how long it takes if nobody is dropped
    stall_from [duration] = pause_or_relay if dropped == 'no' else agreed_from
        shortest time without writes on the others
    stall_to [duration] = pause_or_relay if dropped == 'no' else (
        min(pause, agreed_to) if event == 'pause' else agreed_to)
        longest time
    believes [duration] = 0 if event == 'crash' or dropped == 'no' else suspect + retransmission
        how long at most a node that was dropped believes in the old view after the pause

Assumptions:
    Two members or more are left and agree at once. A second crash within the search lengthens it
    until that one is suspected too, and both count in one vote.

    The time until members repeat their join messages (evs.join_retrans_period) is no documented
    part of it. It was observed: from crash to new view 6.00 to 6.47 s with defaults. In an idle
    cluster the last sign of life may be a keepalive of evs.keepalive_period ago: 5.14 to 6.12 s.

    To lower evs.join_retrans_period alone brings less than the formula says. With 200 ms for it and
    defaults for the rest 5.65 to 5.94 s were measured; the formula says 5.2 to 5.7 s. With 200 ms
    for evs.keepalive_period too, and 100 ms for the check, it was 5.21 to 5.30 s, as the formula
    says. Which of these two does it was not measured.

    A pause that ends before the others have agreed keeps the node, suspected or not. The simulation
    of a script says the same. On real nodes pauses of 3 s and of 9 s were tried, and none that ends
    between the suspicion and the agreement.

    Two more limits count only where members cannot agree, and so in scripts only. A member that is
    silent for evs.inactive_timeout (15 s) is given up even if not all suspect it. One that does not
    answer while they search is given up after evs.install_timeout (7.5 s); after
    evs.max_install_timeouts (3) of these and one more each member goes on alone.

    A link that loses one direction is dead in both, since TCP waits for acknowledgments; a third
    node bridges it 1.3 s after gmcast.peer_timeout (observed: 4.26 to 4.32 s), and nobody is
    dropped.

    Not part of it: state transfer to a node that joins, and that the others halt when one comes
    back (0.1 to 2.0 s observed; a script has it).

    It is of machines with processor time to spare. With five times as much to run as there were
    processors, members missed a repetition of join messages now and then: three of some fifty
    stalls were another evs.join_retrans_period longer (leaves that took 1.0 and 1.1 s, a return
    3.0 s).

    A node whose links were all cut at once was dropped after 6.1 to 6.5 s (five of five). Where
    they were cut some 40 ms after each other, the larger side took 10.2 s in two of three.

Versions:
    Galera 26.4 (MariaDB 10.11), observed 2026-11. A server whose evs.suspect_timeout is less than
    three times its evs.keepalive_period was seen not to start.

Source:
    Galera Cluster documentation, "Galera Parameters" and "Weighted Quorum"; MariaDB documentation,
    `wsrep_provider_options`. Read 2026-11. Times: three nodes on loopback; `docs/proof.md` holds
    predicted and observed side by side.

Trap:
    "A crashed node is detected after 5 s." Writes stall for 6.0 to 6.5 s: to the suspicion come the
    wait for the next check and that for the next repetition of join messages.

    "The connections of a crashed process are closed, so the others know at once." They wait for
    evs.suspect_timeout all the same.

    "A node that is stopped for a while costs nothing if it comes back in time." All writes of the
    whole cluster stall as long as it does.

    After a pause of more than 6.5 s the node answers as primary for another 6 s, though the others
    have gone on without it: what it reads is old. wsrep_sync_wait makes reads wait instead.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Measured, Note

INPUTS = (
    Input("event", "word", "event of one member", "crash",
          words=("crash", "pause", "leave", "link")),
    Input("pause", "duration", "length of the `pause`", "0s", "0s", "1d"),
    Input("suspect", "duration", "`evs.suspect_timeout`", "5s", "100ms", "10m",
          variables=("wsrep_provider_options/evs.suspect_timeout",)),
    Input("check", "duration", "`evs.inactive_check_period`", "500ms", "1ms", "1m",
          variables=("wsrep_provider_options/evs.inactive_check_period",)),
    Input("retransmission", "duration", "`evs.join_retrans_period`", "1s", "1ms", "1m",
          variables=("wsrep_provider_options/evs.join_retrans_period",)),
    Input("keepalive", "duration", "`evs.keepalive_period`", "1s", "1ms", "1m",
          variables=("wsrep_provider_options/evs.keepalive_period",)),
    Input("peer", "duration", "`gmcast.peer_timeout`", "3s", "0s", "10m",
          variables=("wsrep_provider_options/gmcast.peer_timeout",)),
    Input("idle", "word", "whether nothing is written before", "no", words=("no", "yes")),
)  # fmt: skip
OUTPUTS = ("stall_to", "stall_from", "believes")
SAYS = (
    ("event == 'leave'", "A node that is shut down announces it: the others continue at once."),
    ("dropped == 'yes' and event == 'pause'", "Writes on the others stall for {stall_from} to"
     " {stall_to}; the node believes in its old view for {believes} after it goes on."),
    ("dropped == 'either'", "Writes on the others stall for {stall_from} to {stall_to}. When"
     " they make their checks decides whether the node is dropped; if it is, it believes in its old"
     " view for {believes} after it goes on."),
    ("dropped == 'yes'", "Writes stall for {stall_from} to {stall_to}."),
    ("", "Writes stall for {stall_to}, and no node is dropped."),
)  # fmt: skip
REFUSALS = (
    Note("event == 'pause' and pause <= 0", "the length of the pause is missing: give pause=3s"),
    Note("idle == 'yes' and keepalive >= suspect",
         "keepalive={keepalive} is not shorter than suspect={suspect}"),
)  # fmt: skip
NOTES = (
    Note("event == 'link' and relayed >= suspect",
         "members suspect each other before the link is bridged; without the agreement of the third"
         " no node is dropped"),
    Note("retransmission < keepalive and dropped != 'no'",
         "to lower evs.join_retrans_period alone brings less than this: with 200 ms for it 5.65 to"
         " 5.94 s were measured; 5.21 to 5.30 s with 200 ms for evs.keepalive_period too, 100 ms"
         " for the check"),
    Note("suspect < 3 * keepalive",
         "a server with suspect={suspect} and keepalive={keepalive} was seen not to start"),
)  # fmt: skip
GOLDEN = (
    Golden({}, {"stall_from": "6.0s", "stall_to": "6.5s"}, "by hand: 5 + 1, and a check of 0.5"),
    Golden({"idle": "yes"}, {"stall_from": "5.0s"}, "by hand: a keepalive less"),
    Golden({"event": "pause", "pause": "10s"},
           {"dropped": "yes", "stall_to": "6.5s", "believes": "6.0s"},
           "by hand: longer than the agreement takes"),
    Golden({"event": "pause", "pause": "5.2s"},
           {"dropped": "no", "stall_from": "5.2s", "stall_to": "5.2s", "believes": "0s"},
           "by hand: suspected, and back before the others have agreed; simulated: the same"),
    Golden({"event": "pause", "pause": "6.2s"},
           {"dropped": "either", "stall_from": "6.0s", "stall_to": "6.2s", "believes": "6.0s"},
           "by hand: the agreement comes after 6.0 to 6.5 s; simulated: the same"),
    Golden({"event": "leave"}, {"stall_to": "0s"}, "published: the others are notified"),
)  # fmt: skip
MEASURED_ON = (
    "Three MariaDB 10.11 nodes (Galera 26.4) on loopback, 2026-11: the shortest and the longest of"
    " six or more times without a commit, by a writer that commits 100 times a second, after"
    " SIGSTOP; with `idle`, until the new view. A link was cut by a route between network"
    " namespaces."
)
MEASURED = (
    Measured({}, {"stall_from": "6.00s", "stall_to": "6.42s"}, 0.05),
    Measured({"check": "100ms"}, {"stall_from": "6.00s", "stall_to": "6.07s"}, 0.05),
    Measured({"check": "100ms", "retransmission": "200ms", "keepalive": "200ms"},
             {"stall_from": "5.21s", "stall_to": "5.30s"}, 0.05),
    Measured({"retransmission": "200ms"}, {"stall_from": "5.65s", "stall_to": "5.94s"}, 0.1),
    Measured({"suspect": "3s"}, {"stall_from": "4.05s", "stall_to": "4.53s"}, 0.05),
    Measured({"idle": "yes"}, {"stall_from": "5.14s", "stall_to": "6.12s"}, 0.1),
    Measured({"event": "pause", "pause": "3s"}, {"stall_to": "3.0s"}, 0.05),
    Measured({"event": "pause", "pause": "9s"}, {"believes": "6.03s"}, 0.05),
    Measured({"event": "link"}, {"stall_to": "4.27s"}, 0.05),
)  # fmt: skip
