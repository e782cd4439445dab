"""A log becomes a workload, the workload is run, and its log has the same: classes, shares of
calls, what goes with what, ratios between tables, hot keys, widths of ranges, lengths of lists. On
MariaDB's slow log and PostgreSQL's log of lines."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from logged_shop import PASSWORD, Shop, shop
from private_servers import CORE
from round_trip import assert_rows, classes
from ruamel.yaml import YAML
from running import Place, has, place

from dbdyno.installed import find

pytestmark = pytest.mark.live

SECRET = "Zephyrine"  # is in texts that are sent; nothing of it may come out
ID = {"mariadb": "INT AUTO_INCREMENT PRIMARY KEY", "postgres": "SERIAL PRIMARY KEY"}
KEYS = 300
SESSIONS, ROUNDS = 4, 2
# Draws differ by so many standard deviations once in a million times.
SURE = 5
WIDTHS, LENGTHS = (10, 10, 10, 10, 50), range(1, 21)  # rows of ranges, keys of lists
OURS = re.compile(r"(select|insert|update) .*\b(a|b|c|d|users)\b")  # not: EXPLAIN, asked by dyno


def rows_in(server: Shop, table: str) -> int:
    return int(server.own(f"SELECT count(*) FROM {server.name(table)}")[0][0])


@pytest.fixture(scope="module", params=CORE)
def server(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop(request.param, "SELECT, INSERT, UPDATE") as there:
        for table in "abcd":
            there.own(
                f"CREATE TABLE {there.name(table)}"
                f" (id {ID[request.param]}, n INT, note VARCHAR(40))"
            )
        there.own(f"CREATE TABLE {there.name('users')} (id INT PRIMARY KEY, visits INT)")
        rows = ", ".join(f"({key}, 0)" for key in range(1, KEYS + 1))
        there.own(f"INSERT INTO {there.name('users')} VALUES {rows}")
        there.give("a", "b", "c", "d", "users")
        yield there


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def drive(server: Shop) -> None:
    """For each insert into a, 100 into b, 95 into c and 5 into d, each b with one c or d that has
    its number; and reads and updates of rows of which some are hot, of ranges and lists."""
    weights = [1 / key for key in range(1, KEYS + 1)]

    def work(number: int) -> None:
        drawn, run = random.Random(number), server.session()

        def key() -> int:
            return drawn.choices(range(1, KEYS + 1), weights)[0]

        def insert(table: str, number: int) -> None:
            note = f"{SECRET}-{drawn.randrange(10**6):06}"
            run(f"INSERT INTO {table} (n, note) VALUES ($1, $2)", number, note)

        for _ in range(ROUNDS):
            insert("a", drawn.randrange(1000))
            for pair in range(100):
                alike = drawn.randrange(1000)
                insert("b", alike)
                insert("d" if pair % 20 == 7 else "c", alike)
                if pair % 2 == 0:
                    wide = drawn.choice(WIDTHS)
                    low = drawn.randint(1, KEYS - wide)
                    run("SELECT id FROM users WHERE id >= $1 AND id < $2", low, low + wide)
                run("SELECT visits FROM users WHERE id = $1", key())
                if pair % 3 == 0:
                    keys = drawn.choices(range(1, KEYS + 1), k=drawn.choice(LENGTHS))
                    places = ", ".join(f"${n}" for n in range(1, len(keys) + 1))
                    run(f"SELECT id, visits FROM users WHERE id IN ({places})", *keys)
                if pair % 10 == 0:
                    run("BEGIN")
                    run("UPDATE users SET visits = visits + $1 WHERE id = $2", 1, key())
                    run("SELECT count(*) FROM users WHERE visits < $1", drawn.randrange(50))
                    run("COMMIT")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.wait_until_logged()


def shape(log: Path, *options: str) -> dict[str, Any]:
    made = subprocess.run(
        [find(), "digest", "--shape", "--user=app", *options, log],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return json.loads(made.stdout.splitlines()[-1])["shape"]


def calls(here: Place, log: Path, *options: str) -> dict[str, int]:
    """Calls of each class that works with the tables, by fingerprint."""
    done = here.dyno("digest", log, "--json", "--limit", "all", "--user", "app", *options)
    assert done.returncode == 0, done.stderr
    return {
        one["fingerprint"]: one["count"]
        for one in json.loads(done.stdout)["classes"]
        if OURS.match(one["fingerprint"])
    }


def units(found: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """How often each unit came, by the templates of its steps."""
    templates = [one["template"] for one in found["statements"]]
    ours = {n for n, text in enumerate(templates) if OURS.match(text.lower())}
    counted: dict[tuple[str, ...], int] = {}
    for unit in found["units"]:
        steps = [step["statement"] for step in unit["steps"]]
        if ours.issuperset(steps):
            key = tuple(re.sub(r":p\d+", "?", templates[step]).lower() for step in steps)
            counted[key] = counted.get(key, 0) + unit["count"]
    return counted


def ties(found: dict[str, Any]) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    """Places of inserts that hold the same value: (table, place) twice, the earlier one first."""
    tables = [
        (re.findall(r"insert into (\w)", one["template"].lower()) or ["?"])[0]
        for one in found["statements"]
    ]
    all_ = {
        ((tables[tie["earlier"]], tie["earlier_place"]), (tables[tie["statement"]], tie["place"]))
        for tie in found["ties"]
    }
    return {tie for tie in all_ if {tie[0][0], tie[1][0]} <= set("abcd")}


def hottest(found: dict[str, Any]) -> tuple[float, int]:
    """Share of the hottest key of the reads, and how many there are."""
    templates = [one["template"].lower() for one in found["statements"]]
    [at] = [n for n, text in enumerate(templates) if text.startswith("select visits")]
    one = found["statements"][at]
    return one["parameters"][0]["hot"][0], one["count"]


def one_of(found: dict[str, Any], begins: str) -> dict[str, Any]:
    [one] = [one for one in found["statements"] if one["template"].lower().startswith(begins)]
    return dict(one)


def widths(found: dict[str, Any]) -> dict[str, Any]:
    [one] = one_of(found, "select id from users where id >=")["ranges"]
    assert (one["low"], one["high"]) == (1, 2)
    return dict(one["widths"])


def lengths(found: dict[str, Any]) -> dict[str, Any]:
    [one] = one_of(found, "select id, visits from users where id in")["lists"]
    assert (one["place"], one["places"]) == (1, 1)
    return dict(one["lengths"])


def alike(first: dict[str, Any], second: dict[str, Any], drawn: Sequence[int]) -> None:
    """Whether two spreads have the mean of what they were drawn from, which both represent."""
    mean = sum(drawn) / len(drawn)
    deviation = math.sqrt(sum((one - mean) ** 2 for one in drawn) / len(drawn))
    for found in (first, second):
        again = sum(map(float.__mul__, found["values"], found["shares"]))
        within = SURE * deviation * math.sqrt(1 / first["count"] + 1 / found["count"])
        assert abs(again - mean) <= within, (mean, found)
    assert {min(second["values"]), max(second["values"])} <= set(drawn)


def test_a_workload_of_a_log_gives_its_digest_back(server: Shop, here: Place) -> None:
    began = int(time.time())
    drive(server)
    first = shape(server.log, f"--since={began}")
    before = calls(here, server.log, "--since", began)
    file = here.path / "out.yaml"
    since = ("--since", began, "--user", "app")
    done = here.dyno("digest", server.log, "--workload", file, *since)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    assert SECRET not in text and "--write-to shop" in text and "Carried over: " in text

    # An answer with other numbers of rows than ranges had is an error, of which there must be none.
    expected = f"expect: {{rows: [{min(WIDTHS)}, {max(WIDTHS)}]}}"
    text, ranges = re.subn(
        r'(sql: "SELECT id FROM users WHERE id >= [^"]*")', rf"\1, {expected}", text
    )
    assert ranges == 1
    file.write_text(text)

    looked = here.dyno("run", file, "--dry-run")
    assert looked.returncode == 0 and "add --write-to shop" in looked.stdout
    refused = here.dyno("run", file)
    assert refused.returncode == 2 and "--write-to shop" in refused.stderr
    time.sleep(1.1)  # the slow log's clock has whole seconds
    then = math.ceil(time.time())
    time.sleep(max(0.0, then - time.time()))
    rows = {table: rows_in(server, table) for table in "abcd"}
    words = [f"db.url={server.url}", "db.password_env=APP_PASSWORD", "duration=2m", "warmup=0s"]
    chosen = [part for word in words for part in ("--set", word)]
    # The rarest unit is one of 300: it comes up 30 times, however long that takes.
    run = here.dyno_until(has(10_000), "run", file, *chosen, "--write-to", "shop", "--dir", "r")
    assert run.returncode == 0, run.stderr
    [trial] = here.path.glob("r/trials/*/trial.json")
    assert json.loads(trial.read_text())["metrics"]["errors_per_s"] == 0
    server.wait_until_logged()

    second = shape(server.log, f"--since={then}")
    after = calls(here, server.log, "--since", str(then))
    # The same classes, in the same proportions: draws of units of at most two statements.
    assert after.keys() == before.keys()
    all_before, all_after = sum(before.values()), sum(after.values())
    assert all_after > 500, after
    for name, count in before.items():
        share = count / all_before
        within = SURE * math.sqrt(2 * share * (1 - share) / all_after)
        assert abs(after[name] / all_after - share) <= within, (name, before, after)
    # What goes with what, and the ratios: each b with one c or d.
    units_before, units_after = units(first), units(second)
    pairs = SESSIONS * ROUNDS * 100
    counts = sorted(units_before.values())
    lists = SESSIONS * ROUNDS * 34
    rare = [SESSIONS * ROUNDS, pairs // 20, pairs // 10, lists]
    assert counts == [*rare, pairs // 2, pairs * 19 // 20, pairs]
    assert units_after.keys() == units_before.keys()
    total = sum(units_after.values())
    for unit, count in units_before.items():
        share = count / sum(units_before.values())
        within = SURE * math.sqrt(share * (1 - share) / total) + 4 / total  # a session's last one
        assert abs(units_after[unit] / total - share) <= within, (unit, units_before, units_after)
    both = {(("b", 1), ("c", 1)), (("b", 1), ("d", 1))}
    assert ties(first) == ties(second) == both
    added = {table: rows_in(server, table) - rows[table] for table in "abcd"}
    groups = YAML(typ="safe").load(file)["groups"].values()
    cut = sum(group.get("sessions", SESSIONS) for group in groups)  # a session's last unit
    assert abs(added["b"] - added["c"] - added["d"]) <= cut and min(added.values()) > 0, groups
    # The hottest key is as hot as it was.
    (share, many), (again, more) = hottest(first), hottest(second)
    within = SURE * math.sqrt(share * (1 - share) * (1 / many + 1 / more))
    assert abs(again - share) <= within, (share, again)
    # Ranges are as wide as they were, and lists as long.
    alike(widths(first), widths(second), WIDTHS)
    alike(lengths(first), lengths(second), LENGTHS)
    if server.kind == "mariadb":  # PostgreSQL does not log rows
        assert_rows(
            classes(here, server.log, "--since", began, "--until", then),
            classes(here, server.log, "--since", then),
        )
    # And the log of the workload makes the same workload.
    twice = here.path / "twice.yaml"
    done = here.dyno("digest", server.log, "--workload", twice, "--since", then, "--user", "app")
    assert done.returncode == 0, done.stderr
    assert statements(twice) == statements(file)


def statements(file: Path) -> set[tuple[str, ...]]:
    """The statements that go together, without the names of their parameters."""
    found = set()
    for group in YAML(typ="safe").load(file)["groups"].values():
        alone = [[one] for one in group.get("statements", {}).values()]
        together = [one["steps"] for one in group.get("transactions", {}).values()]
        for steps in [*alone, *together]:
            texts = tuple(re.sub(r":\w+", "?", step["sql"]).lower() for step in steps)
            if all(map(OURS.match, texts)):  # dyno's own queries of the server are in its log, too
                found.add(texts)
    return found


@pytest.mark.parametrize("server", ["mariadb"], indirect=True)
def test_a_censored_log_is_refused_unless_accepted(server: Shop, here: Place) -> None:
    server.own("SET GLOBAL long_query_time = 0.5, slow_query_log_file = 'censored.log'")
    run = server.session()
    for _ in range(3):
        run("SELECT sleep(0.505)")
    run("SELECT 1")  # the server logs a statement after its answer, before the session's next one
    server.own("SET GLOBAL slow_query_log = OFF")
    log = next(iter(server.directory.rglob("censored.log")))
    head, *events = re.split(r"(?m)^(?=# User@Host)", log.read_text())
    # A busy machine sleeps longer.
    timed = (re.sub(r"Query_time: [\d.]+", "Query_time: 0.505000", event) for event in events)
    slept = [event for event in timed if "sleep(0.505)" in event]
    assert len(slept) == 3
    many = log.with_name("many.log")
    many.write_text(head + "".join(slept) * 40)
    file = here.path / "out.yaml"
    refused = here.dyno("digest", many, "--workload", file)
    assert refused.returncode == 2 and "--accept-censored" in refused.stderr, refused.stderr
    assert not file.exists()
    taken = here.dyno("digest", many, "--workload", file, "--accept-censored")
    assert taken.returncode == 0, taken.stderr
    assert "CENSORED" in file.read_text()
