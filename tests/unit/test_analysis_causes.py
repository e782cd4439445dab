"""Each rule on what it must see, and on similar cases; ranks; any input.

Traces are made up after recorded ones: samples of the machine five times a second, the server's
counters once, a stall from 10.0 s to 11.0 s of 30.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import plans
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis import causes
from dbdyno.analysis.causes import evidence, explain, rank
from dbdyno.analysis.causes.evidence import Evidence, Moved
from dbdyno.analysis.causes.rules import FAMILIES, RULES
from dbdyno.analysis.types import UNKNOWN, Cause, Stall, Step
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.plan.types import Cell
from dbdyno.store.metrics.timeseries import TICK_S, Samples, Trace
from dbdyno.wording.catalogue import worded
from dbdyno.wording.causes import CAUSES

MEASURED_S = 30.0
BEGIN_S, END_S = 10.0, 11.0
STALL = Stall(BEGIN_S, END_S - BEGIN_S, 1.0)
SESSIONS = 4

Values = Callable[[float], float]
Curves = Mapping[str, "float | Values"]


def within(inside: float, outside: float) -> Values:
    """One value in the stall, another elsewhere."""
    return lambda t: inside if BEGIN_S < t <= END_S + 0.01 else outside


def after(later: float, before: float) -> Values:
    """One value from the end of the stall on."""
    return lambda t: later if t >= END_S else before


def trace(curves: Curves, outages: tuple[Mapping[str, object], ...] = ()) -> Trace:
    """A trial that stalls, with these curves; counters are sampled once a second."""
    ends = np.arange(1, round(MEASURED_S / TICK_S) + 1) * TICK_S
    stalled = (ends > BEGIN_S + 0.01) & (ends <= END_S + 0.01)
    commits = {"workload": np.where(stalled, 0.0, 100.0)}
    samples = {}
    for name, values in curves.items():
        step = 1.0 if name.startswith("status.") else 0.2
        t = np.arange(1, round(MEASURED_S / step) + 1) * step
        each = [values(one) if callable(values) else values for one in t]
        samples[name] = Samples(t, np.full(len(t), step), np.asarray(each, dtype=np.float64))
    return Trace("b01-t001", MEASURED_S, ends, commits, samples, outages=outages)


def cell(kind: str = "mariadb", sessions: int = SESSIONS, **target: object) -> Cell:
    made = plans.plan(kind=kind).cells[0]
    group = replace(made.groups[0], sessions=sessions)
    targets = tuple(replace(one, **target) for one in made.targets)  # type: ignore[arg-type]
    return replace(made, groups=(group,), targets=targets)


# A machine and a server at work, with nothing the matter.
CALM: Curves = {
    "cpu.busy": 0.6,
    "cpu.steal": 0.0,
    "disk.write_bytes_per_s": 20e6,
    "disk.read_bytes_per_s": 0.0,
    "disk.util": 0.4,
    "disk.write_await_ms": 0.1,
    "disk.read_await_ms": 0.0,
    "memory.dirty_bytes": 50e6,
    "memory.writeback_bytes": 0.0,
    "network.segments_per_s": 30_000.0,
    "network.retransmits_per_s": 0.0,
    "network.listen_overflows_per_s": 0.0,
    "server.write_bytes_per_s": 18e6,
    "server.read_bytes_per_s": 0.0,
    "server.runqueue_cores": 0.8,
    "server.stopped": 0.0,
    "state.stopped": 0.0,
    "status.Binlog_file": 3.0,
    "status.Uptime": lambda t: 100.0 + t,
    "status.Innodb_row_lock_time": 5.0,
    "status.Innodb_checkpoint_age": 40e6,
    "status.Innodb_checkpoint_max_age": 80e6,
    "status.Innodb_buffer_pool_pages_flushed": 200.0,
    "sessions.running: commit": 2.0,
}
# The disk at its limit: what several causes have in common.
BUSY: Curves = {
    "disk.util": within(1.0, 0.4),
    "disk.write_bytes_per_s": within(1.5e9, 20e6),
    "disk.write_await_ms": within(40.0, 0.1),
}
# Four sessions whose packets get lost send each again after 0.2 and 0.6 s.
LOST: Curves = {
    "network.segments_per_s": within(20.0, 30_000.0),
    "network.retransmits_per_s": within(8.0, 0.2),
}
CLEANED: Curves = {"memory.dirty_bytes": lambda t: 1.55e9 if t < END_S - 0.05 else 50e6}

STALLS: list[tuple[str, Curves]] = [
    ("server_stopped", {"state.stopped": within(1.0, 0.0)}),
    ("server_restarted", {"status.Uptime": lambda t: 100.0 + t if t < END_S else t - BEGIN_S}),
    ("lock_waits", {"sessions.waiting: table metadata lock": within(4.0, 0.0)}),
    ("lock_waits", {"sessions.waiting: Lock:transactionid": within(3.0, 0.0)}),
    ("lock_waits", {"status.Innodb_row_lock_time": lambda t: 3800.0 if t == END_S else 5.0}),
    ("mutex_waits", {"sessions.waiting: LWLock:WALWrite": within(3.0, 0.0)}),
    ("io_other", BUSY),
    ("log_rotation", {**BUSY, **CLEANED, "status.Binlog_file": after(4.0, 3.0)}),
    ("write_back", {**BUSY, **CLEANED}),
    (
        "log_space",
        {
            "status.Innodb_checkpoint_age": within(78e6, 60e6),
            "status.Innodb_buffer_pool_pages_flushed": within(9000.0, 200.0),
        },
    ),
    ("log_buffer", {"status.Innodb_log_waits": within(50.0, 0.0)}),
    (
        "checkpoint",
        {
            "disk.util": within(0.8, 0.4),
            "disk.write_await_ms": within(9.0, 0.1),
            "status.pg_stat_bgwriter.buffers_checkpoint": within(900.0, 0.0),
        },
    ),
    (
        "io_saturation",
        {
            "disk.util": within(1.0, 0.4),
            "disk.write_await_ms": within(9.0, 0.1),
            "server.write_bytes_per_s": within(20e6, 18e6),
        },
    ),
    (
        "cpu_saturation",
        {"cpu.busy": within(0.99, 0.6), "server.runqueue_cores": within(3.0, 0.8)},
    ),
    ("steal", {"cpu.steal": within(0.8, 0.0)}),
    ("network", LOST),
    ("network", {**LOST, "sessions.waiting: Lock:transactionid": within(3.0, 0.0)}),
    ("network", {**LOST, **BUSY}),
    # a neighbour who sends as much all the time
    ("network", {**LOST, "network.segments_per_s": 100_000.0}),
    ("listen_queue", {**LOST, "network.listen_overflows_per_s": within(4.0, 0.0)}),
]

# Similar cases.
LOOK_ALIKES: list[tuple[str, Curves]] = [
    # stopped all the time is no reason to stall now
    ("server_stopped", {"state.stopped": 1.0}),
    ("server_restarted", {"status.Uptime": lambda t: 5.0 + t}),
    # one session in four, or as many otherwise
    ("lock_waits", {"sessions.waiting: table metadata lock": within(1.0, 0.0)}),
    ("lock_waits", {"sessions.waiting: table metadata lock": 3.0}),
    ("lock_waits", {"sessions.waiting: LWLock:WALWrite": within(3.0, 0.0)}),
    ("mutex_waits", {"sessions.waiting: table metadata lock": within(4.0, 0.0)}),
    # a new file that flushed nothing; a log that changes files all the time; no new file
    ("log_rotation", {"status.Binlog_file": after(4.0, 3.0)}),
    ("log_rotation", {**BUSY, "status.Binlog_file": lambda t: 3.0 + math.floor(t)}),
    ("log_rotation", {**BUSY, **CLEANED}),
    # the server's own bytes; dirty pages of before
    ("io_other", {**BUSY, "server.write_bytes_per_s": within(1.4e9, 18e6)}),
    ("io_other", {**BUSY, **CLEANED}),
    ("write_back", BUSY),
    ("io_saturation", BUSY),
    ("io_saturation", {"disk.util": 1.0}),
    # full as always, and nothing flushed for it
    ("log_space", {"status.Innodb_checkpoint_age": 78e6}),
    ("checkpoint", {"status.pg_stat_bgwriter.buffers_checkpoint": within(900.0, 0.0)}),
    # busy, but the server's threads do not queue
    ("cpu_saturation", {"cpu.busy": within(0.99, 0.6), "server.runqueue_cores": within(0.2, 0.8)}),
    # one session's packet; as many otherwise; a neighbour's losses among millions of segments; a
    # machine that was stopped sends again what was under way
    ("network", {**LOST, "network.retransmits_per_s": within(2.0, 0.0)}),
    ("network", {**LOST, "network.retransmits_per_s": within(8.0, 4.0)}),
    ("network", {**LOST, "network.segments_per_s": within(200_000.0, 30_000.0)}),
    ("network", {**LOST, "cpu.steal": within(0.8, 0.0)}),
    ("network", {"network.retransmits_per_s": 40.0}),
    ("listen_queue", {"network.listen_overflows_per_s": within(1.0, 0.0)}),
    ("listen_queue", {"network.listen_overflows_per_s": 4.0}),
    # a twentieth of the CPU does not stop everything
    ("steal", {"cpu.steal": within(0.15, 0.0)}),
]


def named(curves: Curves, of: Cell | None = None) -> Cause:
    (found,) = causes.explain_stalls(trace({**CALM, **curves}), [STALL], of or cell())
    return worded(found.cause)


@pytest.mark.parametrize(("name", "curves"), STALLS)
def test_a_stall_gets_its_name(name: str, curves: Curves) -> None:
    cause = named(curves)
    assert cause.name == name, cause
    assert cause.title
    assert cause.sentence.endswith(".")
    assert cause.cure


@pytest.mark.parametrize(("name", "curves"), LOOK_ALIKES)
def test_a_look_alike_does_not(name: str, curves: Curves) -> None:
    assert named(curves).name != name


def test_nothing_that_moved_is_unknown() -> None:
    cause = named({})
    assert (cause.name, cause.suspects) == (UNKNOWN, ())
    assert "nothing that was sampled moved" in cause.sentence


def test_what_moved_without_a_rule_is_a_suspect_of_an_unknown_cause() -> None:
    cause = named({"status.Handler_read_rnd_next": within(5000.0, 3.0)})
    assert cause.name == UNKNOWN
    assert [one.metric for one in cause.suspects] == ["status.Handler_read_rnd_next"]
    assert cause.metric == "status.Handler_read_rnd_next"


def test_a_single_lost_packet_is_no_suspect() -> None:
    assert named({"network.retransmits_per_s": within(1.0, 0.0)}).suspects == ()
    (some,) = named({"network.retransmits_per_s": within(6.0, 0.0)}, cell(sessions=64)).suspects
    assert some.metric == "network.retransmits_per_s"


def test_what_falls_with_the_throughput_is_no_suspect() -> None:
    assert named({"status.Com_update": within(0.0, 8000.0)}).suspects == ()


def test_of_curves_that_say_the_same_one_is_a_suspect() -> None:
    cause = named(
        {
            "status.Handler_read_rnd_next": within(5000.0, 3.0),
            "status.Rows_read": within(5003.0, 4.0),
        }
    )
    assert len(cause.suspects) == 1


def test_what_moved_before_has_a_negative_lag() -> None:
    cause = named({"status.Select_scan": lambda t: 900.0 if t == BEGIN_S - 1 else 1.0})
    assert [(one.metric, one.lag_s) for one in cause.suspects] == [("status.Select_scan", -2.0)]


def test_lost_connections_are_an_outage() -> None:
    lost = {"start_s": 10.1, "end_s": 10.9, "group": "workload", "session": 1, "cause": "reset"}
    (found,) = causes.explain_stalls(trace(CALM, (lost,)), [STALL], cell())
    assert found.cause.name == "outage"


@pytest.mark.parametrize("curves", [{"state.stopped": within(1.0, 0.0)}, {}])
def test_a_fault_of_the_experiment_is_the_cause_of_its_stall(curves: Curves) -> None:
    struck = replace(cell(), faults=(Fault(BEGIN_S + 0.1, "kill", ("primary",), "db"),))
    cause = named(curves, struck)
    assert (cause.name, cause.cure) == ("fault", "")
    assert cause.sentence == "The experiment did this on purpose: `kill` in the stall."
    long_before = replace(struck, faults=(replace(struck.faults[0], at_s=1.0, for_s=2.0),))
    assert named(curves, long_before).name != "fault"


def test_a_machine_that_was_not_seen_is_said() -> None:
    there = cell(url="mariadb://app@db.example.org:3306/shop")
    assert named({}, there).name == "host_not_seen"
    # the generator's own machine says nothing about the server's
    assert named(BUSY, there).name == "host_not_seen"
    theirs = {f"host.{name}": values for name, values in {**CALM, **BUSY}.items()}
    assert named(theirs, there).name == "io_other"


def test_lost_packets_are_seen_from_either_end() -> None:
    """The generator sends lost requests again, and the server lost answers."""
    there = cell(url="mariadb://app@db.example.org:3306/shop")
    assert named(LOST, there).name == "network"
    calm = {f"host.{name}": values for name, values in CALM.items()}
    theirs = {f"host.{name}": values for name, values in LOST.items()}
    assert named({**calm, **theirs}, there).name == "network"
    full: Curves = {"network.listen_overflows_per_s": within(4.0, 0.0)}
    assert named(full, there).name != "listen_queue", "the generator's own queue"


def test_more_sessions_that_stand_still_send_more_again() -> None:
    assert named(LOST, cell(sessions=4)).name == "network"
    assert named(LOST, cell(sessions=64)).name != "network"


def test_two_rules_that_fit_alike_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    match = explain.Match(0.8)
    pair = [replace(rule, look=lambda _seen: match) for rule in RULES[:2]]
    monkeypatch.setattr(explain, "RULES", [replace(one, questions=("stall",)) for one in pair])
    cause = named({})
    assert cause.name == UNKNOWN
    assert all(CAUSES[rule.name].title in cause.sentence for rule in pair)


def test_most_stalls_name_the_cells_cause() -> None:
    stopped = causes.explain_stalls(
        trace({**CALM, "state.stopped": within(1.0, 0.0)}), [STALL], cell()
    )
    unclear = causes.explain_stalls(trace(CALM), [STALL], cell())
    cause = causes.explain_cell([*stopped, *stopped, *unclear])
    assert cause is not None
    assert cause.name == "server_stopped"
    assert "in the stalls (2 of 3 stalls)" in worded(cause).sentence
    locked = causes.explain_stalls(
        trace({**CALM, "sessions.waiting: lock": within(4.0, 0.0)}), [STALL], cell()
    )
    mixed = causes.explain_cell([*stopped, *locked])
    assert mixed is not None
    assert (mixed.name, worded(mixed).title) == (UNKNOWN, "several causes")
    assert causes.explain_cell([]) is None


# ---- steps


def stepped(curves: Curves, before: float = 1000.0, later: float = 250.0) -> Cause:
    """A step at 15 s of 30."""
    step = Step(15.0, before, later, 0.001)
    return worded(causes.explain_step(trace(curves), step, [step], cell()))


def from_half(later: float, before: float) -> Values:
    return lambda t: later if t > 15.0 else before


POOL: Curves = {
    "status.Innodb_buffer_pool_reads": from_half(500.0, 1.0),
    "status.Innodb_buffer_pool_pages_total": from_half(4000.0, 16000.0),
    "status.Innodb_buffer_pool_pages_free": from_half(10.0, 3000.0),
}


def test_a_step_gets_its_name() -> None:
    cause = stepped({**CALM, **POOL})
    assert cause.name == "buffer_pool"
    assert "16384" not in cause.sentence and "MiB" in cause.sentence
    assert stepped({**CALM, "generator.busy": from_half(0.95, 0.4)}).name == "generator_bound"


def test_a_small_step_just_after_does_not_take_the_samples() -> None:
    steps = [Step(15.0, 1000.0, 250.0, 0.001), Step(18.0, 250.0, 200.0, 0.001)]
    cause = worded(causes.explain_step(trace({**CALM, **POOL}), steps[0], steps, cell()))
    assert cause.name == "buffer_pool"


def test_a_pool_with_room_is_cold_and_not_too_small() -> None:
    cold = {**CALM, **POOL, "status.Innodb_buffer_pool_pages_free": from_half(3000.0, 10.0)}
    assert stepped(cold).name != "buffer_pool"


def test_innodb_keeps_some_pages_free_in_a_full_pool() -> None:
    tiny = {
        "status.Innodb_buffer_pool_pages_total": from_half(1000.0, 16000.0),
        "status.Innodb_buffer_pool_pages_free": from_half(800.0, 10000.0),
    }
    assert stepped({**CALM, **POOL, **tiny}).name == "buffer_pool"


def test_a_stall_with_reads_is_the_pools_only_if_that_is_smaller() -> None:
    reads: Curves = {
        "status.Innodb_buffer_pool_reads": within(5000.0, 1.0),
        "status.Innodb_buffer_pool_read_requests": within(15000.0, 90000.0),
        "status.Innodb_buffer_pool_pages_free": 10.0,
    }
    cut = {**reads, "status.Innodb_buffer_pool_pages_total": within(1000.0, 16000.0)}
    assert named({**CALM, **cut}).name == "buffer_pool"
    scan = {**reads, "status.Innodb_buffer_pool_pages_total": 16000.0}
    assert named({**CALM, **scan}).name == UNKNOWN


def test_a_rotation_that_is_counted_just_after_the_stall_is_seen() -> None:
    late: Values = lambda t: 4.0 if t > END_S + 0.5 else 3.0  # noqa: E731
    assert named({**CALM, **BUSY, **CLEANED, "status.Binlog_file": late}).name == "log_rotation"


def test_a_step_by_lost_packets_costs_a_timeout_each() -> None:
    """Of 1,000 a second 250 are left: three of four sessions wait, five times 0.2 s a second."""
    rate: Curves = {"network.segments_per_s": from_half(4000.0, 16_000.0)}
    lossy: Curves = {**rate, "network.retransmits_per_s": from_half(15.0, 0.1)}
    cause = stepped({**CALM, **lossy})
    assert cause.name == "network"
    assert "0.375 %" in cause.sentence
    few: Curves = {**rate, "network.retransmits_per_s": from_half(5.0, 0.1)}
    assert stepped({**CALM, **few}).name != "network"


def test_more_of_everything_after_a_step_up_is_no_cause() -> None:
    up = stepped({"status.Innodb_data_fsyncs": from_half(4000.0, 1000.0)}, 250.0, 1000.0)
    assert (up.name, up.suspects) == (UNKNOWN, ())


def test_locks_that_all_wait_for_are_held_by_none_of_them() -> None:
    lock = "sessions.waiting: table metadata lock"
    assert named({**CALM, **BUSY, lock: within(4.0, 0.0)}).name == "lock_waits"
    assert named({**CALM, **BUSY, lock: within(3.0, 0.0)}).name == "io_other"


# ---- the registry, and any input


def test_every_rule_says_what_it_is() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert CAUSES.keys() == {rule.name for rule in RULES}
    assert len({text.title for text in CAUSES.values()}) == len(RULES)
    for rule in RULES:
        text = CAUSES[rule.name]
        assert text.condition and text.source and rule.questions, rule.name
    nothing = Evidence(evidence.STALL, {}, frozenset({"mariadb"}), 4, 0.0)
    assert not explain.matching(nothing), "a rule must not fire on what it did not see"


def test_every_rule_is_tried_here() -> None:
    tried = {name for name, _ in STALLS} | {"outage", "host_not_seen", "buffer_pool", "fault"}
    assert {rule.name for rule in RULES} - tried == {"shared_buffers", "generator_bound"}
    assert len(FAMILIES) == len(set(FAMILIES))


def test_shared_buffers_count_blocks_read() -> None:
    blocks = {"status.pg_stat_database.blks_read": from_half(400.0, 5.0)}
    assert stepped(blocks).name == "shared_buffers"


values = st.floats(allow_nan=False, allow_infinity=False)
names = st.sampled_from([*CALM, "status.Questions", "sessions.waiting: lock", "odd", "a.b.c"])


@st.composite
def any_trace(draw: st.DrawFn) -> Trace:
    n = draw(st.integers(0, 20))
    ends = np.arange(1, n + 1) * TICK_S
    samples = {}
    for name in draw(st.lists(names, unique=True, max_size=5)):
        column = draw(st.lists(values, min_size=1, max_size=8))
        t = np.arange(1, len(column) + 1) * 0.2
        samples[name] = Samples(t, np.full(len(t), 0.2), np.asarray(column))
    counts = np.asarray(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=float)
    return Trace("t", n * TICK_S, ends, {"g": counts}, samples)


@given(any_trace(), st.floats(-1, 3), st.floats(0, 2), st.floats(0, 1))
def test_any_input_gives_finite_answers(
    one: Trace, start_s: float, length_s: float, depth: float
) -> None:
    stall = Stall(start_s, length_s, depth)
    step = Step(start_s, 100.0 * depth, length_s, 0.01)
    explained = causes.explain_stalls(one, [stall], cell())
    found = [
        causes.explain_cell(explained),
        causes.explain_step(one, step, [step], cell()),
        *(each.cause for each in explained),
    ]
    for cause in found:
        assert cause is not None
        words = worded(cause).sentence.split()
        assert "nan" not in words and "inf" not in words
        for suspect in cause.suspects:
            assert math.isfinite(suspect.during) and math.isfinite(suspect.otherwise)
            assert 0 <= suspect.score <= evidence.SCORE_MAX


@given(st.lists(st.floats(-1e100, 1e100), max_size=20), st.floats(-1e100, 1e100))
def test_scores_are_bounded(usual: list[float], value: float) -> None:
    assert 0 <= evidence.score(value, np.asarray(usual)) <= evidence.SCORE_MAX


def test_ranks_are_strongest_first_and_bounded() -> None:
    moved = {
        f"status.Counter_{n}": Moved(f"status.Counter_{n}", 100.0, 1.0, 100.0, 0.0, 5.0 + n)
        for n in range(9)
    }
    found = rank.suspects(Evidence(evidence.STALL, moved, frozenset({"mariadb"}), 1, 0.0))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(found) == rank.SUSPECTS_MAX
