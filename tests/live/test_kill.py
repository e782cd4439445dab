"""Nothing is lost and nothing left behind, whatever dies, at whatever moment.

The short form; the long one is `python tests/live/kill_many.py --times 50`.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from killing import Slaughter
from private_servers import binaries
from running import (
    DYNO,
    Place,
    complete_trials,
    memory_of,
    shared_files,
    shared_memory,
    wait_for,
)

from dbdyno import systems
from dbdyno.cli.runs.status import status
from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, System, TargetPlan
from dbdyno.systems.process.guarded import Guarded

pytestmark = pytest.mark.live

# Each part that can die, each phase of a run. Shuffled: what comes after what matters too.
DEATHS = (
    ("dyno", "start-up"),
    ("dyno", "loading"),
    ("dyno", "copy"),
    ("dyno", "trial"),
    ("dyno", "report"),
    ("engine", "loading"),
    ("engine", "trial"),
    ("server", "loading"),
    ("server", "trial"),
    ("guardian", "loading"),
    ("guardian", "trial"),
)
ENOUGH_S = 24.0  # no further death after that; the rest of the run is not counted
QUICK = """
experiment: small
question: Does a lost terminal matter?
targets:
  db: {kind: sqlite, durability: os_crash_unsafe}
workload: {kind: oltp, preset: write_only, tables: 1, rows: 1000}
factors:
  sessions: [1, 2]
blocks: 3
warmup: 100ms
duration: 400ms
interval: 100ms
"""


@pytest.mark.parametrize("kinds", [("mariadb", "postgres"), ("mysql",)], ids="-".join)
def test_whatever_dies_nothing_is_lost_or_left(there: Place, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        binaries(kind)
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    deaths = random.Random(seed).sample(DEATHS, len(DEATHS))
    killer = Slaughter(there, kinds, seed, hurry=True)
    enough = time.monotonic() + ENOUGH_S / (1 if len(kinds) > 1 else 4)
    for kill in killer.kills(deaths):
        print(kill)
        assert kill.harmless, kill
        if (killer.run / "manifest.json").exists():
            asked = there.dyno("status", killer.run, "--json")
            assert asked.returncode == 0, asked.stderr
            assert json.loads(asked.stdout)["status"] != "running"
        if time.monotonic() > enough:
            break
    assert killer.finish() == 0
    assert there.until_clean() == []
    assert not list(killer.run.rglob(".*.tmp"))


def test_when_everything_dies_at_once_the_next_run_clears_up(there: Place) -> None:
    """As when a container is stopped, or the machine loses its power."""
    binaries("postgres")
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    killer = Slaughter(there, ("postgres",), seed, blocks=4)
    for phase in ("trial", "loading"):
        kept = killer.everything(phase)
        assert wait_for(lambda: not there.processes())
        assert there.leftovers(), "nobody was left to clear up"
        after = complete_trials(killer.run)
        assert all(after[name] == text for name, text in kept.items())
    assert killer.finish() == 0
    assert there.until_clean() == []


def test_signals_end_a_run_in_order(there: Place) -> None:
    binaries("mariadb")
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    killer = Slaughter(there, ("mariadb",), seed, blocks=6)
    once, twice = [signal.SIGINT], [signal.SIGINT, signal.SIGINT]
    ways = [(once, "loading"), (twice, "copy"), (twice, "trial"), ([signal.SIGTERM], "trial")]
    ways += [(once, "start"), ([signal.SIGTERM], "loading"), (once, "trial")]
    for numbers, phase in random.Random(seed).sample(ways, 3):
        kept, code, output = killer.signals([signal.SIGHUP, *numbers], phase)
        print(numbers, phase, code)
        assert "Traceback" not in output, output
        assert code == 3, output
        assert f"--resume {killer.run}" in output
        assert there.until_clean() == []
        after = complete_trials(killer.run)
        assert all(after[name] == text for name, text in kept.items())
        asked = there.dyno("status", killer.run, "--json")
        assert asked.returncode == 0, asked.stderr
        assert json.loads(asked.stdout)["status"] == "interrupted"
    assert killer.finish() == 0
    assert there.until_clean() == []


def test_a_reader_that_goes_away_does_not_stop_a_run(there: Place) -> None:
    file = there.experiment(QUICK)
    piped = f"'{DYNO}' run '{file}' --dir out 2>&1 | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", piped],
        cwd=there.path,
        env=there.environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
    assert len(complete_trials(there.path / "out")) == 6
    assert (there.path / "out/result.json").exists()
    assert there.until_clean() == []


def test_closed_streams_do_not_stop_a_run(there: Place) -> None:
    file = there.experiment(QUICK)
    closed = f"exec '{DYNO}' run '{file}' --dir out <&- >&- 2>&-"
    done = subprocess.run(
        ["bash", "-c", closed], cwd=there.path, env=there.environment, timeout=240, check=False
    )
    assert done.returncode == 0
    assert len(complete_trials(there.path / "out")) == 6
    assert there.until_clean() == []


def test_a_terminal_that_closes_does_not_stop_a_run(there: Place) -> None:
    file = there.experiment(QUICK)
    master, slave = os.openpty()

    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    dyno = subprocess.Popen(
        [DYNO, "run", file, "--dir", "out"],
        cwd=there.path,
        env=there.environment,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        preexec_fn=own_terminal,
    )
    os.close(slave)
    run = there.path / "out"
    shown = b""
    while b"trial 2/6" not in shown:
        shown += os.read(master, 65536)
    os.close(master)
    assert dyno.wait(timeout=240) == 0
    assert len(complete_trials(run)) == 6
    assert (run / "report.html").exists()
    assert there.until_clean() == []


def test_status_is_sensible_at_any_moment(there: Place) -> None:
    dyno = there.start("run", there.experiment(QUICK), "--dir", "out")
    run = there.path / "out"
    ask = CliRunner()
    seen = set()
    done = []
    refused = ""
    while dyno.poll() is None:
        asked = ask.invoke(status, [str(run), "--json"], standalone_mode=False)
        if asked.exception is not None:  # the first moment: there is no run yet
            assert isinstance(asked.exception, DynoError), asked.exception
            assert not seen, asked.exception
            refused = str(asked.exception)
            continue
        facts = json.loads(asked.output)
        seen.add(facts["status"])
        done.append(facts["trials_done"])
        words = ask.invoke(status, [str(run)], standalone_mode=False)
        assert words.exception is None
        assert "of 6 trials done" in words.output
        time.sleep(0.02)  # dyno needs a CPU, too
    output, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 0, output
    assert seen >= {"running"}, refused
    assert seen <= {"running", "complete"}
    assert done == sorted(done)
    final = there.dyno("status", run)
    assert final.returncode == 0
    assert "complete" in final.stdout


def test_an_early_ctrl_c_is_quiet(there: Place) -> None:
    file = there.experiment(QUICK.replace("blocks: 3", "blocks: 40"))  # it is not over by itself
    pause = random.Random(seed := random.randrange(1 << 30))
    print(f"seed {seed}")
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # dyno ignoring it shows that it began
    for number in range(4):
        run = there.path / f"run{number}"
        dyno = there.start("run", file, "--dir", run)
        _until_our_code_runs(dyno.pid)
        time.sleep(pause.uniform(0, 1.5))
        dyno.send_signal(signal.SIGINT)
        output, _ = dyno.communicate(timeout=120)
        assert "Traceback" not in output, output
        assert "KeyboardInterrupt" not in output, output
        assert dyno.returncode in (-signal.SIGINT, 3), output
        assert there.until_clean() == []
    signal.signal(signal.SIGHUP, before)


def _until_our_code_runs(pid: int) -> None:
    """Python's own start answers Ctrl-C with a traceback, before any line of dyno could run."""

    def began() -> bool:
        status = Path(f"/proc/{pid}/status").read_text()
        ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.MULTILINE)[1], 16)
        return bool(ignored & 1 << signal.SIGHUP - 1)

    assert wait_for(began, 120), "dyno never began"


def test_a_killed_bootstrap_of_postgres_leaves_no_shared_memory(there: Place) -> None:
    """initdb's children make shared memory too, and their guardian is not their parent."""
    found = binaries("postgres")
    system = systems.load("postgres")
    directory = there.scratch / "db"
    seen: set[str] = set()

    def killed() -> bool:
        """Whether one was seen while it was made: it lasts for a moment."""
        made = threading.Thread(target=_prepare, args=(system, found, directory), daemon=True)
        made.start()
        while made.is_alive():
            for pid, line in there.processes():
                if Path(line.split(" ")[0]).name != "postgres" or seen:
                    continue
                if memory := memory_of(Path(f"/proc/{pid}")):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    seen.update(memory)
        shutil.rmtree(directory, ignore_errors=True)
        return bool(seen)

    assert any(killed() for _ in range(20)), "the bootstrap was not seen"
    assert wait_for(lambda: not seen & (shared_memory() | shared_files()))
    assert there.until_clean() == []


def _prepare(system: System, found: Binaries, directory: Path) -> None:
    with suppress(DynoError):  # initdb says that its child was killed
        system.prepare(found, directory, system.resolve(TargetPlan(name="db", kind="postgres")))


def test_guardians_sleep(there: Place) -> None:
    """Nothing that watches may disturb what is measured: no wake-ups while nothing happens."""
    process = Guarded(["/bin/sleep", "600"], directory=there.path / "data")
    try:
        stat = f"/proc/{process.guardian_pid}/status"

        def switches() -> int:
            with open(stat) as file:
                return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)

        def asleep() -> bool:
            before = switches()
            time.sleep(1)
            return switches() == before

        assert wait_for(asleep, 120)
    finally:
        process.stop(1)
