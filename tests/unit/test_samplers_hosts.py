"""Samples of other machines: what is asked, what is made of the answers, what goes wrong.

`ssh` is a stand-in on PATH that runs its shell here; `tests/live/test_hosts.py` has a real one.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_experiment_load import failure
from test_experiment_load import load as read_experiment

from dbdyno.experiment.claims import metrics
from dbdyno.experiment.claims.metrics import Scope
from dbdyno.experiment.targets import host
from dbdyno.experiment.targets.host import Prometheus
from dbdyno.experiment.types import Target
from dbdyno.hosts.ssh import SshAddress
from dbdyno.samplers import hosts, runner
from dbdyno.samplers.hosts import prometheus, remote
from dbdyno.samplers.machine import load, paging
from dbdyno.samplers.runner import Sampling
from dbdyno.samplers.server import process
from dbdyno.store.metrics.sampled import sampled_metrics

HERE = SshAddress("db1", "me")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- new samplers that both kinds of machine have


def test_paging_rates() -> None:
    last = paging.parse("nr_free_pages 5\npswpin 10\npswpout 0\npgmajfault 7\n")
    now = paging.parse("nr_free_pages 9\npswpin 30\npswpout 0\npgmajfault 6\n")
    assert paging.rates(last, now, 2.0) == {
        "swap_in_pages_per_s": 10.0,
        "swap_out_pages_per_s": 0.0,
        "major_faults_per_s": 0.0,
    }


def test_load_is_a_mean_and_a_level() -> None:
    assert load.parse("0.20 0.18 0.12 2/356 11206\n") == {
        "one_minute": 0.2,
        "runnable": 2.0,
    }


def test_paging_and_load_read_this_machine() -> None:
    for sampler in (paging.Paging(), load.Load()):
        sampler.open()
        assert all(value >= 0 for value in sampler.sample(1.0).values())
        sampler.close()


def test_processes_are_parsed_alike_from_text_and_from_this_machine() -> None:
    pid = os.getpid()
    stat, statm = (Path(f"/proc/{pid}/{name}").read_text() for name in ("stat", "statm"))
    files = process.Files(pid, stat, statm)
    reading = process.parse([files], pid, process.TICKS_PER_S, process.PAGE_BYTES)
    assert reading.cpu_s > 0
    assert reading.rss_bytes > 1 << 20


# ---- what a file may say


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("db1", "ssh://user@db1"),
        ("ssh://me:secret@db1", "no password"),
        ("ssh://-oProxyCommand=x", "ssh://"),
        ("prometheus:http://me:secret@prom:9090?instance=db1:9100", "no user or password"),
        ("prometheus:http://prom:9090", "?instance="),
        ("prometheus:http://prom:9090?instance=a&instance=b", "one instance"),
        ("prometheus:http://prom:9090?instance=a&token=secret", "no parameter but"),
        ("prometheus:file:///etc/passwd?instance=a", "prometheus:http://"),
        ("prometheus:http://[::1?instance=a", "can be read"),
    ],
)
def test_a_wrong_host_is_refused_where_it_stands(text: str, said: str) -> None:
    error = failure(
        "experiment: x\ntargets:\n  db:\n    url: mysql://app@db1/shop\n"
        f"    host: ¶'{text}'\nworkload: {{kind: oltp}}\n"
    )
    assert said in error.what, str(error)
    assert "secret" not in str(error)


def test_a_host_of_a_server_that_is_started_here_is_refused() -> None:
    error = failure(
        "experiment: x\ntargets:\n  db:\n    kind: mariadb\n    ¶host: ssh://db1\n"
        "workload: {kind: oltp}\n"
    )
    assert "started here" in error.what


def test_a_host_makes_no_factor_hard_and_no_cell_another() -> None:
    found = read_experiment(
        "experiment: x\ntargets: {db: {url: mysql://app@db1/shop, host: ssh://me@db1}}\n"
        "workload: {kind: oltp, preset: point_select}\n"
        "claims: ['host.cpu.busy < 0.5']\nrequire: ['host.disk.util < 0.9']\n"
    )
    assert found.cells[0].targets[0].host == "ssh://me@db1"


def test_a_hosts_metrics_carry_the_targets_name_where_there_are_several() -> None:
    assert metrics.canonical("host.cpu.busy", Scope(("a",))) == "host.cpu.busy"
    two = Scope(("a",), ("db", "other"))
    assert metrics.canonical("db.host.cpu.busy", two) == "db.host.cpu.busy"


def test_a_prometheus_is_taken_apart() -> None:
    found = host.parse("prometheus:https://prom.example.com/base/?instance=db1:9100")
    assert found == Prometheus("https://prom.example.com/base", "db1:9100")


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("mysql://app@db1/shop", 3306),
        ("postgres://app@db1:6000/shop", 6000),
        ("mysql://app@/shop?socket=/run/x.sock", None),
    ],
)
def test_the_servers_process_is_looked_for_by_its_port(url: str, port: int | None) -> None:
    target = Target("db", "mysql", url=url, host="ssh://me@db1")
    [found] = hosts.feeds([target, Target("other", "mysql", url=url)])
    assert isinstance(found, remote.SshFeed)
    assert found._prefix == "db.host"
    assert (f":{port:04X}$" if port else ":-$") in found._script


# ---- ssh


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a feed has to say at the end of a trial is waited for, on a busy machine too."""
    monkeypatch.setattr(runner, "JOIN_S", 60.0)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `ssh` that runs the shell here, and notes its arguments."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "ssh"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/arguments\necho Welcome!\nexec /bin/sh\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return program


def until(condition: Any) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def sampled(feeds: list[hosts.Feed], path: Path, wanted: str) -> list[dict[str, Any]]:
    """Lines of a trial that lasts until a source has been seen."""
    sampling = Sampling(path, {}, feeds=feeds)
    sampling.start(time.time())
    try:
        until(lambda: path.exists() and f'"{wanted}"' in path.read_text())
    finally:
        sampling.stop()
    return read(path)


def test_a_host_is_sampled_like_this_machine(stand_in: Path, tmp_path: Path) -> None:
    feed = remote.SshFeed(HERE, "null", None, "host")
    lines = sampled([feed], tmp_path / "m", "host.load")
    by_source: dict[str, dict[str, float]] = {}
    for line in lines:
        by_source.setdefault(line["source"], line["values"])
    for source in ("memory", "paging", "load"):
        assert set(by_source[f"host.{source}"]) == set(by_source[source])
    assert {"busy", "idle", "steal_percent"} <= set(by_source["host.cpu"])
    assert "host.server" not in by_source
    [arguments] = (tmp_path / "arguments").read_text().splitlines()
    assert arguments.endswith("-- me@db1 exec /bin/sh")
    assert "BatchMode=yes" in arguments


def test_the_servers_process_is_found_by_its_port(stand_in: Path, tmp_path: Path) -> None:
    """A process that is called like a server and listens."""
    program = tmp_path / "mysqld"
    program.symlink_to("/usr/bin/python3")
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1],"
    code += " flush=True); open('/proc/self/comm', 'w').write('mysqld'); input()"
    server = subprocess.Popen(
        [program, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        until(lambda: Path(f"/proc/{server.pid}/comm").read_text() == "mysqld\n")
        feed = remote.SshFeed(HERE, "mysql", port, "host")
        lines = sampled([feed], tmp_path / "m", "host.server")
    finally:
        server.kill()
        server.communicate()
    [values, *_] = [line["values"] for line in lines if line["source"] == "host.server"]
    assert values["processes"] == 1
    assert values["rss_bytes"] > 1 << 20
    assert values["cpu_cores"] >= 0


def test_a_host_that_cannot_be_reached_is_a_warning_and_no_more(
    stand_in: Path, tmp_path: Path
) -> None:
    stand_in.write_text("#!/bin/sh\necho 'me@db1: Permission denied (publickey).' >&2; exit 255\n")
    sampling = Sampling(tmp_path / "m", {}, feeds=[remote.SshFeed(HERE, "mysql", 3306, "host")])
    sampling.start(time.time())
    until(lambda: "Permission denied" in (tmp_path / "m").read_text())
    sampling.stop()
    found = sampled_metrics(read(tmp_path / "m"), 1.0)
    assert not [name for name in found.metrics if name.startswith("host.")]
    [warning] = [text for text in found.warnings if text.startswith("host:")]
    assert "Permission denied (publickey)" in warning


def test_an_ssh_that_hangs_does_not_hold_up_the_end(stand_in: Path, tmp_path: Path) -> None:
    stand_in.write_text("#!/bin/sh\nexec sleep 600\n")
    sampling = Sampling(tmp_path / "m", {}, feeds=[remote.SshFeed(HERE, "mysql", 3306, "host")])
    sampling.start(time.time())
    sampling.stop()
    [line] = [line for line in read(tmp_path / "m") if line["source"] == "host"]
    assert "had not connected" in line["gap"]


def test_a_connection_that_drops_is_made_again(stand_in: Path, tmp_path: Path) -> None:
    """The first connection says one frame and a half."""
    once = tmp_path / "once"
    stand_in.write_text(
        f"#!/bin/sh\n[ -e {once} ] && exec /bin/sh\ntouch {once}\n"
        "/bin/sh | head -n 400\necho 'Connection reset by peer' >&2\nexit 255\n"
    )
    lines = sampled([remote.SshFeed(HERE, "null", None, "host")], tmp_path / "m", "host.load")
    gaps = [line["gap"] for line in lines if "gap" in line and line["source"] == "host"]
    assert "Connection reset by peer" in gaps[0]


@pytest.mark.parametrize(
    "said",
    ["/proc/stat", "/nonsense", "@server x", "@clock a b", "/proc/uptime:1 1\n@end\n/x:y\n@end"],
)
def test_a_host_that_says_nonsense_is_a_gap(stand_in: Path, tmp_path: Path, said: str) -> None:
    stand_in.write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}'; sleep 600\n")
    sampling = Sampling(tmp_path / "m", {}, feeds=[remote.SshFeed(HERE, "mysql", 3306, "host")])
    sampling.start(time.time())
    until(lambda: '"gap"' in (tmp_path / "m").read_text())
    sampling.stop()


def test_what_a_host_says_is_bounded() -> None:
    parser = remote.Parser()
    line = "/proc/stat:" + "x" * (remote.FRAME_BYTES_MAX // 2)
    assert parser.line(line) is None
    with pytest.raises(ValueError, match="larger than /proc"):
        parser.line(line)


# ---- Prometheus


def series(name: str, values: list[tuple[float, float]], **labels: str) -> dict[str, Any]:
    return {
        "metric": {"__name__": name, "instance": "db1:9100", **labels},
        "values": [[moment, str(value)] for moment, value in values],
    }


def exported(*moments: float) -> list[dict[str, Any]]:
    """What node_exporter says of a machine of two CPUs: half busy, one disk in constant use."""
    found = []
    for number in ("0", "1"):
        for mode, share in (("user", 0.25), ("system", 0.25), ("idle", 0.5)):
            found.append(
                series(
                    "node_cpu_seconds_total",
                    [(t, t * share) for t in moments],
                    cpu=number,
                    mode=mode,
                )
            )
    found += [
        series("node_context_switches_total", [(t, 1000 * t) for t in moments]),
        series("node_memory_Dirty_bytes", [(t, 4096.0) for t in moments]),
        series("node_load1", [(t, 1.5) for t in moments]),
        series("node_vmstat_pgmajfault", [(t, 3 * t) for t in moments]),
    ]
    for device in ("vda", "dm-0"):
        found += [
            series(
                "node_disk_writes_completed_total", [(t, 100 * t) for t in moments], device=device
            ),
            series(
                "node_disk_written_bytes_total", [(t, 51200 * t) for t in moments], device=device
            ),
            series(
                "node_disk_write_time_seconds_total", [(t, 0.2 * t) for t in moments], device=device
            ),
            series("node_disk_io_time_seconds_total", [(t, t) for t in moments], device=device),
        ]
    return found


def test_scrapes_become_the_metrics_of_a_local_machine() -> None:
    lines = list(prometheus.samples(exported(1000.0, 1010.0, 1025.0), 1005.0, "db.host"))
    cpus = [line for line in lines if line["source"] == "db.host.cpu"]
    assert [(line["t_s"], line["length_s"]) for line in cpus] == [(5.0, 10.0), (20.0, 15.0)]
    assert cpus[0]["values"]["user"] == 0.25
    assert cpus[0]["values"]["busy"] == 0.5
    assert cpus[0]["values"]["context_switches_per_s"] == 1000
    disks = next(line["values"] for line in lines if line["source"] == "db.host.disk")
    assert disks["writes_per_s"] == 100  # once: dm-0 lies on vda
    assert disks["write_bytes_per_s"] == 51200
    assert disks["write_await_ms"] == 2.0
    assert disks["util"] == 1.0
    others = {line["source"]: line["values"] for line in lines}
    assert others["db.host.memory"] == {"dirty_bytes": 4096}
    assert others["db.host.load"] == {"one_minute": 1.5}
    assert others["db.host.paging"] == {"major_faults_per_s": 3}


class Answers:
    """A Prometheus with given answers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.status, self.text, self.wait_s = 200, b"", 0.0
        answers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers.asked.append(self.path)
                time.sleep(answers.wait_s)
                self.send_response(answers.status)
                self.send_header("Content-Length", str(len(answers.text)))
                self.end_headers()
                self.wfile.write(answers.text)

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.source = Prometheus(f"http://127.0.0.1:{self.server.server_port}", 'db"1:9100')
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def says(self, result: Any) -> None:
        answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        self.text = json.dumps(answer).encode()


@pytest.fixture
def answers() -> Iterator[Answers]:
    made = Answers()
    yield made
    made.server.shutdown()
    made.server.server_close()


def trial(source: Prometheus, path: Path) -> list[dict[str, Any]]:
    sampling = Sampling(path, {}, feeds=[hosts.PrometheusFeed(source, "host")])
    sampling.start(time.time())
    sampling.stop()
    return [line for line in read(path) if line["source"].startswith("host")]


def test_prometheus_is_asked_once_after_the_trial(answers: Answers, tmp_path: Path) -> None:
    now = time.time()
    answers.says(exported(now - 10, now + 5))
    lines = trial(answers.source, tmp_path / "m")
    assert {line["source"] for line in lines} == {
        f"host.{source}" for source in ("cpu", "memory", "disk", "paging", "load")
    }
    [asked] = answers.asked
    assert asked.startswith("/api/v1/query?query=")
    assert "instance%3D%22db%5C%221%3A9100%22" in asked


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (200, b"<html>", "not that of Prometheus' API"),
        (200, b'{"status": "success", "data": {"resultType": "matrix", "result": [7]}}', "API"),
        (400, b'{"status": "error", "error": "too many samples"}', "status 400: too many samples"),
        (401, b"who are you?", "status 401"),
        (200, b"[" * 200_000, "not that of Prometheus' API"),
        (400, b'{"error": ' + b"[" * 60_000, "status 400"),
        (200, b'{"status": "success", "data": {"resultType": "matrix", "result": []}}', "no two"),
    ],
)
def test_a_prometheus_that_does_not_help_is_a_warning(
    answers: Answers, tmp_path: Path, status: int, text: bytes, said: str
) -> None:
    answers.status, answers.text = status, text
    [line] = trial(answers.source, tmp_path / "m")
    assert said in line["gap"]
    [warning] = sampled_metrics([line], 1.0).warnings
    assert warning.startswith("host: 1 sample missing")


def test_a_prometheus_that_is_not_there_or_hangs_is_a_warning(
    answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [line] = trial(Prometheus("http://127.0.0.1:1", "x"), tmp_path / "m")
    assert "refused" in line["gap"]
    monkeypatch.setattr(prometheus, "TIMEOUT_S", 0.2)
    answers.wait_s = 1.0
    [line] = trial(answers.source, tmp_path / "m")
    assert "timed out" in line["gap"]
