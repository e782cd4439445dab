"""Does a published result agree with itself?

Throughput, sessions and response time of a closed loop are bound together by Little's law: who
knows two of them knows the third. Statements and rows a transaction turn one figure into the
others. What does not agree was measured at another time, or is called by another name.

Formula:
    implied [duration] = sessions / tps
        mean response time that sessions and throughput imply, thinking time included
    statements_per_s [rate] = tps * statements
        statements a second
    rows_per_s [rate] = tps * rows
        rows a second
    ratio [number] = stated / implied if stated > 0 else unknown
        the response time that is stated, by the one that is implied
    p95_ratio [number] = p95 / implied if p95 > 0 else unknown
        the 95th percentile that is stated, by the mean that is implied
    verdict [word] = "not stated" if stated <= 0 else ("yes" if 0.9 <= ratio <= 1.1 else "no")
        whether a stated mean agrees within 10 %
    bytes_per_s [throughput] = rows_per_s * row
        what the rows alone need on the network
    link_share [share] = bytes_per_s / link if link > 0 and row > 0 else unknown
        part of the link that they take; above 100 % they cannot have been sent over it
    rows_at_most [rate] = link / row if link > 0 and row > 0 else unknown
        rows a second that the link carries
    network [duration] = hops * hop
        time on the network, if each hop costs so much
    network_share [share] = network / base
        its part of the response time without load

Assumptions:
    A closed loop: each session sends its next request when the last one is answered. Little's law
    holds for means.

    A 95th percentile mostly lies above the mean. It can lie below: if 1 % of the requests stall for
    long, they lift the mean and not the percentile. Above 20 times the mean it cannot lie, since 5
    % of the requests take at least as long.

    `row` is what a row takes on the wire, with the protocol's own bytes; requests, TLS and headers
    come on top. `link` is that of the busiest machine: with several servers or generators the rows
    of one of them count.

Versions:
    Arithmetic: it depends on no version.

Source:
    Little, "A Proof for the Queuing Formula L = lambda W", Operations Research 9 (1961). Golden
    figures: a published benchmark of a SQL cluster, recomputed.

Trap:
    The article says that 14.5 million rows a second are returned. A transaction reads 410 rows,
    which is 14.3 million a second, and returns 311, since a SUM of 100 rows returns one: 10.8
    million.

    "18.4 ms on average, p95 19.7 ms" agree with 640 sessions and 34,870 transactions. Compared with
    300 sessions and 22,500 transactions the mean is 13.3 ms: the rates of both runs must not be
    mixed.

    Nor short and long runs: long ones of the same benchmark gave about 10 % less (checkpoints),
    which is as much as the verdict allows.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("tps", "rate", "transactions a second", None, "0.000001/s", example="34870/s"),
    Input("sessions", "count", "sessions (threads) of all generators together", None, "1", "10M",
          example="640", whole=True),
    Input("stated", "duration", "mean response time that is stated; 0: none", "0s", "0s"),
    Input("p95", "duration", "95th percentile that is stated; 0: none", "0s", "0s"),
    Input("statements", "count", "statements a transaction", "20", "1", "100k"),
    Input("rows", "count", "rows a transaction", "1", "0", "1e9"),
    Input("row", "size", "bytes of a row on the wire; 0: not known", "0", "0", "1Gi",
          example="200"),
    Input("link", "throughput", "speed of the link; 0: not known", "0B/s", "0B/s",
          example="1250MB/s"),
    Input("hops", "count", "network hops of a transaction, one after the other", "0", "0", "100k"),
    Input("hop", "duration", "time of a hop", "45us", "0s"),
    Input("base", "duration", "response time without load", "6ms", "1us"),
)  # fmt: skip
OUTPUTS = ("implied", "statements_per_s", "rows_per_s", "verdict", "ratio", "p95_ratio",
           "bytes_per_s", "link_share", "rows_at_most", "network", "network_share")  # fmt: skip
SAYS = (
    ("verdict == 'no'", "It does not agree: {sessions} sessions at {tps} take {implied} in the"
     " mean, not {stated}."),
    ("verdict == 'yes'", "It agrees: {sessions} sessions at {tps} take {implied} on average."),
    ("", "{sessions} sessions at {tps} take {implied} on average."),
)  # fmt: skip
NOTES = (
    Note("p95 > 0 and p95 < implied", "a 95th percentile of {p95} is below the mean of {implied}:"
         " a few requests took very long (stalls), or much time is spent outside what is timed, or"
         " the figures are of two runs"),
    Note("p95 >= implied and p95 < stated", "a 95th percentile of {p95} is below the mean of"
         " {stated} that is stated: a few requests took very long (stalls), or the figures are of"
         " two runs"),
    Note("p95 > 20 * implied", "a 95th percentile cannot be more than 20 times the mean: {p95} is"
         " not of the run that took {implied} on average"),
    Note("link_share > 1", "the rows alone need {bytes_per_s}, and the link carries {link}: they"
         " cannot have been sent over it. They stayed on the server, or came over several links, or"
         " a figure is wrong"),
    Note("link_share > 0.7 and link_share <= 1", "the rows take {link_share} of the link: it is"
         " near its limit, or is the limit"),
    Note("network_share > 1", "hops alone would take longer than the whole: {network} of {base}"),
)  # fmt: skip
GOLDEN = (
    Golden({"tps": "34870/s", "sessions": "640", "p95": "19.7ms", "rows": "410"},
           {"implied": "18.4ms", "p95_ratio": "1.07", "statements_per_s": "697400/s",
            "rows_per_s": "14296700/s"},
           "published benchmark, recomputed"),
    Golden({"tps": "34870/s", "sessions": "640", "rows": "311"}, {"rows_per_s": "10844570/s"},
           "rows that are returned"),
    Golden({"tps": "22500/s", "sessions": "300", "stated": "13.3ms"},
           {"implied": "13.3ms", "statements_per_s": "450000/s", "verdict": "yes"}, "published"),
    Golden({"tps": "22500/s", "sessions": "300", "stated": "18.4ms"}, {"verdict": "no"},
           "figures of two runs"),
    *(
        Golden({"tps": "22500/s", "sessions": "300", "hops": "100", "hop": hop},
               {"network": network, "network_share": share},
               "published: 100 hops of 40 to 50 us of a 6 ms base")
        for hop, network, share in (
            ("40us", "4ms", "67%"), ("45us", "4.5ms", "75%"), ("50us", "5ms", "83%"),
        )
    ),
    Golden({"tps": "34870/s", "sessions": "640", "rows": "311", "row": "100", "link": "1250MB/s"},
           {"bytes_per_s": "1084.457MB/s", "link_share": "86.8%", "rows_at_most": "12500000/s"},
           "by hand: the rows returned, 100 bytes each, over 10 Gbit/s"),
    Golden({"tps": "34870/s", "sessions": "640", "rows": "410", "row": "100", "link": "1250MB/s"},
           {"link_share": "114.4%"}, "by hand: the rows read would not fit"),
    Golden({"tps": "1000/s", "sessions": "20", "stated": "20ms", "p95": "19.9ms"},
           {"verdict": "yes", "ratio": "1", "p95_ratio": "0.995"}, "by hand: stalls can do that"),
)  # fmt: skip
