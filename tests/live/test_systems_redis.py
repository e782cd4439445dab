"""Redis, started by dbdyno and reached by its URL: driven by the real engine, and left as found."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from private_servers import running
from running import Place, complete_trials, place, wait_for

from dbdyno.errors import DynoError
from dbdyno.execute.servers.ledger import FILE
from dbdyno.systems.redis.client import Client, RedisError
from dbdyno.systems.redis.managed import RedisServer

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
PASSWORD = "app-Secret:4711"
MANAGED = """
experiment: logs
targets:
  db: {{kind: redis, durability: full{target}}}
workload: {{kind: kv, preset: {preset}, records: 2000, sessions: 4{workload}}}
factors:
  {factor}
blocks: 1
warmup: 0s
duration: 2s
interval: 200ms
"""
EXTERNAL = """
experiment: there
targets:
  db: {{url: "{url}", password_env: APP_PASSWORD{target}}}
workload: {{kind: kv, preset: a, records: 1500, sessions: 2}}
factors:
  {factor}
blocks: 1
warmup: 0s
duration: {duration}
interval: 200ms
"""


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for _, text in sorted(complete_trials(run).items())]


def ran(here: Place, file: Path, *more: object) -> list[dict[str, Any]]:
    done = here.dyno("run", file, "--dir", "r", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    found = records(here.path / "r")
    for record in found:
        assert record["metrics"]["transactions_per_s"] > 0
        assert record["metrics"]["errors_per_s"] == 0
    return found


def managed(here: Place, **words: str) -> Path:
    values = {
        "target": "",
        "preset": "a",
        "workload": "",
        "factor": "workload.sessions: [2, 4]",
        **words,
    }
    return here.experiment(MANAGED.format(**values))


# ---- managed


def test_two_ways_of_syncing_the_log_are_compared(here: Place) -> None:
    factor = """sync:
    always: {db.config: {appendonly: "yes", appendfsync: always}}
    everysec: {db.config: {appendonly: "yes", appendfsync: everysec}}"""
    text = MANAGED.replace(", durability: full", "")
    file = here.experiment(
        text.format(target="", preset="a", workload="", factor=factor.replace("\n", "\n  "))
    )
    found = ran(here, file)
    assert len(found) == 2
    for record in found:
        metrics = record["metrics"]
        commands = metrics["status.total_commands_processed"]
        assert commands > 0.5 * metrics["operations_per_s"], "its own count of what was sent"
        assert metrics["status.used_memory"] > 1500 * 1000, "the records are in it"
    page = (here.path / "r/report.html").read_text()
    assert "appendfsync" in page and "commands/s" in page and "Redis 7" in page
    assert here.until_clean() == []


@pytest.mark.parametrize(
    ("preset", "workload"),
    [("b", ", fields: 1"), ("c", ""), ("d", ""), ("f", ", read_modify_write: 1")],
)
def test_presets_without_scans_run(here: Place, preset: str, workload: str) -> None:
    ran(here, managed(here, preset=preset, workload=workload))


@pytest.mark.parametrize(
    "target",
    [", transport: socket", ", tls: require", ", tls: verify", ", options: {resp: 3}"],
)
def test_it_is_reached_by_socket_by_tls_and_by_either_protocol(here: Place, target: str) -> None:
    ran(here, managed(here, target=target))


@pytest.mark.parametrize("durability", ["full", "os_crash_unsafe", "none"])
def test_a_trial_starts_with_all_records_whatever_keeps_them(here: Place, durability: str) -> None:
    file = managed(here, preset="c")
    file.write_text(file.read_text().replace("durability: full", f"durability: {durability}"))
    for record in ran(here, file):
        metrics = record["metrics"]
        assert metrics.get("status.keyspace_misses", 0) == 0, "each read finds its record"
        assert metrics["status.keyspace_hits"] > 0


def test_a_pipeline_is_a_factor_and_each_operation_is_counted(here: Place) -> None:
    words = {"preset": "d", "workload": ", fields: 1", "factor": "workload.pipeline: [1, 4, 64]"}
    found = ran(here, managed(here, **words))
    assert len(found) == 3
    for record in found:
        metrics = record["metrics"]
        assert metrics["operations_per_s"] == metrics["transactions_per_s"]
        commands = metrics["status.total_commands_processed"]
        assert commands > 0.5 * metrics["operations_per_s"], "its own count of what was sent"
        assert metrics.get("status.keyspace_misses", 0) == 0, "each read finds its record"
    together = [record["metrics"].get("operations_per_write") for record in found]
    assert sorted(filter(None, together)) == [4, 64]
    design = (here.path / "r/report.md").read_text()
    assert "pipeline 4" in design and "pipeline 64" in design


def test_one_operation_of_a_pipeline_may_fail_alone(here: Place) -> None:
    # Writes are refused once the memory is full; reads are not.
    factor = "workload.pipeline: [4, 16]"
    target = ", config: {maxmemory: 4mb, maxmemory-policy: noeviction}"
    text = MANAGED.format(target=target, preset="c", workload=", fields: 1", factor=factor)
    text = text.replace("durability: full", "durability: none")
    text = text.replace("preset: c", "preset: d, insert: 0.5, field_bytes: 2000")
    file = here.experiment(text.replace("records: 2000", "records: 200"))
    done = here.dyno("run", file, "--dir", "r")
    assert done.returncode == 0, done.stdout + done.stderr
    ends = [
        path.read_text().splitlines()[-1] for path in here.path.glob("r/trials/*/events.ndjson")
    ]
    assert len(ends) == 2
    for end in ends:
        group = json.loads(end)["groups"]["workload"]
        assert set(group["errors"]) == {"OOM"}
        assert group["failed"] == group["errors"]["OOM"] > 0
        assert group["transactions"] > 0, "the reads that were sent with them"


def test_a_pipeline_goes_over_tls_and_by_a_schedule(here: Place) -> None:
    words = {
        "target": ", tls: require",
        "workload": ", pipeline: 16, rate: 5000/s",
        "factor": "workload.sessions: [1, 2]",
    }
    for record in ran(here, managed(here, preset="c", **words)):
        assert record["metrics"]["response_ms_p50"] > 0
        assert 1 <= record["metrics"]["operations_per_write"] <= 16


def test_scans_and_words_of_sql_are_refused_where_they_stand(here: Place) -> None:
    for words, shown, place_ in (
        ({"preset": "e"}, "`key_ranges` for scans", ":5:"),
        ({"workload": ', table_options: "x"'}, "`sql` for `table_options`", ":5:"),
        ({"workload": ", transactional: true", "preset": "f"}, "`transactions`", ":5:"),
        ({"workload": ", pipeline: 4", "preset": "f"}, "waits for its read", ":5:"),
        ({"target": ", setup: {after: [SELECT 1]}"}, "there are no tables in Redis", ":4:"),
    ):
        done = here.dyno("run", managed(here, **words), "--check")
        assert done.returncode == 2, done.stdout
        assert shown in done.stderr and place_ in done.stderr, done.stderr
    done = here.dyno("run", managed(here, target=", isolation: serializable"), "--dir", "r")
    assert done.returncode == 2 and "`isolation` means nothing to Redis" in done.stderr


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({"maxmemory-polcy": "noeviction"}, "does not know the setting"),
        ({"maxmemory-policy": "never"}, "not allowed for `maxmemory-policy`"),
        ({"dir": "/tmp"}, "cannot be set in `config:`"),
    ],
)
def test_a_setting_that_the_server_does_not_take_is_an_error(
    config: dict[str, Any], shown: str
) -> None:
    with pytest.raises(DynoError) as caught, running("redis", config=config):
        pass
    assert shown in f"{caught.value.what} {caught.value.cause}"


def test_settings_in_any_spelling_are_kept() -> None:
    config = {"maxmemory": "64mb", "maxmemory_policy": "allkeys-lru", "save": "900 1 300 10"}
    with running("redis", config=config) as (_, server):
        assert server.settings()["maxmemory"] == str(64 << 20)
        assert server.settings()["save"] == "900 1 300 10"
        assert server.settings()["requirepass"] == "", "no secret among what is stored"


def test_a_server_is_private_and_counts_itself() -> None:
    with running("redis") as (_, server):
        stranger = Client(("127.0.0.1", server.port), timeout_s=60)
        with pytest.raises(RedisError, match="NOAUTH"):
            stranger.call("GET", "a")
        stranger.close()
        before = server.counters()
        assert {"total_commands_processed", "used_memory"} <= set(before)
        gauges = server.gauges()
        assert "used_memory" in gauges and "total_commands_processed" not in gauges
        assert server.counters()["total_commands_processed"] > before["total_commands_processed"]
        other = server._open()
        other.call("GET", "a")
        assert server.sessions_by_state() == {"get": 1}
        other.close()


def test_kill_9_of_dyno_leaves_no_server(here: Place) -> None:
    file = managed(here)
    file.write_text(file.read_text().replace("duration: 2s", "duration: 30s"))
    process = here.start("run", file, "--dir", "r")
    assert wait_for(lambda: any("redis-server" in line for _, line in here.processes()), 120)
    assert wait_for(lambda: (here.path / "r/trials").exists(), 120)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert here.until_clean() == []


# ---- external


class Owner:
    """The owner of an external server, with keys of his own."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        guide = (ROOT / "docs/guide/external-servers.md").read_text()
        rights = next(line for line in guide.splitlines() if line.startswith("ACL SETUSER app"))
        self.ask(*rights.replace("PASSWORD", PASSWORD).split())
        self.ask("SET", "theirs", "1")
        self.ask("HSET", "usertable:user1", "field0", "theirs")
        self.ask("SET", "dbdyno_of_somebody:usertable:a", "theirs, whatever its name")
        client = server._open()
        client.call("SELECT", 3)
        client.call("SET", "theirs in 3", "1")
        client.close()

    def ask(self, *words: str | int) -> Any:
        return self.server.ask(*words)

    def keys(self) -> dict[str, str]:
        """All keys of all databases, with what they hold."""
        client, found = self.server._open(), {}
        for number in (0, 3):
            client.call("SELECT", number)
            for key in client.call("KEYS", "*"):
                found[f"{number} {key}"] = str(client.call("DUMP", key))
        client.close()
        return found

    def url(self, tail: str = "") -> str:
        return f"redis://app@127.0.0.1:{self.server.port}{tail}"


@pytest.fixture
def owner() -> Iterator[Owner]:
    with running("redis") as (_, server):
        yield Owner(server)


def external(here: Place, url: str, **words: str) -> Path:
    values = {
        "target": "",
        "factor": "workload.sessions: [1, 2]",
        "duration": "2s",
        **words,
    }
    return here.experiment(EXTERNAL.format(url=url, **values))


@pytest.mark.parametrize("tail", ["", "/3"])
def test_an_external_server_keeps_its_keys_and_gets_none(
    here: Place, owner: Owner, tail: str
) -> None:
    before = owner.keys()
    found = ran(here, external(here, owner.url(tail)), "--json")
    assert len(found) == 2
    assert owner.keys() == before
    assert not (here.path / "r" / FILE).exists()
    assert "connected_clients" in str(found[0]["metrics"])
    told = [path for path in (here.path / "r").rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in told)


def test_a_killed_run_is_undone_by_the_next_one(here: Place, owner: Owner) -> None:
    before = owner.keys()
    file = external(here, owner.url(), duration="30s")
    process = here.start("run", file, "--dir", "r/one")
    assert wait_for(lambda: owner.ask("DBSIZE") > 1500, 120)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_for(lambda: not here.processes())  # the engine ends too, and sends no more
    assert len(owner.keys()) > len(before)
    file = external(here, owner.url())
    done = here.dyno("run", file, "--dir", "r/two")
    assert done.returncode == 0, done.stderr
    assert "restoring the server" in done.stderr + done.stdout
    assert owner.keys() == before


def test_settings_are_set_for_the_run_and_put_back(here: Place, owner: Owner) -> None:
    old = owner.ask("CONFIG", "GET", "hz")[1]
    owner.ask("ACL", "SETUSER", "app", "+config|set")
    file = external(
        here,
        owner.url(),
        target=", may: {set_global: yes}",
        factor="hz: {low: {db.config: {hz: 11}}, high: {db.config: {hz: 37}}}",
    )
    ran(here, file)
    assert owner.ask("CONFIG", "GET", "hz")[1] == old
    plans = str(json.loads((here.path / "r/manifest.json").read_text()))
    assert "37" in plans


def test_a_wrong_password_a_missing_one_and_a_url_with_one_are_errors(
    here: Place, owner: Owner
) -> None:
    here.environment["APP_PASSWORD"] = "wrong"
    done = here.dyno("run", external(here, owner.url()), "--dir", "r")
    assert done.returncode != 0 and "refuses user app" in done.stderr, done.stderr
    assert "WRONGPASS" in done.stderr and "APP_PASSWORD" in done.stderr
    file = external(here, owner.url().replace("app@", "app:secret@"))
    done = here.dyno("run", file, "--check")
    assert done.returncode == 2 and "a URL contains a password" in done.stderr


def test_tls_is_what_the_scheme_says(here: Place, owner: Owner) -> None:
    tls = f"rediss://app@127.0.0.1:{owner.server.tls_port}"
    ca = owner.server.directory / "ca.pem"
    copy = here.path / "ca.pem"
    copy.write_bytes(ca.read_bytes())
    ran(here, external(here, tls, target=f', tls: "ca:{copy}"'))
    done = here.dyno("run", external(here, tls, target=", tls: verify"), "--dir", "q")
    assert done.returncode != 0 and "certificate" in done.stderr, done.stderr
    for url, word in ((owner.url(), "require"), (tls, "off"), (tls, "prefer")):
        done = here.dyno("run", external(here, url, target=f", tls: {word}"), "--check")
        assert done.returncode == 2 and f"`tls: {word}`" in done.stderr, done.stderr


def test_a_server_without_a_password_and_a_node_of_a_cluster(here: Place, tmp_path: Path) -> None:
    socket = here.path / "c.sock"
    words = f"--port 0 --unixsocket {socket} --cluster-enabled yes --dir {tmp_path}"
    process = subprocess.Popen(["redis-server", *words.split()], stdout=subprocess.DEVNULL)
    try:
        assert wait_for(socket.exists)
        file = external(here, f"redis:///?socket={socket}")
        file.write_text(file.read_text().replace(", password_env: APP_PASSWORD", ""))
        done = here.dyno("run", file, "--dir", "r")
        assert done.returncode != 0 and "node of a cluster" in done.stderr, done.stderr
    finally:
        process.terminate()
        process.wait(60)


def test_a_control_connection_does_not_trust_a_certificate_it_cannot_check(owner: Owner) -> None:
    address = ("127.0.0.1", owner.server.tls_port)
    with pytest.raises(ssl.SSLError):
        Client(address, timeout_s=60, tls=ssl.create_default_context())
