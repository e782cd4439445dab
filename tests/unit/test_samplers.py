"""Samplers on made-up readings, and the runner with samplers that fail."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno import samplers
from dbdyno.samplers import runner
from dbdyno.samplers.base import ProcFile
from dbdyno.samplers.machine import cpu, disk, memory
from dbdyno.samplers.machine.pressure import Pressure
from dbdyno.samplers.runner import GAPS_MAX, Loop, Sampling, tick_s
from dbdyno.samplers.server import counters, files, process, sessions
from dbdyno.samplers.server.state import State


def test_cpu_shares_add_up() -> None:
    last = cpu.parse("cpu  100 0 50 800 40 0 10 0 5 0\nctxt 1000\n")
    now = cpu.parse("cpu  150 0 70 900 50 0 10 20 5 0\nctxt 1500\n")
    values = cpu.shares(last, now, 2.0)
    assert values["user"] == 50 / 200
    assert values["system"] == 20 / 200
    assert values["steal"] == 20 / 200
    assert values["steal_percent"] == 10.0
    assert values["iowait"] == 10 / 200
    assert values["idle"] == 100 / 200
    assert values["busy"] == pytest.approx(70 / 200)
    assert values["context_switches_per_s"] == 250
    parts = ("user", "system", "iowait", "steal", "idle")
    assert sum(values[name] for name in parts) == pytest.approx(1.0)
    assert cpu.shares(now, now, 1.0) == {}


@given(
    st.lists(st.integers(0, 10**6), min_size=8, max_size=8),
    st.lists(st.integers(0, 10**6), min_size=8, max_size=8),
)
def test_cpu_shares_stay_within_one(first: list[int], second: list[int]) -> None:
    last, now = (dict(zip(cpu.COLUMNS, ticks, strict=True)) for ticks in (first, second))
    assert all(
        0 <= v <= 1 + 1e-9 for k, v in cpu.shares(last, now, 1.0).items() if k != "steal_percent"
    )


def test_memory_is_in_bytes() -> None:
    text = "MemTotal:  100 kB\nDirty:  12 kB\nWriteback:  3 kB\nMemAvailable: 50 kB\n"
    assert memory.parse(text) == {
        "dirty_bytes": 12288.0,
        "writeback_bytes": 3072.0,
        "available_bytes": 51200.0,
    }


def test_disk_rates() -> None:
    line = "254 0 vda 10 0 80 20 100 0 1600 300 0 500 400 0 0 0 0 7 9\n 254 1 vda1 9 9 9 9 9 9 9\n"
    later = "254 0 vda 10 0 80 20 300 0 3200 500 0 1000 900 0 0 0 0 17 9\n"
    last, now = (disk.parse(text, frozenset({"254:0"})) for text in (line, later))
    values = disk.rates(last, now, 2.0)
    assert values["writes_per_s"] == 100
    assert values["write_bytes_per_s"] == 1600 * 512 / 2
    assert values["write_await_ms"] == 1.0
    assert values["reads_per_s"] == 0
    assert values["read_await_ms"] == 0
    assert values["util"] == 0.25
    assert values["queue"] == 0.25
    assert values["flushes_per_s"] == 5
    assert disk.rates({}, {}, 1.0) == {}


def test_counters_become_rates_and_levels_stay() -> None:
    last = {"Questions": 100.0, "Threads_running": 3.0, "Reset": 50.0}
    now = {"Questions": 300.0, "Threads_running": 7.0, "Reset": 1.0, "New": 5.0}
    changed = counters.changes(last, now, frozenset({"Threads_running"}), 2.0)
    assert changed == {"Questions": 100.0, "Threads_running": 7.0}


class SlowServer:
    """Counts a hundred questions a second, and is asked for them half-way through each answer."""

    pid = None
    directory = None

    def __init__(self, answers_s: list[float]) -> None:
        self.now_s = 0.0
        self._answers_s = iter(answers_s)

    def gauges(self) -> frozenset[str]:
        return frozenset()

    def sessions_by_state(self) -> dict[str, int]:
        return {}

    def counters(self) -> dict[str, float]:
        half_s = next(self._answers_s) / 2
        self.now_s += half_s
        questions = 100.0 * self.now_s
        self.now_s += half_s
        return {"Questions": questions}


def test_slow_answers_do_not_change_rates() -> None:
    server = SlowServer([0.6, 0.9, 0.0, 0.8])
    sampler = counters.Counters(server, clock=lambda: server.now_s)
    sampler.open()
    dated_s = server.now_s
    for at_s in (1.0, 2.0, 3.0):
        server.now_s = begun_s = max(at_s, server.now_s)
        assert sampler.sample(begun_s - dated_s) == pytest.approx({"Questions": 100.0})
        dated_s = begun_s


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(0, 100), max_size=200))
def test_sessions_are_bounded_and_none_is_lost(states: dict[str, int]) -> None:
    kept = sessions.bounded(states)
    assert len(kept) <= sessions.STATES_MAX + 1
    assert sum(kept.values()) == sum(states.values())


def test_process_counts_threads_that_come_and_go() -> None:
    last = process.Reading(1.0, 10.0, 1, {1: (100, 10)}, {1: (10**9, 10), 2: (10**9, 99)})
    now = process.Reading(3.0, 20.0, 2, {1: (300, 10), 5: (40, 0)}, {1: (2 * 10**9, 30), 7: (0, 4)})
    values = process.rates(last, now, 2.0)
    assert values["cpu_cores"] == 1.0
    assert values["rss_bytes"] == 20.0
    assert values["read_bytes_per_s"] == 120
    assert values["write_bytes_per_s"] == 0
    assert values["runqueue_cores"] == 0.5
    assert values["context_switches_per_s"] == 12


def test_open_files_and_what_a_directory_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    sampler = files.Files(os.getpid(), tmp_path, "db")
    sampler.open()
    before = sampler.sample(1.0)
    (tmp_path / "link").symlink_to("/usr")  # not followed
    with (tmp_path / "below" / "log").open("wb") as file:
        file.write(os.urandom(1 << 16))
        file.flush()
        os.fsync(file.fileno())
        now = sampler.sample(1.0)
    assert now["open"] >= before["open"] + 1
    assert 1 << 16 <= now["data_bytes"] - before["data_bytes"] < 1 << 20
    (tmp_path / "drills" / "backup-1").mkdir(parents=True)
    (tmp_path / "drills" / "backup-1" / "ibdata1").write_bytes(os.urandom(1 << 16))
    assert sampler.sample(1.0)["data_bytes"] == now["data_bytes"]  # a backup is none of its files
    monkeypatch.setattr(files, "FILES_MAX", 2)
    assert sampler.sample(1.0).keys() == {"open"}
    assert files.Files(os.getpid(), None).sample(1.0).keys() == {"open"}
    with pytest.raises(FileNotFoundError):
        files.Files(2**22 + 1, None).sample(1.0)
    sampler.close()


def test_process_sees_its_own_work() -> None:
    sampler = process.Process(os.getpid())
    sampler.open()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    values = sampler.sample(1.0)
    assert values["cpu_cores"] >= 0.03
    assert values["rss_bytes"] > 1 << 20
    sampler.close()
    with pytest.raises(OSError, match="No such"):
        process.Process(2**22 + 1).open()


def test_machine_samplers_read_this_machine(tmp_path: Path) -> None:
    for sampler in (cpu.Cpu(), memory.Memory(), disk.Disk([tmp_path, tmp_path / "missing"])):
        sampler.open()
        time.sleep(0.05)
        values = sampler.sample(0.05)
        assert all(isinstance(value, float | int) for value in values.values())
        sampler.close()
        sampler.close()
    assert ProcFile("/proc/uptime").text is not None
    with pytest.raises(OSError, match="not open"):
        ProcFile("/proc/uptime").text()


def test_a_file_of_proc_is_read_to_its_end_and_no_further_than_allowed(tmp_path: Path) -> None:
    """The kernel answers one read of /proc/self/maps with a page at most; the stack is last."""
    maps = ProcFile("/proc/self/maps", 1 << 20)
    maps.open()
    text = maps.text()
    maps.close()
    assert len(text) > 4096
    assert "[stack]" in text
    long = tmp_path / "long"
    long.write_text("x" * 90)
    bounded = ProcFile(long, 64)
    bounded.open()
    assert bounded.text() == "x" * 64
    bounded.close()


def test_every_sampler_is_listed() -> None:
    folder = Path(samplers.__file__).parent
    modules = {
        f"{path.parent.name}.{path.stem}"
        for of in ("machine", "server")
        for path in (folder / of).glob("[a-z]*.py")
    }
    assert modules == set(samplers.SAMPLERS)


# ---- the runner


class Fake:
    """A sampler whose answers are scripted: a value, or an exception to raise."""

    about = "for tests"
    quick = False

    def __init__(self, source: str, *script: Any) -> None:
        self.source = source
        self.script = list(script)
        self.opened = 0
        self.closed = 0

    def open(self) -> None:
        self.opened += 1

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        answer = self.script.pop(0) if self.script else 0.0
        if isinstance(answer, Exception):
            raise answer
        return {"value": answer, "elapsed": elapsed_s}

    def close(self) -> None:
        self.closed += 1


class Clock:
    """Ends the loop just after some ticks; each wait moves time to the tick that was asked for."""

    def __init__(self, start: float, ticks: int) -> None:
        self.time = start
        self.ticks = ticks

    def now(self) -> float:
        return self.time

    def wait(self, timeout: float | None = None) -> bool:
        self.ticks -= 1
        self.time += (timeout or 0.0) if self.ticks >= 0 else 0.0
        return self.ticks < 0


def lines(fakes: list[Fake], start: float, zero: float, ticks: int) -> list[dict[str, Any]]:
    """What a loop emits on a simulated clock."""
    clock = Clock(start, ticks)
    out: list[dict[str, Any]] = []
    loop = Loop(fakes, 1.0, zero, clock, lambda line: out.append(dict(line)), clock.now)  # type: ignore[arg-type]
    loop.run()
    return out


def test_ticks_lie_on_the_trials_clock() -> None:
    fake = Fake("a", 1.0, 2.0, 3.0, 4.0)
    out = lines([fake], start=97.6, zero=100.0, ticks=4)
    assert [line["t_s"] for line in out] == [-2.0, -1.0, 0.0, 1.0]
    assert [line["values"]["value"] for line in out] == [1, 2, 3, 4]
    assert out[0]["values"]["elapsed"] == 0.4
    assert [line["values"]["elapsed"] for line in out[1:]] == [1, 1, 1]
    assert fake.closed == 1


def test_a_trial_shorter_than_an_interval_gets_one_sample() -> None:
    clock = Clock(99.0, 0)
    clock.wait = lambda timeout=None: setattr(clock, "time", 100.3) or True  # type: ignore[method-assign,assignment]
    out: list[dict[str, Any]] = []
    Loop([Fake("a", 1.0)], 1.0, 100.0, clock, lambda x: out.append(dict(x)), clock.now).run()  # type: ignore[arg-type]
    assert [line["t_s"] for line in out] == [0.3]


def test_cheap_samplers_are_read_more_often_until_they_cost() -> None:
    cheap, dear, slow = Fake("a"), Fake("b"), Fake("c")
    cheap.quick = dear.quick = True
    clock, spent = Clock(0.1, 14), [0.0]
    answer = dear.sample

    def sample(elapsed_s: float) -> Mapping[str, float]:
        spent[0] += 0.0021 if clock.time > 1.1 else 0.0
        return answer(elapsed_s)

    dear.sample = sample  # type: ignore[method-assign]
    seen: list[tuple[str, float]] = []
    Loop(
        [cheap, dear, slow],
        1.0,
        0.0,
        clock,  # type: ignore[arg-type]
        lambda line: seen.append((line["source"], line["t_s"])),
        clock.now,
        lambda: spent[0],
    ).run()
    at = {source: [t for name, t in seen if name == source] for source in "abc"}
    assert at["a"] == [round(0.2 * n, 1) for n in range(1, 15)]
    # From 1.2 on 2.1 ms: the mean of the quick samples is above 1 ms at 1.8; whole intervals stay.
    assert at["b"] == [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.8]
    assert at["c"] == [1.0, 2.0, 2.8]


@pytest.mark.parametrize(
    ("interval_s", "tick"), [(1.0, 0.2), (0.5, 0.25), (0.1, 0.1), (5.0, 0.2), (0.3, 0.3)]
)
def test_quick_looks_part_an_interval_evenly(interval_s: float, tick: float) -> None:
    assert tick_s(interval_s) == pytest.approx(tick)


def test_pressure_is_a_share_of_time(tmp_path: Path) -> None:
    for name in ("cpu", "io"):  # pressure.memory is missing here
        (tmp_path / name).write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n")
    sampler = Pressure(tmp_path)
    sampler.open()
    (tmp_path / "io").write_text("some avg10=0.00 total=1500000\nfull avg10=0.00 total=7\n")
    assert sampler.sample(2.0) == {"cpu_some": 0.0, "io_some": 0.25}
    sampler.close()
    absent = Pressure(tmp_path / "none")
    absent.open()
    assert absent.sample(1.0) == {}


def test_a_stopped_process_shows_in_its_state(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    stat = tmp_path / "7" / "stat"
    stat.write_text("7 (a) b) S 1 7")  # a program's name may hold anything
    sampler = State(7, "db", str(tmp_path))
    sampler.open()
    assert sampler.source == "db.state"
    assert sampler.sample(1.0) == {"stopped": 0.0, "blocked": 0.0}
    stat.write_text("7 (a) b) T 1 7")
    assert sampler.sample(1.0) == {"stopped": 1.0, "blocked": 0.0}  # `state.stopped`
    sampler.close()


def test_stopped_processes_are_counted() -> None:
    stat = "7 (a b) T 1 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 5 0 0 0"
    reading = process.parse([process.Files(7, stat, "10 5 2 0 0 0 0")], 7, 100, 4096)
    values = process.rates(reading, reading, 1.0)
    assert (values["stopped"], values["blocked"]) == (1.0, 0.0)


@pytest.mark.parametrize(("end_s", "last"), [(29.97, [29.97]), (30.01, [30.01]), (29.1, [])])
def test_what_is_left_at_the_end_is_sampled_if_it_is_worth_it(
    end_s: float, last: list[float]
) -> None:
    """The end of a trial races with its last tick: the last second must count either way."""
    clock = Clock(28.5, 1)
    tick = clock.wait

    def wait(timeout: float | None = None) -> bool:
        if tick(timeout):
            clock.time = end_s
            return True
        return False

    clock.wait = wait  # type: ignore[method-assign,assignment]
    out: list[dict[str, Any]] = []
    Loop([Fake("a")], 1.0, 0.0, clock, lambda x: out.append(dict(x)), clock.now).run()  # type: ignore[arg-type]
    assert [line["t_s"] for line in out] == [29.0, *last]
    assert [line["length_s"] for line in out] == [0.5, *(round(t - 29.0, 3) for t in last)]


def test_a_failing_sampler_leaves_a_gap_and_comes_back() -> None:
    broken = Fake("b", 1.0, RuntimeError("server has gone away"), 5.0)
    steady = Fake("s")
    out = lines([broken, steady], start=0.0, zero=0.0, ticks=5)
    of_broken = [line for line in out if line["source"] == "b"]
    assert [line["t_s"] for line in of_broken] == [1.0, 2.0, 4.0, 5.0], "opened again at 3"
    assert of_broken[1]["values"] == {}
    assert "gone away" in of_broken[1]["gap"]
    assert of_broken[2]["values"]["elapsed"] == 1
    assert len([line for line in out if line["source"] == "s"]) == 5
    assert broken.opened == 2


def test_gaps_are_bounded() -> None:
    class Dead(Fake):
        def open(self) -> None:
            raise OSError("no")

    out = lines([Dead("d")], start=0.0, zero=0.0, ticks=GAPS_MAX * 3)
    assert len(out) == GAPS_MAX


class HungServer:
    """A server whose every answer hangs until the test ends."""

    pid = None
    version = "x"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.release = threading.Event()

    def gauges(self) -> frozenset[str]:
        self.release.wait(600)
        return frozenset()

    def counters(self) -> dict[str, float]:
        return {}

    def sessions_by_state(self) -> dict[str, int]:
        return {}


def test_a_hung_server_stops_neither_the_machines_samples_nor_the_end(tmp_path: Path) -> None:
    server = HungServer(tmp_path)
    path = tmp_path / "metrics.ndjson"
    sampling = Sampling(path, {"db": server}, interval_s=0.05)  # type: ignore[dict-item]
    sampling.start(time.time() + 0.2)
    deadline = time.monotonic() + 120
    while path.stat().st_size < 2000 and time.monotonic() < deadline:
        time.sleep(0.02)
    sampling.stop()
    sampling.stop()
    size = path.stat().st_size
    server.release.set()
    sources = {json.loads(line)["source"] for line in path.read_text().splitlines()}
    assert {"cpu", "memory"} <= sources
    assert "status" not in sources
    assert path.stat().st_size == size, "nothing is written after the end"
    sampling.start(0.0)
    assert path.stat().st_size == size, "an ended one does not start again"


def test_names_carry_the_target_where_there_are_several(tmp_path: Path) -> None:
    from dbdyno.samplers.runner import samplers_of

    one, two = HungServer(tmp_path), HungServer(tmp_path)
    machine, servers = samplers_of({"a": one, "b": two})  # type: ignore[dict-item]
    assert [s.source for s in machine] == [
        *("cpu", "memory", "disk", "network"),
        *("paging", "load", "pressure"),
    ]
    assert [[s.source for s in each] for each in servers] == [
        ["a.status", "a.sessions"],
        ["b.status", "b.sessions"],
    ]
    _, servers = samplers_of({"a": one})  # type: ignore[dict-item]
    assert [s.source for s in servers[0]] == ["status", "sessions"]


def test_a_gap_says_what_went_wrong_and_not_what_python_calls_it() -> None:
    lost = "MySQL server has gone away (SSLEOFError(8, 'EOF occurred in violation of protocol'))"
    for error, said in (
        (ConnectionError(2006, lost), "MySQL server has gone away"),
        (RuntimeError("no answer (it is stopped)"), "no answer (it is stopped)"),
        (TimeoutError(), "TimeoutError"),
        (FileNotFoundError(2, "No such file", "/proc/7/stat"), "/proc/7/stat: No such file"),
    ):
        assert runner._in_words(error) == said
