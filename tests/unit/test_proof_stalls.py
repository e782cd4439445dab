"""Which seconds of an undisturbed trial count, and which stall in it is invented."""

from __future__ import annotations

import os

import numpy as np
from tools.proof.rows.measuring.stalls import quiet

from dbdyno.store.metrics.timeseries import Samples, Trace

SECONDS = 12


def trace(stalled: int, ticks_of_steal: dict[int, int]) -> Trace:
    """A stall of that second, and in these seconds so many ticks that the hypervisor took."""
    commits = np.full(SECONDS * 10, 1000.0)
    commits[stalled * 10 : stalled * 10 + 10] = 0.0
    ticks_per_s = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    steal = np.asarray([ticks_of_steal.get(second, 0) / ticks_per_s for second in range(SECONDS)])
    ends_s = np.arange(1.0, SECONDS + 1)
    samples = Samples(ends_s, np.ones(SECONDS), steal)
    ticks_s = np.arange(1, SECONDS * 10 + 1) / 10
    return Trace("t", SECONDS, ticks_s, {"main": commits}, {"cpu.steal": samples})


def test_a_stall_without_steal_is_invented() -> None:
    assert quiet(trace(5, {})) == (12.0, 1)
    assert quiet(trace(5, {5: 1})) == (12.0, 1)  # one tick is lost now and then


def test_seconds_with_steal_do_not_count_and_neither_does_what_touches_them() -> None:
    assert quiet(trace(5, {5: 20})) == (11.0, 0)
    assert quiet(trace(5, {9: 2, 10: 7})) == (10.0, 1)


def test_seconds_without_a_sample_are_not_quiet() -> None:
    whole = trace(5, {})
    steal = whole.samples["cpu.steal"]
    kept = steal.t_s > 4
    short = Samples(steal.t_s[kept], steal.length_s[kept], steal.values[kept])
    whole = Trace("t", SECONDS, whole.ends_s, whole.commits, {"cpu.steal": short})
    assert quiet(whole) == (8.0, 1)
