"""A run as it goes: the panel, the stamped lines of a log, nothing, and what each is made of."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from judging import CACHE, QUERY_CACHE, records
from plans import plan as make_plan
from rich.console import Console

from dbdyno.analysis.under_way.left import Left, left
from dbdyno.analysis.under_way.so_far import SoFar
from dbdyno.cli.running import live
from dbdyno.cli.running.detail import Detail, detail
from dbdyno.cli.running.live import Live
from dbdyno.cli.running.watching.lines import Stamped
from dbdyno.cli.running.watching.panel import Panel, now_line
from dbdyno.cli.running.watching.text import trial_line
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.types import Plan
from dbdyno.store.record import VOID, TrialRecord

INTERVAL = {
    "event": "interval",
    "t_s": 12.0,
    "length_s": 0.5,
    "phase": "measure",
    "groups": {
        "workload": {
            "transactions": 600,
            "operations": 600,
            "errors": 0,
            "lost": 0,
            "latency": {"p95_ns": 310_000},
        }
    },
}
WARNING = {"event": "warning", "message": "generator saturated"}


def recording(width: int = 100) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def drawn(panel: Panel, width: int = 100) -> str:
    """The panel as it stands, without what moves the cursor."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(panel)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def played(plan: Plan, trials: list[TrialRecord]) -> Panel:
    """A panel that has heard of these trials."""
    panel = Panel(recording(), plan, [])  # type: ignore[arg-type]
    by_id = {trial.id: trial for trial in plan.trials}
    for record in trials:
        trial = by_id[record.id]
        panel.trial(trial, plan.cells[trial.cell], f"trial {trial.position}/{len(plan.trials)}")
        panel.record(record, "", over=True)
    return panel


def test_the_panel_shows_means_spreads_ratios_so_far_and_the_time_of_this_trial() -> None:
    plan = make_plan({"cache": ("on", "off")}, claims=("tps[on] / tps[off] >= 1.1",))
    trials = records(plan, {("on",): 1200.0, ("off",): 1000.0}, noise=0.0)
    panel = played(plan, trials[:4])
    panel.trial(plan.trials[4], plan.cells[0], "trial 5/6, block 3: cache=on")
    panel.event(INTERVAL, "")
    shown = drawn(panel)
    assert "trial 5/6, block 3: cache=on  about" in shown
    assert "12 s of 30 s: tps 1,200.0  p95 0.31 ms" in shown
    assert re.search(
        r"^cache on +2 of 3 +[\d,.]+ +[\d.]+ % +[\d.]+ +[\d.]+ %$", shown, re.MULTILINE
    )
    assert "so far, not judged" in shown
    assert re.search(r"tps\[on\] / tps\[off\] +1\.20x +of 2 blocks, claimed >= 1\.1", shown)
    assert "supported" not in shown  # nothing is judged before the end


def test_without_claims_the_first_factor_is_compared_at_each_level_of_the_others() -> None:
    plan = make_plan(CACHE, blocks=2)
    so_far = SoFar(plan, records(plan, QUERY_CACHE, noise=0.0))
    assert [one.text for one in so_far.asked] == [
        f"tps[off] / tps[on] at {level}" for level in ("1 session", "4 sessions", "16 sessions")
    ]
    found = so_far.ratio(so_far.asked[2])
    assert found is not None
    assert found[0] == pytest.approx(2.9)
    assert found[1] == 2


def test_files_have_what_they_move_besides() -> None:
    plan = make_plan()
    group = replace(plan.cells[0].groups[0], workload="io")
    cells = tuple(replace(cell, groups=(group,)) for cell in plan.cells)
    titles = [one.title for one in SoFar(replace(plan, cells=cells), []).columns]
    assert titles == ["tps", "p95 ms", "MiB/s"]


def test_the_time_left_is_what_trials_have_cost_or_a_bound_of_the_plan() -> None:
    plan = make_plan()
    ids = [trial.id for trial in plan.trials]
    alone = left(plan, (), (), 0.0)
    assert alone.bound == AT_LEAST and alone.length_s > 0
    assert left(plan, ids[:3], ids[:3], 90.0) == Left(pytest.approx(90.0), "")
    assert left(plan, ids[:3], (), 90.0).bound == AT_LEAST  # another process has measured these
    assert left(plan, ids, ids, 90.0).length_s == 0
    steady = tuple(replace(cell, until_steady=True) for cell in plan.cells)
    assert left(replace(plan, cells=steady), (), (), 0.0).bound == AT_MOST


def test_ratios_are_of_blocks_that_have_both_cells_and_void_trials_do_not_count() -> None:
    plan = make_plan({"cache": ("on", "off")})
    trials = records(plan, {("on",): 1200.0, ("off",): 1000.0}, noise=0.0)
    so_far = SoFar(plan, trials[:3])  # the second block has `on` alone
    assert so_far.ratio(so_far.asked[0]) == (pytest.approx(1 / 1.2), 1)
    so_far.add(trials[3].replace(status=VOID))
    assert so_far.trials(1) == 1
    assert SoFar(plan, []).ratio(so_far.asked[0]) is None


def test_warnings_of_engine_and_trials_stand_below_the_last_ones_in_full() -> None:
    plan = make_plan()
    panel = played(plan, [])
    for number in range(4):
        panel.event(WARNING, f"warning: number {number}")
    shown = drawn(panel)
    assert "1 earlier warning" in shown
    assert "number 0" not in shown
    assert all(f"warning: number {number}" in shown for number in (1, 2, 3))
    void = records(plan, {("on",): 1.0, ("off",): 1.0})[0]
    panel.record(
        void.replace(status=VOID, void_reason="server died"), "void: server died", over=False
    )
    assert "b01-t001 (cache=on): void: server died" in drawn(panel)


def test_a_plan_of_one_cell_names_no_levels() -> None:
    plan = make_plan()
    cell = replace(plan.cells[0], levels={})
    single = replace(plan, factors=(), cells=(cell,), trials=plan.trials[:1])
    assert trial_line(single, single.trials[0], single.cells[0], 1) == "trial 1/1, block 1"
    panel = Panel(recording(), single, [])  # type: ignore[arg-type]
    record = records(plan, {("on",): 1.0, ("off",): 1.0})[0]
    panel.record(record.replace(warnings=("steal",)), "", over=False)
    assert "warning: b01-t001: steal" in drawn(panel)


def test_many_cells_are_cut_and_counted() -> None:
    levels = tuple(str(number) for number in range(1, 21))
    plan = make_plan({"sessions": levels}, blocks=1)
    trials = records(plan, {(level,): 100.0 for level in levels})
    shown = drawn(played(plan, trials))
    assert "4 more in the report" in shown
    assert "16 sessions " in shown
    assert "17 sessions" not in shown


def test_a_narrow_terminal_cuts_lines_and_breaks_none() -> None:
    plan = make_plan({"cache": ("a level with a long name", "off")})
    panel = played(plan, records(plan, {("a level with a long name",): 2.0, ("off",): 1.0}))
    assert all(len(line) <= 40 for line in drawn(panel, 40).splitlines())


def test_the_seconds_of_a_warm_up_count_from_its_beginning() -> None:
    cell = make_plan().cells[0]
    warming = {**INTERVAL, "t_s": -9.0, "phase": "warmup"}
    assert now_line(warming, cell).startswith("warming up, 1 s of 10 s: tps 1,200.0")


def test_a_log_gets_one_stamped_line_a_trial_and_what_must_be_known() -> None:
    console = Console(file=io.StringIO(), width=80)
    plan = make_plan()
    shown = Stamped(console)  # type: ignore[arg-type]
    shown.say("run directory: runs/x")
    shown.trial(plan.trials[0], plan.cells[0], "trial 1/6, block 1: cache=on")
    shown.event(INTERVAL, "")
    shown.event(WARNING, "warning: generator saturated")
    record = records(plan, {("on",): 1.0, ("off",): 1.0})[0]
    shown.record(record, "tps 1.0", over=True)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "run directory: runs/x"
    stamp = r"\d\d:\d\d:\d\d "
    assert re.fullmatch(f"{stamp}warning: generator saturated", lines[1])
    assert re.fullmatch(f"{stamp}trial 1/6, block 1: cache=on: tps 1.0", lines[2])
    assert len(lines) == 3


class Terminal(io.StringIO):
    """A standard error that is a terminal, or not."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("asked", "is_terminal", "screen"),
    [
        (Detail.USUAL, True, "Panel"),
        (Detail.USUAL, False, "Stamped"),
        (Detail.LINES, True, "Lines"),
        (Detail.LINES, False, "Lines"),
        (Detail.NONE, True, "Silent"),
        (Detail.NONE, False, "Silent"),
    ],
)
def test_what_is_shown_depends_on_the_options_and_the_terminal(
    asked: Detail,
    is_terminal: bool,
    screen: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", Terminal(is_terminal=is_terminal))
    shown = live._screen(make_plan(), [], asked)
    assert type(shown).__name__ == screen


def test_the_run_s_log_has_everything_whatever_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan()
    record = records(plan, {("on",): 1200.0, ("off",): 1000.0})[0]
    logs: dict[str, Any] = {}
    for asked in Detail:
        terminal = Terminal(is_terminal=False)
        monkeypatch.setattr("sys.stderr", terminal)
        with Live(plan, [], tmp_path / asked.value, asked) as shown:
            shown.say("a note")
            shown.on_trial(plan.trials[0], plan.cells[0], 2)
            shown.on_event(INTERVAL)
            shown.on_event(WARNING)
            shown.on_record(record, over=True)
            shown.on_failure("a disk is full")
        stamped = (tmp_path / asked.value).read_text()
        logs[asked.value] = re.sub(r"^\d\d:\d\d:\d\d", "TIME", stamped, flags=re.MULTILINE)
        assert bool(terminal.getvalue()) is (asked is not Detail.NONE)
        assert ("thds: 1 tps: 1200.00" in terminal.getvalue()) is (asked is Detail.LINES)
    assert logs["none"] == logs["usual"] == logs["lines"]
    assert "TIME trial 1/6, block 1: cache=on (attempt 2)\n" in logs["none"]
    assert "TIME   tps 1," in logs["none"]
    assert "TIME error: a disk is full\n" in logs["none"]


def test_two_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(click.UsageError, match="give one"):
        detail(verbose=True, quiet=True)
    assert detail(verbose=False, quiet=True) is Detail.NONE
