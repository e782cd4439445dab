"""Faults keep their order on each node, whichever thread a stalled machine wakes first. The clock
is simulated; nothing starts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plans
import pytest
from test_execute_timeline import END, READY, Simulated
from test_faults_order import NAMES, fault

from dbdyno.errors import DynoError
from dbdyno.execute.faulting.trial_faults import TrialFaults
from dbdyno.execute.timeline import Timeline, TrialVoid
from dbdyno.experiment.types import PRIMARY, REPLICA
from dbdyno.experiment.values.faults import Fault
from dbdyno.faults.base import Direct
from dbdyno.systems.process.managed import Managed


class Stalling(Simulated):
    """Simulated time on a machine on which a thread that has waited so long is not woken before the
    test says so."""

    def __init__(self, stalled_s: float) -> None:
        super().__init__()
        self.stalled_s = stalled_s
        self.goes_on = threading.Event()

    def wait(self, over: threading.Event, seconds: float) -> bool:
        ended = super().wait(over, seconds)
        if seconds == self.stalled_s:
            assert self.goes_on.wait(120)
        return ended


class Over(threading.Event):
    """The end of the load, which tells when a fault looks for it while it waits for its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.set()
        return super().wait(timeout)


class Did:
    """What was done to servers, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._grew = threading.Condition()

    def add(self, line: str) -> None:
        with self._grew:
            self.lines.append(line)
            self._grew.notify_all()

    def until(self, *lines: str) -> None:
        """Returns once these were done, in this order, and nothing else."""
        with self._grew:
            assert self._grew.wait_for(lambda: len(self.lines) >= len(lines), 120), self.lines
            assert self.lines == list(lines)


class Recorded:
    """A managed server that writes down what is done to it."""

    pid = 77

    def __init__(self, name: str, did: Did, directory: Path) -> None:
        self.name, self.did, self.directory = name, did, directory
        self.is_alive, self.is_asked = True, threading.Event()
        self.answers = threading.Event()
        (directory / "data").mkdir(parents=True)

    @property
    def process(self) -> Any:
        return SimpleNamespace(alive=lambda: self.is_alive)

    def kill(self) -> None:
        self.is_alive = False
        self.did.add(f"kill {self.name}")

    def stop(self, *, discard: bool = False) -> bool:
        self.is_alive = False
        self.did.add(f"stop {self.name}")
        return True

    def start_again(self) -> None:
        self.is_alive = True
        self.did.add(f"start {self.name}")

    def pause(self) -> None:
        self.did.add(f"pause {self.name}")

    def resume(self) -> None:
        self.did.add(f"resume {self.name}")

    def run(self, database: str, statements: Any) -> Any:
        self.did.add(f"sql {self.name}")
        if statements == ["SELECT 1"]:
            return []
        assert self.answers.wait(120)
        raise DynoError("lost the connection")


Managed.register(Recorded)


class Operated:
    """A topology whose drills take until a test has them end."""

    def __init__(self, did: Did) -> None:
        self.did, self.ends = did, threading.Event()
        self.before_change: Callable[[Any], AbstractContextManager[Any]] = nullcontext

    @contextmanager
    def work(self, name: str, what: str) -> Iterator[None]:
        yield

    def must_be_replaceable(self, name: str) -> None:
        return

    def seed_again(self, name: str, step: Any, check: Any, database: str) -> str:
        self.did.add(f"seed {name}")
        assert self.ends.wait(120)
        self.did.add(f"seeded {name}")
        return ""

    def switch_over(self, step: Any, lead: Any) -> str:
        self.did.add("change")
        with self.before_change(step):
            assert self.ends.wait(120)
        self.did.add("changed")
        return ""


class Trial:
    """The faults of a trial on three nodes, and its timeline."""

    def __init__(self, path: Path, time: Simulated, *faults: Fault) -> None:
        self.did, self.time, self.path = Did(), time, path
        self.operated = Operated(self.did)
        self.servers = {name: Recorded(name, self.did, path / name) for name in NAMES}
        self.roles = {"db": PRIMARY, "db.2": REPLICA, "db.3": "down"}
        plan = plans.plan()
        run = SimpleNamespace(trial_dir=lambda name: path, path=path)
        context: Any = SimpleNamespace(control=SimpleNamespace(stop_now=False), run=run)
        self.deployment = deployment = SimpleNamespace(
            roles=lambda: self.roles,
            target=SimpleNamespace(router_name="db.router", arbitrator=None, linked=()),
            arbitrator=None,
            servers=self.servers,
            database="",
            volumes={},
            clocks={},
            cluster=self.operated,
            named=None,
            is_fenced=lambda name: False,
        )
        deployments: Any = {"db": deployment}
        self.faults = TrialFaults(
            *(context, replace(plan.cells[0], faults=faults), plan.trials[0], deployments),
            paths=Direct(),
            now=time.now,
            wait=time.wait,
        )
        self.over = Over()
        self.faults._over = self.over
        moments = self.faults.moments()
        self.line = Timeline([self.faults], moments, now=time.now, wait=time.wait)
        self.line.on_event(READY)  # measuring starts at 1010; it is 1000
        time.until_asked(len(faults))

    def go_to(self, t_s: float) -> None:
        """A second of the measured time."""
        self.time.go_to(1010.0 + t_s)

    def waits(self) -> None:
        """Returns once a fault waits for its turn."""
        assert self.over.asked.wait(120)

    def end(self) -> None:
        """The load ends, and all that goes on."""
        self.line.on_event(END)
        self.go_to(1000.0)
        self.line.close()
        self.line.check()

    def journal(self) -> list[tuple[str, str, str, str]]:
        lines = map(json.loads, (self.path / "faults.ndjson").read_text().splitlines())
        return [(one["do"], one["step"], one["outcome"], one["said"]) for one in lines]


def test_two_faults_of_a_node_keep_their_order_though_the_first_is_woken_late(
    tmp_path: Path,
) -> None:
    time = Stalling(12.0)
    trial = Trial(tmp_path, time, fault(2, "pause"), fault(2.25, "resume"))
    trial.go_to(2.25)
    trial.waits()
    trial.did.until()
    time.goes_on.set()
    trial.did.until("pause db", "resume db")
    trial.end()
    assert [one["do"] for one in trial.faults.facts()] == ["pause", "resume"]


def test_of_faults_of_the_same_moment_the_first_written_is_the_first(tmp_path: Path) -> None:
    trial = Trial(tmp_path, Simulated(), fault(2, "pause"), fault(2, "resume"))
    trial.go_to(2.0)
    trial.did.until("pause db", "resume db")
    trial.end()


def test_faults_of_different_nodes_do_not_wait_for_each_other(tmp_path: Path) -> None:
    time = Stalling(12.0)
    trial = Trial(tmp_path, time, fault(2, "pause"), fault(2.25, "pause", "db.2"))
    trial.go_to(2.25)
    trial.did.until("pause db.2")
    time.goes_on.set()
    trial.did.until("pause db.2", "pause db")
    trial.end()
    assert not trial.over.asked.is_set()


def test_a_fault_of_a_named_node_asks_no_node_for_its_role(tmp_path: Path) -> None:
    trial = Trial(tmp_path, Simulated(), fault(2, "pause", "db.3"))
    trial.deployment.roles = lambda: pytest.fail("it could wait for one that hangs")
    trial.go_to(2.0)
    trial.did.until("pause db.3")
    trial.end()


def test_a_fault_waits_until_one_before_it_has_chosen_its_node_by_a_role(tmp_path: Path) -> None:
    time = Stalling(12.0)
    trial = Trial(tmp_path, time, fault(2, "pause", "replica"), fault(2.25, "resume", "db.2"))
    trial.go_to(2.25)
    trial.waits()
    trial.did.until()
    time.goes_on.set()
    trial.did.until("pause db.2", "resume db.2")
    trial.end()


def test_where_no_node_has_the_role_the_next_fault_goes_on(tmp_path: Path) -> None:
    trial = Trial(tmp_path, Simulated(), fault(2, "pause", "replica"), fault(2.25, "pause", "db.2"))
    trial.roles["db.2"] = "down"
    trial.go_to(2.25)
    trial.did.until("pause db.2")
    with pytest.raises(TrialVoid, match="no node is replica"):
        trial.end()


def test_a_fault_does_not_end_before_one_that_was_to_begin_meanwhile(tmp_path: Path) -> None:
    time = Stalling(12.5)
    trial = Trial(tmp_path, time, fault(2, "pause", for_s=1), fault(2.5, "kill"))
    trial.go_to(2.0)
    trial.did.until("pause db")
    time.until_asked(3)
    trial.go_to(3.0)
    trial.waits()
    time.goes_on.set()
    trial.did.until("pause db", "kill db", "resume db")
    trial.end()


def test_a_statement_waits_for_an_end_that_was_due_before_it(tmp_path: Path) -> None:
    time = Stalling(1.0)
    select = replace(fault(3.5, "sql"), sql="SELECT 1")
    trial = Trial(tmp_path, time, fault(2, "pause", for_s=1), select)
    trial.go_to(2.0)
    trial.did.until("pause db")
    time.until_asked(3)
    trial.go_to(3.5)
    trial.waits()
    time.goes_on.set()
    trial.did.until("pause db", "resume db", "sql db")
    trial.end()
    assert [one for one in trial.journal() if one[1] == "wait"] == [
        ("sql", "wait", "", "for `pause` of `db` at 2 s"),
        ("sql", "wait", "ok", ""),
    ]


def test_a_server_may_be_killed_while_a_statement_runs(tmp_path: Path) -> None:
    alter = replace(fault(2, "sql"), sql="ALTER TABLE t ADD COLUMN b INT")
    trial = Trial(tmp_path, Simulated(), alter, fault(2.5, "kill"))
    trial.go_to(2.0)
    trial.did.until("sql db")
    trial.go_to(2.5)
    trial.did.until("sql db", "kill db")
    trial.servers["db"].answers.set()
    trial.end()  # which does not void the trial


def test_a_switchover_waits_for_a_replacement_of_another_node_and_says_so(tmp_path: Path) -> None:
    faults = fault(2, "replace", "db.3"), fault(3, "switchover", "primary")
    trial = Trial(tmp_path, Simulated(), *faults)
    trial.go_to(2.0)
    trial.did.until("kill db.3", "seed db.3")
    trial.go_to(3.0)
    trial.waits()
    trial.did.until("kill db.3", "seed db.3")
    trial.operated.ends.set()
    trial.did.until("kill db.3", "seed db.3", "seeded db.3", "change", "changed")
    trial.end()
    journal = trial.journal()
    wait = journal.index(("switchover", "wait", "", "for `replace` of `db.3` at 2 s"))
    replaced = journal.index(("replace", "begin", "ok", ""))
    assert wait < replaced < journal.index(("switchover", "wait", "ok", ""))
    assert journal[-2:] == [("switchover", "begin", "", ""), ("switchover", "begin", "ok", "")]


def test_a_fault_whose_turn_does_not_come_names_what_it_has_waited_for(tmp_path: Path) -> None:
    faults = fault(2, "replace", "db.3"), fault(3, "switchover", "primary")
    trial = Trial(tmp_path, Simulated(), *faults)
    trial.go_to(2.0)
    trial.did.until("kill db.3", "seed db.3")
    trial.go_to(3.0)
    trial.waits()
    trial.line.on_event(END)
    assert trial.faults._ended[1].wait(120), "it has given up"
    trial.operated.ends.set()
    said = "it waited for `replace` of `db.3` at 2 s, which was not over when the load ended"
    with pytest.raises(TrialVoid, match=f"`switchover` of `db` at 3 s did not happen: {said}"):
        trial.end()


def test_work_that_follows_other_work_on_its_node_is_done_though_the_load_has_ended(
    tmp_path: Path,
) -> None:
    trial = Trial(tmp_path, Simulated(), fault(2, "replace", "db.3"), fault(3, "restart", "db.3"))
    trial.go_to(2.0)
    trial.did.until("kill db.3", "seed db.3")
    trial.go_to(3.0)
    trial.waits()
    trial.line.on_event(END)
    trial.operated.ends.set()
    trial.did.until("kill db.3", "seed db.3", "seeded db.3", "start db.3")
    trial.end()


def test_work_on_another_node_waits_for_a_switchover_and_a_crash_does_not(tmp_path: Path) -> None:
    faults = (
        fault(2, "switchover", "primary"),
        fault(3, "restart", "db.2"),
        fault(3, "kill", "db.3"),
    )
    trial = Trial(tmp_path, Simulated(), *faults)
    trial.go_to(2.0)
    trial.did.until("change")
    trial.go_to(3.0)
    trial.waits()
    trial.did.until("change", "kill db.3")
    trial.operated.ends.set()
    trial.did.until("change", "kill db.3", "changed", "stop db.2", "start db.2")
    trial.end()


def test_a_node_that_a_switchover_waits_for_can_be_restarted(tmp_path: Path) -> None:
    trial = Trial(
        tmp_path,
        Simulated(),
        fault(2, "switchover", "primary"),
        fault(3, "restart", "db.3"),
    )

    def started() -> None:
        Recorded.start_again(trial.servers["db.3"])
        trial.operated.ends.set()

    trial.operated.before_change = lambda step: step("wait")
    trial.servers["db.3"].start_again = started  # type: ignore[method-assign]
    trial.servers["db.3"].is_alive = False
    trial.go_to(2.0)
    trial.did.until("change")
    trial.go_to(3.0)
    trial.did.until("change", "start db.3", "changed")
    trial.end()
