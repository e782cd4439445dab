"""Windows with checks and without in one load: their order, and what is computed of them. The rows
of the proof that measure with them are live."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import time
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from tools.proof.checks.checker import yield_cpu
from tools.proof.checks.windows import INNER, OUTER, Conductor, Design, Seen, committed
from tools.proof.rows.checks import check_cost
from tools.proof.rows.checks.check_cost import EVERY_S, FULL, WITHIN, Found

from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED

DESIGN = Design(blocks=60, window_s=2.0, warmup_s=1.0, rows=1)
WINDOWS = len(DESIGN.checked)


def seen(per_tick: np.ndarray, design: Design = DESIGN) -> Seen:
    """Windows with that much in each of their ticks, shape (windows,)."""
    return Seen(design, np.repeat(per_tick[:, None], design.ticks, axis=1), late=0)


def noisy(loss: float, noise: float = 0.07, seed: int = 1) -> Found:
    """Windows in which a check costs that share."""
    rng = np.random.default_rng(seed)
    per_tick = 50 * np.exp(noise * rng.standard_normal(WINDOWS))
    return Found("s", 0.03, seen(np.where(DESIGN.checked, 1 - loss, 1.0) * per_tick))


def test_blocks_are_mirrored_and_their_order_is_drawn() -> None:
    blocks = [DESIGN.checked[at : at + 4] for at in range(0, WINDOWS, 4)]
    assert len(blocks) == DESIGN.blocks
    assert set(blocks) == {OUTER, INNER}
    assert sum(DESIGN.checked) == WINDOWS / 2
    assert replace(DESIGN, seed=2).checked != DESIGN.checked == replace(DESIGN).checked
    # No regular work of a server is in step with the order: neighbours are as often alike as not.
    alike = sum(a == b for a, b in itertools.pairwise(blocks))
    assert 0.3 < alike / len(blocks) < 0.7


def test_a_drift_cancels_and_a_loss_remains() -> None:
    drift = np.exp(0.01 * np.arange(WINDOWS))  # 1 % a window
    logs = seen(drift * np.where(DESIGN.checked, 0.95, 1.0)).log_ratios()
    assert logs == pytest.approx([math.log(0.95)] * DESIGN.blocks)


def test_only_what_follows_counts_for_the_second_half() -> None:
    commits = np.full((WINDOWS, DESIGN.ticks), 10.0)
    commits[np.asarray(DESIGN.checked), :5] = 8.0
    found = Seen(DESIGN, commits, late=0)
    assert found.log_ratios() == pytest.approx([math.log(0.95)] * DESIGN.blocks)
    assert found.log_ratios(DESIGN.ticks // 2) == pytest.approx([0.0] * DESIGN.blocks)
    course = found.course()
    assert [ratio for _, ratio in course] == pytest.approx([0.8] * 5 + [1.0] * 15)
    assert course[0][0] == pytest.approx(0.05)


def test_without_a_commit_there_is_no_ratio() -> None:
    per_tick = np.ones(WINDOWS)
    per_tick[7] = 0.0
    found = Found("s", 0.03, seen(per_tick))
    assert found.seen.log_ratios() == ()
    assert found.contrast() is None
    assert found.verdict == UNDECIDED


def test_the_margin_is_that_of_the_period() -> None:
    found = noisy(0.0)
    assert found.margin == pytest.approx(0.05)
    assert found.of_period(1 - found.margin) == pytest.approx(1 - WITHIN)
    assert found.lost_ms(0.95) == pytest.approx(100.0)
    assert FULL.window_s < EVERY_S


def test_a_small_loss_is_supported_a_large_one_refuted_a_noisy_one_undecided() -> None:
    assert noisy(0.015).verdict == SUPPORTED
    assert noisy(0.15).verdict == REFUTED
    assert noisy(0.015, noise=0.5).verdict == UNDECIDED


def test_the_page_has_both_servers_and_what_stops_a_verdict() -> None:
    found = [noisy(0.015), replace(noisy(0.02, seed=2), named="t")]
    cells = [check_cost._cells(one) for one in found]
    tables = check_cost._tables(found, cells)
    assert [[row[0] for row in table.rows] for table in tables] == [["s", "t"]] * 2
    assert all(row[-1] == SUPPORTED for row in tables[0].rows)
    assert tables[1].rows[0][1:] == ("30", "0.3 %")
    notes = check_cost._notes(found)
    assert "5 % of which are 1 % of 10 s" in notes[0]
    assert "0 of 480 checks ended after their window." in notes
    late = [replace(one, seen=replace(one.seen, late=3)) for one in found]
    assert "6 of 480 checks ended after their window: not judged with more than 2 %." in (
        check_cost._notes(late)
    )
    figure = ElementTree.fromstring(check_cost._figure(found))
    assert "".join(figure.itertext()).count("seconds from the begin of the check") == 1


def test_intervals_hold_the_loss_as_often_as_they_say_although_neighbours_are_alike() -> None:
    """Noise of windows with a correlation of 0.8 of neighbours, and a flush in step with blocks."""
    rng, held, loss = np.random.default_rng(7), 0, 0.02
    for number in range(400):
        noise = np.zeros(WINDOWS)
        for at in range(1, WINDOWS):
            noise[at] = 0.8 * noise[at - 1] + 0.03 * rng.standard_normal()
        noise += 0.05 * np.sin(np.arange(WINDOWS) * np.pi / 4 + number)
        design = replace(DESIGN, seed=number)
        share = np.where(design.checked, 1 - loss, 1.0)
        found = Found("s", 0.03, seen(np.exp(noise) * share, design)).contrast()
        assert found is not None
        low, high = found.interval(0.95)
        held += low is not None and high is not None and low <= 1 - loss <= high
    assert held / 400 > 0.92


def test_commits_go_to_the_window_and_tick_of_their_time() -> None:
    design = Design(blocks=1, window_s=0.5, warmup_s=0.5, rows=1)
    counts = list(range(25))  # the first five are of the warm-up
    events: list[dict[str, object]] = [
        {
            "event": "interval",
            "t_s": at / 10,
            "length_s": 0.5,
            "phase": "measure" if at else "warmup",
            "groups": {"load": {"ticks": counts[at : at + 5]}},
        }
        for at in range(0, 21, 5)
    ]
    events.append({"event": "end", "measured_s": 2.0})
    assert committed(design, events).tolist() == [
        [5, 6, 7, 8, 9],
        [10, 11, 12, 13, 14],
        [15, 16, 17, 18, 19],
        [20, 21, 22, 23, 24],
    ]


def test_checks_begin_in_their_order_and_late_ones_are_counted() -> None:
    design = Design(blocks=2, window_s=0.1, warmup_s=0.0, rows=1)
    asked: list[bool] = []
    conductor = Conductor(design, asked.append)
    conductor.run(time.time() - 10.0)  # all windows are over
    assert tuple(asked) == design.checked
    assert conductor.late == 8
    early = Conductor(design, asked.append)
    early.ended_s += [0.05] * 5 + [0.2]
    assert early.late == 3  # one took longer, two never began


def test_a_load_that_has_ended_ends_its_checks() -> None:
    asked: list[bool] = []
    conductor = Conductor(DESIGN, asked.append)
    conductor.over.set()
    conductor.run(time.time() + 3600.0)
    assert asked == []
    assert conductor.late == WINDOWS


def test_a_server_that_yields_its_cpu_does_so_with_its_children() -> None:
    script = "sleep 60 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        yield_cpu(process.pid)
        found = {os.sched_getscheduler(pid) for pid in (process.pid, child)}
        os.kill(child, 9)
    assert found == {os.SCHED_IDLE}
