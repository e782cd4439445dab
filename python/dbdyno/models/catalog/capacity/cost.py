"""What does a billion transactions cost, and how many machines meet a load?

A price by the month and a throughput give a price by the transaction. It holds at the throughput
that was measured: a machine that is half idle costs twice as much a transaction. So what counts is
the highest throughput at which the response time is still good enough, not the peak: give the
throughputs that were measured, the response time of each, and `within`.

Formula:
    usable [rate] = best(rate, latency, within)
        the highest of the throughputs whose response time is within the limit
    used [rate] = usable * utilization
        used part of it on average
    per_month [count] = usable * utilization * month
        transactions in a month of 30 days
    per_billion [money] = price / per_month * billion
        price of a billion of them
    machines [count] = ceil(load / used) if load > 0 else unknown
        whole machines for the load
    fleet [price] = machines * price
        what they cost together
    fleet_per_billion [money] = fleet / (load * month) * billion
        price of a billion transactions of the load, idle time of the machines included

Assumptions:
    A month is 30 days, 2,592,000 s. Load spreads evenly over machines and time.

    The throughput counts one unit throughout, queries or transactions. Prices of the one and of the
    other must not be compared with each other.

Versions:
    Arithmetic: it depends on no version.

Source:
    Own derivation, 2026-11. Golden figures: published results of sysbench's read-only test on
    rented machines with their list prices, recomputed. `dyno import` makes a run of them
    (experiment `cost-published`).

Trap:
    The published comparison calls queries transactions. A read-only transaction of sysbench has 14
    SELECTs by default, so that a billion transactions cost 14 times as much as given here; 16 times
    if BEGIN and COMMIT are counted as queries, as sysbench does.

    It says that n2 and n2d cost the same. A billion costs 1.645 dollars on the one, 1.899 and 1.939
    on the other, which is 15 and 18 % more; rounding hid it.

    "All peak at 64 threads": n2d-64 peaks at 128, with 444 thousand queries a second after 439. A
    penalty "close to 20 %" is 1 - 345 / 415 = 16.9 %.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("price", "price", "cost of a machine", None, "0/month"),
    Input("rate", "rate", "throughputs of one machine that were measured", None, "0.001/s",
          many=True, example="164000/s,265000/s,415000/s"),
    Input("latency", "duration", "response time at each of them; 0: none", "0s", "0s", many=True,
          example="2ms,3ms,9ms"),
    Input("within", "duration", "the response time that is good enough", "1h", "0s"),
    Input("utilization", "share", "how much of the throughput is used on average", "100%", "0.1%",
          "100%"),
    Input("load", "rate", "transactions that are wanted from all machines", "0/s", "0/s"),
)  # fmt: skip
OUTPUTS = ("per_billion", "usable", "used", "machines", "fleet", "fleet_per_billion")
SAYS = (
    ("usable <= 0", "None of the throughputs has a response time within {within}."),
    ("load <= 0", "A billion transactions cost {per_billion} at {used}."),
    ("", "A billion transactions cost {per_billion} at {used}; {load} takes {machines} machines,"
     " {fleet}."),
)  # fmt: skip
REFUSALS = (
    Note("len(latency) != len(rate) and (len(latency) > 1 or max(latency) > 0)",
         "rate={rate} and latency={latency} are lists of pairs, and have not equally many values"),
    Note("max(latency) <= 0 and within < hour",
         "within={within} needs the response time at each rate: give latency"),
)  # fmt: skip
NOTES = (
    Note("load > 0 and fleet_per_billion > 1.5 * per_billion",
         "these machines are idle a third of the time or more: at this load a billion transactions"
         " cost {fleet_per_billion}"),
)  # fmt: skip


def best(rates: tuple[float, ...], latencies: tuple[float, ...], within: float) -> float:
    """The highest rate with a latency within the limit; 0: none."""
    if len(latencies) == 1:
        latencies *= len(rates)
    pairs = zip(rates, latencies, strict=True)
    return max((rate for rate, latency in pairs if latency <= within), default=0.0)


FUNCTIONS = {"best": best}
_PUBLISHED = (
    ("n1-64", "2035.49", (164, 265, 415, 398, 381), "1.892"),
    ("n2-64", "2549.39", (230, 347, 598, 591, 554), "1.645"),
    ("n2d-48", "1698.54", (144, 252, 345, 335, 328), "1.899"),
    ("n2d-64", "2231.06", (155, 268, 439, 444, 433), "1.939"),
)
GOLDEN = (
    *(
        Golden(
            {"price": f"{price} USD/month", "rate": ",".join(f"{rate}000/s" for rate in rates)},
            {"per_billion": f"{cost} USD"},
            f"published: {machine} at 16 to 256 threads",
        )
        for machine, price, rates, cost in _PUBLISHED
    ),
    Golden({"price": "100/month", "rate": "1000/s,3000/s", "latency": "2ms,40ms",
            "within": "5ms", "load": "2500/s"},
           {"machines": "3", "fleet": "300/month", "fleet_per_billion": "46.30"}, "by hand"),
    Golden({"price": "2549.39 USD/month", "rate": "37375/s"}, {"per_billion": "26.32 USD"},
           "by hand: n2-64 in transactions of 16 queries"),
    Golden({"price": "1296/month", "rate": "1000/s", "utilization": "50%"},
           {"used": "500/s", "per_billion": "1000"}, "by hand"),
)  # fmt: skip
