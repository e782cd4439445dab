"""Kills parts of a run at random moments, and checks the outcome.

A *victim* is dyno, the engine, a server or a guardian; it dies by SIGKILL at a moment that the
seed decides, sometimes aimed at a phase (start-up, loading, copying, measuring, reporting). The
run is then waited for, what is left of it is listed, complete trials are compared byte for byte,
and the run is resumed, until it is complete; then another begins.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from running import Place, complete_trials

VICTIMS = ("dyno", "engine", "server", "guardian")
PHASES = ("start-up", "loading", "copy", "trial", "report", "any")
SERVER_PROGRAMS = ("mariadbd", "mysqld", "postgres")
COPIES = "work"  # in a scratch directory: what servers run on
RUN_S = 480.0  # a run that takes longer hangs
AIM_S = 240.0  # for a phase to come
HURRY_S = 5.0
TRIES = 4  # at a death that comes too late because the run was over first
MISSED = "missed"

EXPERIMENT = """
experiment: killed
question: Does anything get lost?
targets:
  db: {{kind: {first}, durability: os_crash_unsafe}}
workload: {{kind: oltp, preset: read_write, tables: 2, rows: 2000, sessions: 4, think: 1ms}}
factors:
  engine:
{levels}
blocks: {blocks}
warmup: 300ms
duration: 500ms
interval: 100ms
"""


BY_URL = """
experiment: killed
question: Does anything get lost on a server of somebody else's?
targets:
  db: {{url: "{url}", password_env: APP_PASSWORD}}
workload: {{kind: oltp, preset: read_write, tables: 2, rows: 2000, sessions: 4, think: 1ms}}
blocks: {blocks}
warmup: 300ms
duration: 500ms
interval: 100ms
"""


def experiment(kinds: Sequence[str], blocks: int) -> str:
    """A small experiment over systems: a trial of each in each block."""
    if len(kinds) == 1:
        return EXPERIMENT.replace("factors:\n  engine:\n{levels}\n", "").format(
            first=kinds[0], blocks=blocks
        )
    levels = "\n".join(f"    {kind}: {{db.kind: {kind}}}" for kind in kinds)
    return EXPERIMENT.format(first=kinds[0], levels=levels, blocks=blocks)


@dataclass(frozen=True)
class Kill:
    """One death and its consequences."""

    victim: str
    at_s: float  # since dyno was started
    phase: str
    left: tuple[str, ...]  # what was left behind
    lost: tuple[str, ...]  # complete trials that are gone or changed
    wrong: str  # anything else: a traceback, a hang, an odd exit code
    exit_code: int
    clean_s: float  # from the death until everything was gone

    @property
    def harmless(self) -> bool:
        """Whether nothing was lost, left behind or wrong."""
        return not (self.left or self.lost or self.wrong)


class Slaughter:
    """One place, one experiment, many deaths."""

    def __init__(
        self,
        there: Place,
        kinds: Sequence[str],
        seed: int,
        *,
        blocks: int = 2,
        hurry: bool = False,
        url: str = "",
    ) -> None:
        """With `hurry`, a run that survives a death is not waited for but ended by SIGTERM. With
        `url`, an external server is measured, whose password the place's environment has."""
        self._hurry = hurry
        self._there = there
        self._random = random.Random(seed)
        text = experiment(kinds, blocks) if kinds else BY_URL.format(url=url, blocks=blocks)
        self._file = there.experiment(text)
        self._trials = blocks * (len(kinds) or 1)
        self._usual_s = 4.0 * (len(kinds) or 1)
        self._number = 0
        self._dyno: subprocess.Popen[str] | None = None
        self._begun = self._begun_unix_s = 0.0
        self.run = there.path / "none"
        self.completed = 0

    def kills(self, plan: Sequence[tuple[str, str]]) -> Iterator[Kill]:
        """Carries out (victim, phase) after (victim, phase)."""
        for victim, phase in plan:
            for _ in range(TRIES):
                kill = self._kill(victim, phase)
                if kill.phase != MISSED:
                    break
            yield kill

    def signals(self, numbers: Sequence[int], phase: str) -> tuple[dict[str, bytes], int, str]:
        """Sends dyno signals in a phase, a moment apart; what was complete, its exit code and
        output."""
        dyno = self._running_in(phase)
        kept = complete_trials(self.run)
        for number in numbers:
            if dyno.poll() is None:
                dyno.send_signal(number)
                time.sleep(self._random.uniform(0, 0.1))
        output, _ = dyno.communicate(timeout=RUN_S)
        self._dyno = None
        return kept, dyno.returncode, output

    def everything(self, phase: str) -> dict[str, bytes]:
        """Kills all processes of the run at once, guardians too; returns what was complete."""
        dyno = self._running_in(phase)
        kept = complete_trials(self.run)
        victims = self._there.processes()
        for pid, _ in victims:  # none may see another's death and act on it
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid, _ in victims:
            _kill_9(pid)
        dyno.communicate(timeout=RUN_S)
        self._dyno = None
        return kept

    def finish(self) -> int:
        """Resumes undisturbed; returns the exit code of the last part."""
        if self._dyno is None and self._is_over():
            return 0
        dyno = self._running()
        output, _ = dyno.communicate(timeout=RUN_S)
        self._dyno = None
        assert "Traceback" not in output, output
        self.completed += dyno.returncode == 0
        return dyno.returncode

    def _kill(self, victim: str, phase: str) -> Kill:
        dyno = self._running()
        pid = self._await(dyno, victim, phase)
        self._there.note_ports()
        kept = complete_trials(self.run)
        at_s, was = time.monotonic() - self._begun, self._phase()
        if pid is not None:
            _kill_9(pid)
        died = time.monotonic()
        wrong = "" if pid is not None else "nothing to kill"
        output = ""
        try:
            if self._hurry and victim != "dyno" and not _ends(dyno, HURRY_S):
                dyno.terminate()  # it copes: go on to the next death
            output, _ = dyno.communicate(timeout=RUN_S)
        except subprocess.TimeoutExpired:
            wrong = "dyno hangs"
            dyno.kill()
            dyno.communicate()
        self._dyno = None
        left = self._there.until_clean()
        clean_s = time.monotonic() - died
        if left:
            wrong += self._clear()
        if pid is None:
            wrong = f"{wrong}: {output[-2000:]}"
        wrong = wrong or self._judge(victim, dyno.returncode, output)
        now = complete_trials(self.run)
        lost = tuple(sorted(name for name, text in kept.items() if now.get(name) != text))
        if dyno.returncode == 0:
            self.completed += 1
        if pid is None and dyno.returncode == 0:
            wrong = ""  # it was over too soon; that is luck, not a fault
            was = MISSED
        return Kill(victim, at_s, was, tuple(left), lost, wrong, dyno.returncode, clean_s)

    def _clear(self) -> str:
        """Removes files that were left, so that they count once; returns what defects say."""
        said = ""
        for entry in [*self._there.temp.iterdir(), *self._there.scratch.iterdir()]:
            if "defect" in entry.name:
                said += entry.read_text()[-3000:]
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        return said

    @staticmethod
    def _judge(victim: str, code: int, output: str) -> str:
        if "Traceback" in output or "panicked" in output or "Exception ignored" in output:
            return "traceback: " + output[-3000:]
        # A dead part other than dyno costs a trial (which is made again) or ends the run with an
        # error that says what died and leaves it resumable.
        expected = {-signal.SIGKILL} if victim == "dyno" else {0, 2, 3}
        if code not in expected and not (victim == "dyno" and code == 0):
            return f"exit code {code}: {output[-2000:]}"
        if code == 2 and not re.search(r"cause|fix|killed|ended|lost|died|signal", output):
            return f"an error without a reason: {output[-2000:]}"
        return ""

    def _running(self) -> subprocess.Popen[str]:
        """The run going on, resumed, or a new one."""
        if self._dyno is not None:
            return self._dyno
        if self._is_over() or not (self.run / "manifest.json").exists():
            self._number += 1
            self.run = self._there.path / f"run{self._number}"
            arguments: tuple[object, ...] = ("run", self._file, "--dir", self.run)
        else:
            arguments = ("run", "--resume", self.run)
        self._begun, self._begun_unix_s = time.monotonic(), time.time()
        self._dyno = self._there.start(*arguments)
        return self._dyno

    def _running_in(self, phase: str) -> subprocess.Popen[str]:
        """The run, in that phase; another one where it was over before that was seen."""
        for _ in range(TRIES):
            dyno = self._running()
            if self._await(dyno, "dyno", phase) is not None:
                return dyno
            dyno.communicate(timeout=RUN_S)
            self._dyno = None
        raise AssertionError(f"no run was seen in the phase `{phase}`")

    def _is_over(self) -> bool:
        return (self.run / "result.json").exists() and self._done() == self._trials

    def _done(self) -> int:
        return len(complete_trials(self.run))

    def _await(self, dyno: subprocess.Popen[str], victim: str, phase: str) -> int | None:
        """Waits for the moment; the victim's pid, or None if dyno ended before it came."""
        if phase == "any":
            moment = time.monotonic() + self._random.uniform(0, self._usual_s)
            while time.monotonic() < moment and dyno.poll() is None:
                self._there.processes()  # sees which shared memory is theirs
                time.sleep(min(0.1, max(0.0, moment - time.monotonic())))
        give_up = time.monotonic() + AIM_S
        aimed = phase == "any"
        while dyno.poll() is None and time.monotonic() < give_up:
            if not aimed:
                aimed = self._phase() == phase
                if aimed:
                    time.sleep(self._random.uniform(0, 0.3))
                else:
                    time.sleep(0.01)  # looking takes as long
                continue
            pids = self._pids(dyno, victim)
            if pids:
                return self._random.choice(pids)
            time.sleep(self._random.uniform(0.005, 0.2))
        return None

    def _pids(self, dyno: subprocess.Popen[str], victim: str) -> list[int]:
        if victim == "dyno":
            return [dyno.pid] if dyno.poll() is None else []
        return [pid for pid, line in self._there.processes() if _is(victim, line)]

    def _phase(self) -> str:
        """What the run is doing, as seen from its files and processes."""
        if not (self.run / "manifest.json").exists():
            return "start-up"
        if self._done() == self._trials:
            return "report"
        lines = [line for _, line in self._there.processes()]
        measuring = any(
            _unfinished(entry, self._begun_unix_s) for entry in self.run.glob("trials/*")
        )
        if any(_is("engine", line) for line in lines):
            return "trial" if measuring else "loading"
        if measuring:
            return "trial"
        if any(self._there.scratch.glob("*/snapshots/*.partial")):
            return "loading"
        if any(self._there.scratch.glob(f"*/{COPIES}/*")):
            return "start" if any(_is("server", line) for line in lines) else "copy"
        return "between"


def _unfinished(trial: Path, since_unix_s: float) -> bool:
    """Whether a trial is under way that began after that moment."""
    if "." in trial.name or (trial / "trial.json").exists():
        return False
    try:
        return trial.stat().st_mtime >= since_unix_s
    except FileNotFoundError:
        return False


def _is(victim: str, line: str) -> bool:
    words = line.split()
    if not words:
        return False
    if victim == "engine":
        return "dyno-engine run" in line
    if victim == "guardian":
        return "guardian.py" in line
    # A server's main process: its children have titles of their own, or no configuration.
    return Path(words[0]).name in SERVER_PROGRAMS and "server.c" in line


def _ends(process: subprocess.Popen[str], timeout_s: float) -> bool:
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_9(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it ended by itself meanwhile
        os.kill(pid, signal.SIGKILL)


def random_plan(times: int, seed: int, victims: Sequence[str]) -> list[tuple[str, str]]:
    """As many deaths, every victim alike; half aimed at a phase, half at any moment."""
    choose = random.Random(seed)
    plan = []
    for number in range(times):
        victim = victims[number % len(victims)]
        # The engine lives in two phases only, a server or guardian not before its start.
        phases = {
            "engine": ("loading", "trial", "any"),
            "server": ("loading", "trial", "start", "any"),
            "guardian": ("loading", "copy", "trial", "any"),
        }.get(victim, PHASES)
        plan.append((victim, "any" if choose.random() < 0.5 else choose.choice(phases)))
    return plan
