"""Commands and samples by a real ssh: what passes, what is killed, what drops."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import servers_there
from ending import LONG, Watched, ended, lines
from running import Place, place, wait_for
from ssh_daemon import Daemon, daemon

from dbdyno.execute.hooks import command
from dbdyno.experiment.types import Hook
from dbdyno.samplers.hosts import feed
from dbdyno.samplers.runner import Sampling
from dbdyno.store.hooklog import DEADLINE, FAILED, OK
from dbdyno.store.metrics.sampled import sampled_metrics

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def sshd() -> Iterator[Daemon]:
    with daemon() as made:
        yield made


@pytest.fixture
def on_path(sshd: Daemon, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("PATH", f"{sshd.bin}:{os.environ['PATH']}")
    return sshd


def gone(pid: int) -> bool:
    return wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_a_command_runs_there_with_its_variables(on_path: Daemon) -> None:
    nasty = 'it\'s "$HOME" `x` \\ é'
    hook = Hook('printf "%s|%s" "$DYNO_X" "$SSH_CONNECTION"; cat; exit 3', on_path.address)
    ended = command.run(hook, {"DYNO_X": nasty})
    assert (ended.outcome, ended.exit_code) == (FAILED, 3)
    said, _, connection = ended.output.partition("|")
    assert said == nasty
    assert "127.0.0.1" in connection
    assert command.run(Hook("true", on_path.address), {}).outcome == OK


def test_a_command_that_hangs_there_is_killed_there(on_path: Daemon, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for deadline_s in (2.0, 8.0, 32.0):  # in which a busy machine has logged in
        hook = Hook(f"sh -c 'echo $$ > {pids}; sleep 600'; true", on_path.address, deadline_s)
        assert command.run(hook, {}).outcome == DEADLINE
        if pids.exists() and pids.read_text():
            break
    assert gone(int(pids.read_text()))


def test_a_host_that_lets_nobody_in_says_so(on_path: Daemon) -> None:
    stranger = on_path.address.replace("ssh://", "ssh://nobody-").replace("nobody-root@", "x@")
    ended = command.run(Hook("true", stranger), {})
    assert (ended.outcome, ended.exit_code) == (FAILED, 255)
    assert "denied" in ended.output


def test_a_connection_that_drops_in_a_trial_is_made_again(on_path: Daemon, tmp_path: Path) -> None:
    path = tmp_path / "metrics.ndjson"
    sampling = Sampling(path, {}, feeds=[feed(on_path.address, "mysql", None, "host")])

    def seen(count: int) -> bool:
        return sum(line["source"] == "host.cpu" for line in lines(path)) >= count

    begun = time.time()
    sampling.start(begun)
    try:
        assert wait_for(lambda: seen(1))
        on_path.drop()
        before = sum(line["source"] == "host.cpu" for line in lines(path))
        assert wait_for(lambda: any("gap" in line for line in lines(path)))
        assert wait_for(lambda: seen(before + 1))
    finally:
        sampling.stop()
    found = sampled_metrics(lines(path), time.time() - begun)
    assert 0 <= found.metrics["host.cpu.busy"] <= 1
    assert found.metrics["host.memory.available_bytes"] > 0
    [warning] = [text for text in found.warnings if text.startswith("host:")]
    assert re.search(r"\b\d+ samples? missing \(first: ssh", warning)
    assert wait_for(lambda: not on_path.sessions()), "the loop there outlives the trial"


@pytest.fixture
def there(on_path: Daemon) -> Iterator[Place]:
    with place() as made:
        made.environment["PATH"] = f"{on_path.bin}:{made.environment['PATH']}"
        yield made


def test_a_level_can_be_brought_about_on_another_host(there: Place, on_path: Daemon) -> None:
    flag = there.path / "flag"
    on = on_path.address
    there.experiment(f"""
experiment: elsewhere
targets: {{db: {{kind: sqlite, durability: none}}}}
workload: {{kind: oltp, preset: point_select, tables: 1, rows: 100}}
factors:
  flag:
    up:
      apply: {{run: 'echo "$DYNO_LEVEL_FLAG" > {flag}', on: '{on}'}}
      wait_until: {{run: test -s {flag}, on: '{on}'}}
      undo: {{run: rm {flag}, on: '{on}'}}
    down:
blocks: 1
warmup: 0s
duration: 200ms
interval: 100ms
""")
    done = there.dyno("run", "experiment.yaml", "--dir", "r")
    assert done.returncode == 0, done.stderr
    assert not flag.exists()
    runs = [json.loads(line) for line in (there.path / "r/hooks.ndjson").read_text().splitlines()]
    assert [(run["point"], run["on"], run["outcome"]) for run in runs] == [
        (point, on, OK) for point in ("apply", "wait_until", "undo")
    ]
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_the_host_of_a_server_that_is_there_is_sampled(
    there: Place, on_path: Daemon, kind: str
) -> None:
    with servers_there.there(kind) as server:
        server.grant(*server.read_only())
        there.environment["APP_PASSWORD"] = servers_there.PASSWORD
        there.experiment(f"""
experiment: seen
targets:
  db:
    url: "{server.url}"
    password_env: APP_PASSWORD
    data: {{existing: shop}}
    host: "{on_path.address}"
hooks: {{before_trial: env}}
workload: {{kind: oltp, preset: point_select, tables: 2, rows: {servers_there.ROWS}, think: 5ms}}
factors: {{workload.sessions: [1, 2]}}
require: [host.cpu.busy >= 0, host.server.cpu_cores > 0]
blocks: 1
warmup: 0s
duration: {LONG}
""")
        first = there.path / "r/trials/b01-t001"

        def seen(watched: Watched) -> bool:
            """Samples of the server's process, and of the first trial after one that is missing."""
            found = lines(watched.directory / "metrics.ndjson")
            gaps = [one["t_s"] for one in found if "gap" in one]
            since_s = gaps[-1:] if watched.directory == first else [0.0]
            samples = [one["t_s"] for one in found if one["source"] == "host.server"]
            return bool(since_s) and sum(t_s > since_s[0] for t_s in samples) >= 2

        with ended(there.path / "r", seen):
            dyno = there.start("run", "experiment.yaml", "--dir", "r")
            metrics = first / "metrics.ndjson"
            assert wait_for(lambda: "host.server" in str(lines(metrics)), 180)
            on_path.drop()  # in the middle of the first trial
            output, _ = dyno.communicate(timeout=240)
    assert dyno.returncode == 0, output
    records = [
        json.loads((there.path / f"r/trials/{trial}/trial.json").read_text())
        for trial in ("b01-t001", "b01-t002")
    ]
    assert [record["status"] for record in records] == ["complete", "complete"]
    warnings = "\n".join(records[0]["warnings"])
    assert re.search(r"host: \d+ samples? missing", warnings), warnings
    for record in records:
        assert record["metrics"]["server_cpu_us_per_op"] > 0
        assert record["metrics"]["host.server.rss_bytes"] > 1 << 20
    for log in (there.path / "r").glob("trials/*/hooks/before_trial.log"):
        assert "APP_PASSWORD" not in log.read_text()
    assert there.until_clean() == []
