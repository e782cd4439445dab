"""External servers, by URL and with the documented grants only: read, loaded, set, left.

Each is a private server in the role of a customer's. What a run may leave on one is nothing.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import CORE, SERVERS
from running import Place, complete_trials, has, place, wait_for
from servers_there import PASSWORD, ROWS, There, there

from dbdyno.execute.servers.ledger import FILE

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

EXPERIMENT = """
experiment: there
targets:
  db: {{url: "{url}", password_env: APP_PASSWORD{target}}}
workload: {{kind: oltp, preset: {preset}, tables: {tables}, rows: {rows}, sessions: 2, think: 2ms}}
factors:
  {factor}
blocks: 1
warmup: 0s
duration: {duration}
interval: 200ms
"""
SETTINGS = {"mariadb": "max_connect_errors", "mysql": "max_connect_errors", "postgres": "work_mem"}
VALUES = {"postgres": ("1MB", "2MB")}


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    with there(request.param) as made:
        yield made


# What hardly depends on the member of a family is tried on one of each.
either = pytest.mark.parametrize("server", CORE, indirect=True)


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def experiment(here: Place, server: There, target: str = "", **words: object) -> Path:
    """An experiment on the server; `target` is added to its target's mapping."""
    values = {
        "preset": "point_select",
        "tables": 2,
        "rows": ROWS,
        "factor": "workload.sessions: [1, 2]",
        "duration": "400ms",
        **words,
    }
    return here.experiment(EXPERIMENT.format(url=server.url, target=target, **values))


def setting_factor(server: There) -> str:
    name = SETTINGS[server.kind]
    low, high = VALUES.get(server.kind, (11, 12))
    return (
        f"level: {{low: {{db.config: {{{name}: {low}}}}}, high: {{db.config: {{{name}: {high}}}}}}}"
    )


def settable(here: Place, server: There, **words: object) -> Path:
    """An experiment that sets a setting, and the grants for it."""
    server.grant(*server.own_schema(), *server.settable(SETTINGS[server.kind]))
    return experiment(
        here, server, ", may: {set_global: yes}", factor=setting_factor(server), **words
    )


def records(run: Path) -> list[dict]:
    return [json.loads(text) for _, text in sorted(complete_trials(run).items())]


def test_reading_what_is_there_takes_select_and_touches_nothing(here: Place, server: There) -> None:
    server.grant(*server.read_only())
    before, schemas = server.all_settings(), server.schemas()
    file = experiment(here, server, ", data: {existing: shop}", duration="60s")
    done = here.dyno_until(has(1), "run", file, "--dir", "r", "--json")
    assert done.returncode == 0, done.stderr
    assert server.all_settings() == before and server.schemas() == schemas
    found = records(here.path / "r")
    assert len(found) == 2
    for record in found:
        assert record["metrics"]["transactions_per_s"] > 0
        assert record["metrics"]["errors_per_s"] == 0
        assert record["targets"]["db"]["kind"] == server.kind
    # A busy machine may begin to sample one when it is over.
    assert any(name.startswith("status.") for record in found for name in record["metrics"])
    plan = json.loads((here.path / "r/trials/b01-t001/plan.json").read_text())
    assert plan["targets"]["db"]["read_only"] is True
    manifest = json.loads((here.path / "r/manifest.json").read_text())
    assert server.server.version in str(manifest["environment"]["servers"])
    assert "own sessions" in done.stderr
    assert not secrets_in(here) and PASSWORD not in done.stdout + done.stderr


def secrets_in(here: Place) -> list[str]:
    return [
        str(file)
        for file in here.path.rglob("*")
        if file.is_file() and PASSWORD.encode() in file.read_bytes()
    ]


@either
def test_tables_that_are_missing_or_too_small_are_named(here: Place, server: There) -> None:
    server.grant(*server.read_only())
    for words, message in (
        ({"tables": 3}, "sbtest3"),
        ({"rows": ROWS + 1}, f"the highest id in shop.sbtest1 at 127.0.0.1:{server.server.port}"),
    ):
        file = experiment(here, server, ", data: {existing: shop}", **words)
        # Two that begin within one second would go by one name.
        done = here.dyno("run", file, "--dir", here.path / next(iter(words)))
        assert done.returncode == 2 and message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_a_schema_of_ours_takes_few_grants_and_is_gone_afterwards(
    here: Place, server: There
) -> None:
    server.grant(*server.own_schema())
    before = server.schemas()
    file = experiment(here, server, preset="read_write", tables=1, duration="60s")
    done = here.dyno_until(has(1), "run", file, "--dir", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("creating schema dbdyno_") == 2  # data is restored for each trial
    assert all(record["metrics"]["transactions_per_s"] > 0 for record in records(here.path / "r"))
    assert server.schemas() == before
    assert not (here.path / "r" / FILE).exists()


@either
def test_without_the_grant_it_is_named(here: Place, server: There) -> None:
    server.grant(*server.read_only())
    done = here.dyno("run", experiment(here, server))
    assert done.returncode == 2
    assert "may not create schema" in done.stderr and "GRANT" in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_are_put_back_at_the_end(here: Place, server: There) -> None:
    name = SETTINGS[server.kind]
    file = settable(here, server)
    before = server.all_settings()
    done = here.dyno("run", file, "--dir", "r")
    assert done.returncode == 0, done.stderr
    used = {record["targets"]["db"]["settings"][name] for record in records(here.path / "r")}
    assert used == {str(value) for value in VALUES.get(server.kind, (11, 12))}
    assert server.all_settings() == before
    if server.kind == "postgres":
        rows = server.sql("SELECT sourcefile FROM pg_settings WHERE name = 'work_mem'")
        assert not str(rows[0][0] or "").endswith("auto.conf")


@either
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_settings_and_schemas_are_put_back_however_a_run_ends(
    here: Place, server: There, end: signal.Signals
) -> None:
    file = settable(here, server, duration="20s")
    before, schemas = server.all_settings(), server.schemas()
    process = here.start("run", file, "--dir", "r")
    assert wait_for(lambda: list(here.path.glob("r/trials/*/events.ndjson")), 120)
    assert server.setting(SETTINGS[server.kind]) != before[SETTINGS[server.kind]]
    os.kill(process.pid, end)
    if end == signal.SIGINT:
        time.sleep(0.5)  # two at once would be one
        os.kill(process.pid, end)  # which would wait for the trial
    output = process.communicate(timeout=120)[0]
    if end == signal.SIGKILL:
        assert (here.path / "r" / FILE).exists()
        assert wait_for(lambda: not here.processes())
        # The next run next to it restores what the dead one left.
        other = here.dyno("run", file, "--dir", "s", "--set", "duration=300ms")
        assert other.returncode == 0, other.stderr
        assert "run r was killed" in other.stderr
        assert not (here.path / "r" / FILE).exists()
    else:
        assert process.returncode == 3, output
    assert server.all_settings() == before
    assert server.schemas() == schemas


@either
def test_a_killed_run_is_put_back_by_its_resumption(here: Place, server: There) -> None:
    file = settable(here, server, duration="2500ms")
    before, schemas = server.all_settings(), server.schemas()
    process = here.start("run", file, "--dir", "r")
    assert wait_for(lambda: list(here.path.glob("r/trials/*/events.ndjson")), 120)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    assert wait_for(lambda: not here.processes())
    assert json.loads((here.path / "r" / FILE).read_text())["servers"]
    done = here.dyno("run", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert len(records(here.path / "r")) == 2
    assert server.all_settings() == before and server.schemas() == schemas
    assert not (here.path / "r" / FILE).exists()


@either
def test_a_grant_revoked_in_mid_run_is_said_and_what_could_not_be_put_back(
    here: Place, server: There
) -> None:
    name = SETTINGS[server.kind]
    old = server.setting(name)
    file = settable(here, server, duration="3s")
    process = here.start("run", file, "--dir", "r")
    assert wait_for(lambda: list(here.path.glob("r/trials/*/events.ndjson")), 120)
    server.grant(*server.own_schema())  # and no longer settings
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 2, output
    assert f"`{name}` could not be restored to" in output and "Traceback" not in output
    kept = json.loads((here.path / "r" / FILE).read_text())["servers"][server.url]
    assert name in kept["settings"] and not kept["schemas"]
    server.grant(*server.own_schema(), *server.settable(name))
    done = here.dyno("run", "--resume", "r")
    assert done.returncode == 0, done.stderr
    assert server.setting(name) == old


@either
def test_writing_to_what_is_there_takes_two_words(here: Place, server: There) -> None:
    grants = (
        ["SELECT, UPDATE ON sbtest1 TO app"]
        if server.kind == "postgres"
        else ["SELECT, UPDATE ON shop.* TO app@'127.0.0.1'"]
    )
    server.grant(*grants)
    words = {"preset": "update_index", "tables": 1, "duration": "60s"}
    refused = here.dyno("run", experiment(here, server, ", data: {existing: shop}", **words))
    assert refused.returncode == 2 and "would change `shop`" in refused.stderr
    file = experiment(here, server, ", data: {existing: shop}, may: {write: yes}", **words)
    again = here.dyno("run", file)
    assert again.returncode == 2 and "add `--write-to shop`" in again.stderr
    table = "sbtest1" if server.kind == "postgres" else "shop.sbtest1"
    before = server.sql(f"SELECT sum(k) FROM {table}")
    done = here.dyno_until(has(1), "run", file, "--write-to", "shop", "--dir", "r")
    assert done.returncode == 0, done.stderr
    assert server.sql(f"SELECT sum(k) FROM {table}") != before
    assert server.sql(f"SELECT count(*) FROM {table}") == [(ROWS,)]


@either
def test_a_wrong_password_is_refused_without_repeating_it(here: Place, server: There) -> None:
    here.environment["APP_PASSWORD"] = "wrong-Secret:4712"
    done = here.dyno("run", experiment(here, server, ", data: {existing: shop}"))
    assert done.returncode == 2
    assert "refuses user app" in done.stderr and "APP_PASSWORD" in done.stderr
    assert "4712" not in done.stderr + done.stdout and "Traceback" not in done.stderr


def test_a_setting_that_is_fixed_names_the_way(here: Place, server: There) -> None:
    fixed = "shared_buffers" if server.kind == "postgres" else "innodb_page_size"
    server.grant(*server.own_schema(), *server.settable(SETTINGS[server.kind]))
    before = server.schemas()
    target = f", may: {{set_global: yes}}, config: {{{fixed}: 8192}}"
    done = here.dyno("run", experiment(here, server, target))
    assert done.returncode == 2 and f"`{fixed}` cannot be set" in done.stderr, done.stderr
    assert "hooks" in done.stderr and "Traceback" not in done.stderr
    assert server.schemas() == before


SETUP = """
experiment: set-up
targets:
  db:
    url: "{url}"
    password_env: APP_PASSWORD
    setup:
      tables:
        users:
          rows: 500
          columns:
            id: {{type: bigint, sequence: 1, key: primary}}
            city: {{type: int, uniform: [1, 9]}}
      after: ["UPDATE users SET city = 3 WHERE id = 1"]
{files}
groups:
  app:
    kind: mix
    sessions: 2
    params:
      id: {{uniform: [1, 500]}}
      city: {{column: users.city}}
    statements:
      find: {{sql: "SELECT id FROM users WHERE id = :id", weight: 9, expect: {{rows: 1}}}}
      move: "UPDATE users SET city = :city WHERE id = :id"
blocks: 1
warmup: 0s
duration: 60s
interval: 200ms
"""


def set_up(here: Place, server: There, sql: str = "") -> Path:
    """An experiment that declares tables; with `sql`, which it takes from a file, too."""
    server.grant(*server.own_schema())
    (here.path / "more.sql").write_text(sql)
    files = "      sql: [more.sql]" if sql else ""
    return here.experiment(SETUP.format(url=server.url, files=files))


def test_declared_tables_are_loaded_into_a_schema_of_ours(here: Place, server: There) -> None:
    file, before = set_up(here, server), server.schemas()
    done = here.dyno_until(has(1), "run", file, "--dir", "r", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = records(here.path / "r")
    assert record["metrics"]["errors_per_s"] == 0 < record["metrics"]["transactions_per_s"]
    assert server.schemas() == before


@pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)  # PostgreSQL takes none
def test_files_of_sql_stay_in_a_schema_of_ours(here: Place, server: There) -> None:
    before = server.schemas()
    good = "CREATE TABLE `odd-name` (id INT PRIMARY KEY); INSERT INTO `odd-name` VALUES (1);\n"
    done = here.dyno_until(has(1), "run", set_up(here, server, good), "--dir", "r")
    assert done.returncode == 0, done.stderr
    bad = good + "INSERT INTO `odd-name` VALUES (2); DROP TABLE shop.sbtest1;\n"
    done = here.dyno("run", set_up(here, server, bad), "--dir", "bad")
    assert done.returncode != 0 and "more.sql:2" in done.stderr, done.stderr
    assert "only ours may be touched" in done.stderr and server.schemas() == before
