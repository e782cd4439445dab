"""One probe of an open loop against a simulated server, as the events that the engine would send.

A queue with Poisson arrivals and `SERVERS` servers, first come first served. At most `sessions`
transactions are under way at once; the others wait at the client. Its capacity is known exactly,
and so is every event.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SERVERS = 4
WARMUP_S, MEASURED_S = 1.0, 5.0
GROUP = "workload"
_QUANTILES = (("p50_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p999_ns", 0.999))


@dataclass(frozen=True)
class Server:
    """`scv`: squared coefficient of variation of the service time: 1 exponential, above it
    hyperexponential with balanced means. `failing`: share of the transactions that it refuses, at
    the price of the others."""

    capacity_per_s: float
    scv: float = 1.0
    failing: float = 0.0

    def service_s(self, count: int, rng: np.random.Generator) -> Floats:
        """Service times, shape (count,)."""
        mean_s = SERVERS / self.capacity_per_s
        if self.scv == 1:
            return rng.exponential(mean_s, count)
        share = 0.5 * (1 + ((self.scv - 1) / (self.scv + 1)) ** 0.5)
        means = np.where(
            rng.random(count) < share, mean_s / (2 * share), mean_s / (2 * (1 - share))
        )
        return means * rng.standard_exponential(count)


def probe(
    server: Server, rate_per_s: float, sessions: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """The events of the measured time, and `end`."""
    count = int(rng.poisson(rate_per_s * (WARMUP_S + MEASURED_S)))
    due_s = np.sort(rng.uniform(-WARMUP_S, MEASURED_S, count))
    ended_s = _ends(due_s, server.service_s(count, rng))
    failed = rng.random(count) < server.failing
    # A session is free again when a transaction has ended, whichever that was.
    free_s = np.concatenate([np.full(sessions, -np.inf), np.sort(ended_s)])[:count]
    begun_s = np.maximum(due_s, free_s)
    edges = np.arange(0.0, MEASURED_S + 0.5)
    counts = {
        "due": np.searchsorted(due_s, edges),
        "begun": np.searchsorted(np.sort(begun_s), edges),
        "committed": np.searchsorted(np.sort(ended_s[~failed]), edges),
        "failed": np.searchsorted(np.sort(ended_s[failed]), edges),
    }
    ticks = np.histogram(ended_s[~failed], np.linspace(0, MEASURED_S, int(MEASURED_S * 10) + 1))[0]
    events: list[dict[str, Any]] = [
        {
            "event": "interval",
            "t_s": float(edges[i + 1]),
            "length_s": 1.0,
            "phase": "measure",
            "groups": {
                GROUP: {
                    "transactions": int(np.diff(counts["committed"])[i]),
                    "failed": int(np.diff(counts["failed"])[i]),
                    "ticks": ticks[10 * i : 10 * i + 10].tolist(),
                    "open": {
                        "due": int(np.diff(counts["due"])[i]),
                        "backlog": int(counts["due"][i + 1] - counts["begun"][i + 1]),
                    },
                }
            },
        }
        for i in range(len(edges) - 1)
    ]
    measured = due_s >= 0
    return [*events, _end(counts, ended_s - due_s, ended_s - begun_s, measured, failed)]


def _ends(due_s: Floats, service_s: Floats) -> Floats:
    free = [-np.inf] * SERVERS
    ends = []
    for due, service in zip(due_s.tolist(), service_s.tolist(), strict=True):
        end = max(due, free[0]) + service
        heapreplace(free, end)
        ends.append(end)
    return np.asarray(ends, dtype=np.float64)


def _end(
    counts: dict[str, NDArray[np.intp]],
    response_s: Floats,
    service_s: Floats,
    measured: NDArray[np.bool_],
    failed: NDArray[np.bool_],
) -> dict[str, Any]:
    """The totals. The drain is as long as the backlog needs."""
    over = {name: int(count[-1] - count[0]) for name, count in counts.items()}
    backlog = counts["due"] - counts["begun"]
    total = {
        "transactions": over["committed"],
        "operations": over["committed"],
        "rows": 0,
        "errors": {"refused": over["failed"]} if over["failed"] else {},
        "retries": 0,
        "failed": over["failed"],
        "in_flight_oldest_ns": 0,
        "latency": _latency(service_s[measured & ~failed]),
        "classes": {},
        "open": {
            "due": over["due"],
            "begun": over["begun"],
            "failed": int((failed & measured).sum()),
            "left": 0,
            "backlog_end": int(backlog[-1]),
            "backlog_max": int(backlog.max()),
            "drain_s": 0.0,
            "response": _latency(response_s[measured & ~failed]),
            "response_at_least_ns": None,
            "dispatch_lag": None,
        },
    }
    generator = {"cpu_s": 0.0, "busy_max": 0.0, "lag": None, "generator_bound": False}
    return {
        "event": "end",
        "measured_s": MEASURED_S,
        "interrupted": False,
        "groups": {GROUP: total},
        "generator": generator,
    }


def _latency(times_s: Floats) -> dict[str, Any] | None:
    """As the engine sums a histogram up."""
    if not len(times_s):
        return None
    ns = times_s * 1e9
    return {
        "count": len(ns),
        "mean_ns": float(ns.mean()),
        **{name: int(np.quantile(ns, q)) for name, q in _QUANTILES if len(ns) * (1 - q) >= 10},
        "max_ns": int(ns.max()),
    }
