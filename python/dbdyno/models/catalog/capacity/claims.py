"""What would have to be true, for "a third of the cost and 1100 times as fast"?

A factor is a claim about all of a response. Whatever part is not made faster bounds the whole
(Amdahl), and no answer comes back sooner than the network brings it. So a large factor says much
about what was compared.

Formula:
    needed [duration] = base / speedup
        response time that the claim implies
    part [share] = 1 - 1 / speedup
        part of the old response time that must have vanished, at least
    server [duration] = max(0, needed - rtt)
        what is left of it to the server, after a round trip
    possible [number] = base / rtt
        the factor at which only the round trip is left: every real one is smaller
    per_money [number] = speedup / cost
        work for the same money, by the claim
    old_for_same [price] = old_price * speedup
        what the old system would cost if it could be bought in parallel to the same throughput
    verdict [word] = "no" if server < 0.000001 * ms else ("hardly" if part > 0.99 else "yes")
        whether one query over the network can show it

Assumptions:
    One query after the other, each at least one round trip. A factor of throughput instead of
    response time needs another comparison: same sessions, same durability, same data in memory.

    `base` is the response time of the system that is called slow, on the claim's own query, as the
    client sees it: with the round trip.

Versions:
    Arithmetic: it depends on no version.

Source:
    Amdahl, "Validity of the single processor approach", AFIPS 1967. Own derivation, 2026-11.

Trap:
    "1100 times as fast at a third of the cost" is 3300 times the work for the same money. For a
    query of 10 ms it means 9 us an answer, less than a round trip in a data centre: it can only be
    a query that took seconds (a scan against an index, a cache against a disk), or something else
    that was measured on both sides.

    It is usually the slowest of many queries. The factor of the whole workload is the one to ask
    for.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input(
        "speedup",
        "number",
        "how many times as fast, by the claim",
        None,
        "1",
        "1e9",
        example="1100",
    ),
    Input("cost", "share", "its cost, as a share of the old one's", "100%", "0.01%", "10000%"),
    Input("base", "duration", "response time of the old system", "10ms", "1us"),
    Input("rtt", "duration", "round trip between client and server", "100us", "1us"),
    Input("old_price", "price", "cost of the old system", "1000/month", "0/month"),
)
OUTPUTS = ("verdict", "needed", "server", "part", "possible", "per_money", "old_for_same")
SAYS = (
    ("verdict == 'no'", "It cannot be true of a query that took {base}: {needed} is no more than"
     " the round trip of {rtt}, so that it is less than {possible} times as fast."),
    ("verdict == 'hardly'", "{part} of {base} must have vanished, to leave {needed}: another plan,"
     " another cache, or another question."),
    ("", "{part} of {base} must have vanished, to leave {needed}; work for the same money is"
     " {per_money} times as much."),
)  # fmt: skip
REFUSALS = (
    Note("base <= rtt", "base={base} is no more than rtt={rtt}, the round trip that is part of it"),
)
NOTES = (
    Note("verdict != 'no' and needed < 2 * rtt",
         "most of what is left is the network: the server must answer in {server}"),
    Note("per_money > 100", "{per_money} times the work for the same money: ask for the workload,"
         " the durability and the size of the data on both sides"),
)  # fmt: skip
GOLDEN = (
    Golden({"speedup": "1100", "cost": "33.3333%"},
           {"needed": "9.09us", "part": "99.91%", "possible": "100", "per_money": "3300",
            "verdict": "no", "old_for_same": "1100000/month"}, "by hand"),
    Golden({"speedup": "1100", "base": "10s"}, {"needed": "9.1ms", "verdict": "hardly"},
           "by hand"),
    Golden({"speedup": "100"}, {"needed": "100us", "server": "0us", "verdict": "no"},
           "by hand: nothing but the round trip is left"),
    Golden({"speedup": "80"}, {"needed": "125us", "server": "25us", "verdict": "yes"}, "by hand"),
    Golden({"speedup": "3", "cost": "150%"}, {"per_money": "2"}, "by hand"),
    Golden({"speedup": "2"}, {"part": "50%", "needed": "5ms", "verdict": "yes"}, "by hand"),
)  # fmt: skip
