"""Commands around trials: when they run, in which order, and what is undone when."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import plans
import pytest
from test_execute_local import Silent, World, of_null, world  # noqa: F401 (a fixture)

from dbdyno.errors import DynoError
from dbdyno.execute import local
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Control, Interrupted
from dbdyno.experiment.types import Hook, Hooks, LevelHooks, MomentHook
from dbdyno.plan.types import Plan
from dbdyno.store.hooklog import DEADLINE, FAILED, OK, STOPPED, Applied, HookLog
from dbdyno.store.run import Run


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return Trace(tmp_path / "trace")


class Trace:
    """A file that commands write a word into, so that their order can be seen."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def hook(self, word: str, then: str = "", **facts: Any) -> Hook:
        return Hook(f'echo "{word}" >> {self.path}; {then or "true"}', **facts)

    def level(self, name: str) -> LevelHooks:
        return LevelHooks((self.hook(f"+{name}"),), (self.hook(f"-{name}"),))

    def words(self) -> list[str]:
        return self.path.read_text().split() if self.path.exists() else []


def hooked(
    hooks: Hooks, factors: dict[str, tuple[str, ...]] | None = None, blocks: int = 1
) -> Plan:
    factors = factors or {"cache": ("on", "off")}
    plan = plans.plan(factors, blocks=blocks, hard=tuple(hooks.levels))
    return replace(of_null(plan, dict.fromkeys(range(len(plan.cells)), "text")), hooks=hooks)


def log(world: World) -> HookLog:  # noqa: F811
    return HookLog(world.tmp_path / "run")


def resume(world: World, said: list[str] | None = None) -> str:  # noqa: F811
    with Run.resume(world.tmp_path / "run") as run:
        control = Control(lambda message: None)
        listener = Silent()
        try:
            context = ExecutionContext(run, Path("engine"), control, listener, world.tmp_path)
            return local.LocalExecution(context).execute()
        finally:
            if said is not None:
                said += listener.said


def test_commands_run_at_their_points(world: World, trace: Trace) -> None:  # noqa: F811
    points = {
        point: (trace.hook(point),)
        for point in ("before_run", "before_cell", "before_trial", "after_trial", "after_run")
    }
    trial = ["before_cell", "before_trial", "after_trial"]
    assert world.execute(hooked(Hooks(**points), blocks=2)) == "complete"
    assert trace.words() == ["before_run", *trial * 4, "after_run"]
    runs = log(world).runs()
    assert [(run.point, run.trial) for run in runs[:4]] == [
        ("before_run", ""),
        ("before_cell", "b01-t001"),
        ("before_trial", "b01-t001"),
        ("after_trial", "b01-t001"),
    ]
    assert {run.outcome for run in runs} == {OK}
    assert all((world.tmp_path / "run" / run.log).is_file() for run in runs)


def within(trace: Trace, word: str, at_s: float, then: str = "", **facts: Any) -> MomentHook:
    return MomentHook(trace.hook(word, then).run, at_s=at_s, **facts)


def test_commands_within_a_trial_run_in_each_and_are_journaled(world: World, trace: Trace) -> None:  # noqa: F811
    hooks = Hooks(
        before_trial=(trace.hook("before"),),
        during_trial=(within(trace, "$DYNO_TRIAL-$DYNO_LEVEL_CACHE", 2.5),),
        after_trial=(trace.hook("after"),),
    )
    assert world.execute(hooked(hooks)) == "complete"
    assert trace.words() == [
        *("before", "b01-t001-on", "after"),
        *("before", "b01-t002-off", "after"),
    ]
    found = [run for run in log(world).runs() if run.point == "during_trial"]
    assert [(run.trial, run.at_s, run.outcome, run.exit_code) for run in found] == [
        ("b01-t001", 2.5, OK, 0),
        ("b01-t002", 2.5, OK, 0),
    ]
    assert [run.started_s for run in found] == [round(run.started_unix_s, 3) for run in found]
    text = (world.tmp_path / "run" / found[0].log).read_text()
    assert "# during_trial at 2.5 s for b01-t001: ended with status 0" in text
    other = next(run for run in log(world).runs() if run.point == "before_trial")
    assert (other.at_s, other.started_s) == (None, None)


def test_commands_within_a_trial_may_run_at_once_and_each_keeps_its_output(world: World) -> None:  # noqa: F811
    """Each waits for the other's file: one after the other they would never end."""
    a, b = world.tmp_path / "a", world.tmp_path / "b"
    meet = "touch {0}; until test -e {1}; do sleep 0.01; done; echo {0}"
    moments = tuple(
        MomentHook(meet.format(*pair), deadline_s=60.0, at_s=1.0) for pair in ((a, b), (b, a))
    )
    assert world.execute(hooked(Hooks(during_trial=moments), {"a": ("x",)})) == "complete"
    runs = log(world).runs()
    assert len({run.log for run in runs}) == 2
    for run in runs:
        text = (world.tmp_path / "run" / run.log).read_text()
        assert text.splitlines()[0] == f"$ {run.run}"
        assert text.splitlines()[-1] == run.run.rpartition(" ")[2]


@pytest.mark.parametrize(
    ("then", "at_s", "reason"),
    [
        ("exit 9", 2.0, "during_trial at 2 s: `echo"),
        ("sleep 600", 2.0, "was not done after"),
        ("true", 10.0, "did not run: the trial ended before that moment"),
    ],
)
def test_a_command_within_a_trial_that_fails_voids_it(
    world: World,  # noqa: F811
    trace: Trace,
    then: str,
    at_s: float,
    reason: str,
) -> None:
    failing = within(trace, "x", at_s, then, deadline_s=0.3 if "sleep" in then else 60.0)
    hooks = Hooks(during_trial=(failing,), after_trial=(trace.hook("after"),))
    assert world.execute(hooked(hooks, {"a": ("x",)})) == "complete"
    run = Run.open(world.tmp_path / "run")
    assert [record.status for record in run.records()] == ["void"]
    assert len(run.voided()) == 2  # the first two of three attempts
    assert reason in run.records()[0].void_reason
    assert trace.words().count("after") == 3


def test_a_resumed_run_runs_them_again_in_the_trial_that_it_repeats(
    world: World,  # noqa: F811
    trace: Trace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = hooked(Hooks(during_trial=(within(trace, "$DYNO_TRIAL", 1.0),)))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "complete", killed)
        with pytest.raises(KeyboardInterrupt):
            world.execute(plan)
    assert trace.words() == ["b01-t001"]
    assert resume(world) == "complete"
    assert trace.words() == ["b01-t001", "b01-t001", "b01-t002"]


def test_a_cell_that_goes_on_is_not_entered_again(world: World, trace: Trace) -> None:  # noqa: F811
    plan = hooked(Hooks(before_cell=(trace.hook("cell"),)), {"a": ("x",)}, blocks=3)
    assert world.execute(plan) == "complete"
    assert trace.words() == ["cell"]


def test_levels_are_applied_in_the_order_of_factors_and_undone_in_reverse(
    world: World,  # noqa: F811
    trace: Trace,
) -> None:
    levels = {
        "a": {"1": trace.level("a1"), "2": trace.level("a2")},
        "b": {"1": trace.level("b1")},
    }
    plan = hooked(Hooks(levels=levels), {"a": ("1", "2"), "b": ("1", "2")})
    assert world.execute(plan) == "complete"
    # Cells: a1 b1, a1 b2, a2 b1, a2 b2. What stays in force is not applied again.
    assert trace.words() == ["+a1", "+b1", "-b1", "-a1", "+a2", "+b1", "-b1", "-a2"]
    assert log(world).applied() == []


def test_commands_know_where_they_are(
    world: World,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("DYNO_")]:
        monkeypatch.delenv(name)  # the user's own go along
    env = tmp_path / "env"
    level = LevelHooks((Hook("true"),), (Hook(f"env | grep ^DYNO_ | sort > {env}-undo"),))
    hooks = Hooks(
        before_trial=(Hook(f"env | grep ^DYNO_ | sort > {env}"),),
        levels={"db.cache size": {"on": level}},
    )
    assert world.execute(hooked(hooks, {"db.cache size": ("on", "off")})) == "complete"
    run = world.tmp_path / "run"
    before = dict(line.split("=", 1) for line in env.read_text().splitlines())
    assert before == {
        "DYNO_RUN": str(run),
        "DYNO_TRIAL": "b01-t002",
        "DYNO_BLOCK": "1",
        "DYNO_CELL": "1",
        "DYNO_LEVEL_DB_CACHE_SIZE": "off",
    }
    assert "DYNO_LEVEL_DB_CACHE_SIZE=on" in (tmp_path / "env-undo").read_text()


def test_output_is_kept_beside_what_it_belongs_to(world: World) -> None:  # noqa: F811
    hooks = Hooks(
        before_run=(Hook("echo one"), Hook("echo two")),
        after_trial=(Hook("echo mysql://me:s3cret@db1/x"),),
    )
    assert world.execute(hooked(hooks, {"a": ("x",)})) == "complete"
    run = world.tmp_path / "run"
    assert (run / "hooks" / "before_run.log").read_text().startswith("$ echo one\n# before_run")
    assert (run / "hooks" / "before_run-2.log").read_text().endswith("two\n")
    text = (run / "trials" / "b01-t001" / "hooks" / "after_trial.log").read_text()
    assert "mysql://me:***@db1/x" in text
    assert "s3cret" not in text + (run / "hooks.ndjson").read_text()


@pytest.mark.parametrize("point", ["before_cell", "before_trial", "after_trial"])
def test_a_command_that_fails_voids_its_trial_which_is_tried_again(
    world: World,  # noqa: F811
    tmp_path: Path,
    point: str,
) -> None:
    once = tmp_path / "once"
    failing = Hook(f"test -e {once} || {{ touch {once}; exit 9; }}")
    hooks = Hooks(**{point: (failing,)})  # type: ignore[arg-type]
    assert world.execute(hooked(hooks, {"a": ("x",)})) == "complete"
    run = Run.open(world.tmp_path / "run")
    assert [record.status for record in run.records()] == ["complete"]
    reasons = [record.void_reason for record in run.voided()]
    assert len(reasons) == 1
    assert reasons[0].startswith(f"{point}: `test -e") and reasons[0].endswith("with status 9")


def test_a_level_that_cannot_be_had_voids_its_trials_and_is_undone(
    world: World,  # noqa: F811
    trace: Trace,
) -> None:
    level = LevelHooks((trace.hook("+", "exit 1"),), (trace.hook("-"),))
    assert world.execute(hooked(Hooks(levels={"cache": {"on": level}}))) == "complete"
    assert trace.words() == ["+", "-"] * 3
    run = Run.open(world.tmp_path / "run")
    assert [record.status for record in run.records()] == ["void", "complete"]
    assert "apply of cache=on" in run.records()[0].void_reason
    assert log(world).applied() == []


def test_a_wait_ends_with_success_or_at_its_deadline(world: World, tmp_path: Path) -> None:  # noqa: F811
    count = tmp_path / "count"
    third = Hook(f"echo x >> {count}; test $(wc -l < {count}) -ge 3", every_s=0.01)
    hooks = Hooks(levels={"cache": {"on": LevelHooks(wait_until=(third,))}})
    assert world.execute(hooked(hooks)) == "complete"
    [done] = log(world).runs()
    assert (done.point, done.outcome, done.tries) == ("wait_until", OK, 3)


@pytest.mark.parametrize("what", ["sleep 600", "false"])
def test_a_wait_that_is_in_vain_voids_the_trial(world: World, what: str) -> None:  # noqa: F811
    never = Hook(what, deadline_s=0.2, every_s=0.05)
    hooks = Hooks(levels={"cache": {"on": LevelHooks(wait_until=(never,))}})
    assert world.execute(hooked(hooks)) == "complete"
    assert {run.outcome for run in log(world).runs()} == {DEADLINE}
    assert Run.open(world.tmp_path / "run").records()[0].status == "void"


def test_a_failing_before_run_ends_the_run_and_cleans_up(world: World, trace: Trace) -> None:  # noqa: F811
    hooks = Hooks(before_run=(Hook("exit 4"),), after_run=(trace.hook("after"),))
    with pytest.raises(DynoError, match="before_run: `exit 4` ended with status 4"):
        world.execute(hooked(hooks))
    assert world.asked == []
    assert trace.words() == ["after"]
    assert Run.open(world.tmp_path / "run").status == "failed"


def test_a_failing_after_run_is_said_and_changes_nothing(world: World) -> None:  # noqa: F811
    assert world.execute(hooked(Hooks(after_run=(Hook("exit 4"),)))) == "complete"
    assert (
        "after_run: `exit 4` ended with status 4" in Run.open(world.tmp_path / "run").plan.notes[-1]
    )


def test_a_level_that_cannot_be_undone_ends_the_run_and_resuming_tries_again(
    world: World,  # noqa: F811
    tmp_path: Path,
    trace: Trace,
) -> None:
    mended = tmp_path / "mended"
    level = LevelHooks((trace.hook("+"),), (trace.hook("-", f"test -e {mended}"),))
    plan = hooked(Hooks(levels={"cache": {"on": level}}))
    with pytest.raises(DynoError, match="undo of cache=on"):
        world.execute(plan)
    assert [applied.level for applied in log(world).applied()] == ["on"]
    assert len(Run.open(world.tmp_path / "run").records()) == 1  # the next level was not begun
    with pytest.raises(DynoError, match="undo of cache=on"):
        resume(world)
    assert len(world.asked) == 1
    mended.touch()
    assert resume(world) == "complete"
    assert len(world.asked) == 2
    assert log(world).applied() == []


@pytest.mark.parametrize("error", [Interrupted, RuntimeError, KeyboardInterrupt])
def test_levels_are_undone_and_trials_cleaned_up_however_a_run_ends(
    world: World,  # noqa: F811
    trace: Trace,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
) -> None:
    hooks = Hooks(
        after_trial=(trace.hook("after_trial"),),
        after_run=(trace.hook("after_run"),),
        levels={"cache": {"on": trace.level("on")}},
    )

    def fails(*_: object) -> None:
        raise error("in the middle")

    monkeypatch.setattr(local.Trial, "measure", fails)
    if error is Interrupted:
        assert world.execute(hooked(hooks)) == "interrupted"
    else:
        with pytest.raises(error):
            world.execute(hooked(hooks))
    assert trace.words() == ["+on", "after_trial", "-on", "after_run"]


def test_a_wish_to_stop_ends_an_apply_but_not_an_undo(world: World, trace: Trace) -> None:  # noqa: F811
    level = LevelHooks((trace.hook("+", "sleep 600"),), (trace.hook("-", "sleep 0.2; true"),))
    plan = hooked(Hooks(levels={"cache": {"on": level}}))
    with Run.create(world.tmp_path / "run", plan, {}) as run:
        control = Control(lambda message: None)
        context = ExecutionContext(run, Path("engine"), control, Silent(), world.tmp_path)
        execution = local.LocalExecution(context)
        asking = type("Asking", (), {"__get__": lambda *_: bool(trace.words())})()
        original = Control.stop_now
        Control.stop_now = asking  # type: ignore[assignment]
        try:
            assert execution.execute() == "interrupted"
        finally:
            Control.stop_now = original  # type: ignore[method-assign]
    assert trace.words() == ["+", "-"]
    assert [run.outcome for run in log(world).runs()] == [STOPPED, OK]
    assert log(world).applied() == []


def test_what_a_killed_process_had_applied_is_undone_first(world: World, trace: Trace) -> None:  # noqa: F811
    hooks = Hooks(
        before_run=(trace.hook("before_run"),),
        levels={
            "a": {"1": trace.level("a1-$DYNO_TRIAL")},
            "b": {"1": trace.level("b1"), "2": trace.level("b2")},
        },
    )
    plan = hooked(hooks, {"a": ("1",), "b": ("2",)})
    Run.create(world.tmp_path / "run", plan, {}).close()
    variables = {"DYNO_TRIAL": "b07-t001"}
    log(world).set_applied([Applied("b", "1", variables), Applied("a", "1", variables)])
    said: list[str] = []
    assert resume(world, said) == "complete"
    assert trace.words() == [
        *("-b1", "-a1-b07-t001", "before_run"),
        *("+a1-b01-t001", "+b2", "-b2", "-a1-b01-t001"),
    ]
    assert "was killed" in said[0]


def test_the_journal_is_on_disk_before_apply_begins(world: World, trace: Trace) -> None:  # noqa: F811
    journal = world.tmp_path / "run" / "applied.json"
    copy = world.tmp_path / "copy"
    level = LevelHooks((Hook(f"cp {journal} {copy}"),), (trace.hook("-"),))
    assert world.execute(hooked(Hooks(levels={"cache": {"on": level}}))) == "complete"
    assert '"factor": "cache"' in copy.read_text()


def test_half_a_line_of_the_log_is_dropped(world: World) -> None:  # noqa: F811
    assert world.execute(hooked(Hooks(before_run=(Hook("true"),), after_run=(Hook("true"),)))) == (
        "complete"
    )
    path = world.tmp_path / "run" / "hooks.ndjson"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    done = log(world).runs()[0]
    log(world).append(replace(done, outcome=FAILED))
    assert [run.outcome for run in log(world).runs()] == [OK, FAILED]
