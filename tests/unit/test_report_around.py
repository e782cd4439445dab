"""What was done around a run, and which hosts were seen, as the report says it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import plans

from dbdyno.experiment.types import Hook, Hooks, LevelHooks, MomentHook
from dbdyno.plan.types import Plan
from dbdyno.report.sections.setting.hooks import around
from dbdyno.store.hooklog import DEADLINE, FAILED, OK, Applied, HookLog, HookRun
from dbdyno.store.run import Run
from dbdyno.systems.base import TargetPlan
from dbdyno.wording import hosts_text

UNDO = LevelHooks((Hook("sysctl x=1"),), (Hook("sysctl x=0", "ssh://me@db1"),))
HOOKS = Hooks(
    before_run=(Hook("<b>prepare</b>"),),
    before_trial=(Hook("sync"),),
    levels={"cache": {"on": UNDO, "gone": UNDO}},
)


def ended(
    point: str, run: str, outcome: str = OK, seconds: float = 0.25, **facts: object
) -> HookRun:
    code = {OK: 0, FAILED: 3, DEADLINE: None}[outcome]
    known = {"of": "", "trial": "", "on": None, "tries": 1, "log": "hooks/x.log", **facts}
    return HookRun(
        point,
        run=run,
        started_unix_s=1.0,
        seconds=seconds,
        outcome=outcome,
        exit_code=code,
        **known,
    )  # type: ignore[arg-type]


def made(tmp_path: Path, *runs: HookRun, hooks: Hooks = HOOKS) -> Run:
    Run.create(tmp_path / "run", replace(plans.plan(), hooks=hooks), {}).close()
    log = HookLog(tmp_path / "run")
    for run in runs:
        log.append(run)
    return Run.open(tmp_path / "run")


def test_an_experiment_without_commands_has_no_such_section(tmp_path: Path) -> None:
    assert around(made(tmp_path, hooks=Hooks())) is None


def test_each_command_has_a_row_whether_it_ran_or_not(tmp_path: Path) -> None:
    section = around(
        made(
            tmp_path,
            ended("before_trial", "sync"),
            ended("before_trial", "sync", FAILED, 90.0),
            ended("before_trial", "sync", DEADLINE, 300.0),
            ended("undo", "sysctl x=0", of="cache=on", on="ssh://me@db1"),
        )
    )
    assert section is not None
    rows = {row.when: row for row in section.rows}
    assert list(rows) == ["before_run", "apply of cache=on", "undo of cache=on", "before_trial"]
    assert (rows["before_run"].times, rows["before_run"].ended) == (0, "never ran")
    assert rows["undo of cache=on"].on == "ssh://me@db1"
    assert rows["before_trial"].times == 3
    assert rows["before_trial"].failed
    assert rows["before_trial"].ended == (
        "1 with status 0; 1 ended with status 3; 1 was not done after 300 s"
    )
    assert rows["before_trial"].took == "90 s (at most 5 min)"
    assert section.warnings[0].startswith("2 commands did not succeed")


def test_commands_within_a_trial_say_when_they_began(tmp_path: Path) -> None:
    moments = (MomentHook("x", at_s=2.0), MomentHook("x", at_s=30.0))
    runs = [
        ended("during_trial", "x", at_s=2.0, started_s=2.004),
        ended("during_trial", "x", at_s=2.0, started_s=2.1),
        ended("during_trial", "x", at_s=30.0, started_s=30.0),
    ]
    section = around(made(tmp_path, *runs, hooks=Hooks(during_trial=moments)))
    assert section is not None
    assert [(row.when, row.times, row.took) for row in section.rows] == [
        ("during_trial at 2 s", 2, "250 ms; began at 2.00 to 2.10 s"),
        ("during_trial at 30 s", 1, "250 ms; began at 30.00 s"),
    ]


def test_a_level_that_is_still_in_force_is_a_warning(tmp_path: Path) -> None:
    run = made(tmp_path)
    HookLog(run.path).set_applied([Applied("cache", "on")])
    section = around(run)
    assert section is not None
    assert "cache=on was applied and has not been undone" in section.warnings[0]


# ---- hosts


def at(url: str | None, host: str | None = None) -> Plan:
    plan = plans.plan()
    target = TargetPlan("db", "mysql", url=url, host=host)
    return replace(plan, cells=tuple(replace(cell, targets=(target,)) for cell in plan.cells))


def test_a_host_that_nobody_looked_at_is_said() -> None:
    [said] = hosts_text.sentences(at("mysql://app@db1.example.com/shop"), ["cpu.busy"])
    assert said.startswith("Host of db: not seen. CPU, memory and disk are the load generator's")


def test_servers_on_this_machine_are_seen() -> None:
    for url in (None, "mysql://app@127.0.0.1/shop", "mysql://app@/shop?socket=/run/x.sock"):
        assert hosts_text.sentences(at(url), []) == []


def test_a_host_that_was_read_says_how() -> None:
    seen = ["host.cpu.busy"]
    [said] = hosts_text.sentences(at("mysql://app@db1/shop", "ssh://me@db1"), seen)
    assert "arrival" in said
    [said] = hosts_text.sentences(
        at("mysql://app@db1/shop", "prometheus:http://p?instance=db1"), seen
    )
    assert "clock" in said


def test_a_host_that_did_not_answer_is_not_seen() -> None:
    [said] = hosts_text.sentences(at("mysql://app@db1/shop", "ssh://me@db1"), ["cpu.busy"])
    assert "not seen, although ssh://me@db1 was asked" in said
