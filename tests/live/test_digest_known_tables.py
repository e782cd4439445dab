"""A log of tables with ENUMs, UUIDs, foreign keys, keys that the server makes, unique columns and
JSON documents: as a workload that knows these tables it does what it did, and fails nowhere."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from logged_orders import Application, fill
from logged_shop import PASSWORD, Shop, shop
from round_trip import Classes, assert_shares, classes, new_log, run
from running import Place, place

pytestmark = pytest.mark.live

RIGHTS = "SELECT, INSERT, UPDATE, DELETE"
SESSIONS, ROUNDS = 4, 350


@pytest.fixture(scope="module")
def server() -> Iterator[Shop]:
    with shop("mariadb", RIGHTS) as there:
        fill(there)
        yield there


@pytest.fixture(scope="module")
def log(server: Shop) -> Path:
    """What the application sent."""
    made = new_log(server, "orders.log")
    applications = [Application(server, number) for number in range(SESSIONS)]
    threads = [threading.Thread(target=each.work, args=(ROUNDS,)) for each in applications]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in applications:
        each.close()
    new_log(server, "idle.log")
    return made


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


HANDED = re.compile(r"last_insert_id\(\)|@new_\w+")
PLAIN = re.compile(r"values\(\?(?:, \?)*\)")
HOT = (
    r"FROM customers WHERE id = '([^']*)'",
    r"INTO orders \([^)]*\) VALUES \('([^']*)'",
    r"stock - 1 WHERE id = '?(\d+)",
)


def alike(found: Classes) -> Classes:
    """Classes, where what is handed on counts as a value."""
    counts: Counter[str] = Counter()
    for name, one in found.items():
        counts[PLAIN.sub("values(?+)", HANDED.sub("?", name))] += one["count"]
    return {name: {"count": count} for name, count in counts.items()}


def hottest(log: Path, pattern: str) -> tuple[float, int]:
    """The share of the key that is asked for most, and how often any is."""
    counts = Counter(re.findall(pattern, log.read_text(errors="replace")))
    return max(counts.values()) / counts.total(), counts.total()


def made(here: Place, server: Shop, log: Path, *options: object) -> tuple[Path, str]:
    """The log's workload, made with the server's schema, and the terminal's output."""
    file = here.path / "again.yaml"
    of = ("--schema-of", server.url, "--password-env", "APP_PASSWORD")
    done = here.dyno("digest", log, "--workload", file, "--user", "app", *of, *options)
    assert done.returncode == 0, done.stderr
    return file, done.stderr


def test_a_workload_that_knows_the_schema_does_what_the_log_did(
    server: Shop, here: Place, log: Path
) -> None:
    file, said = made(here, server, log, "--keep-paths")
    assert "Carried over: 99." in said or "Carried over: 100" in said, said
    assert "example.com" not in file.read_text() and "Name1" not in file.read_text()
    again = new_log(server, "orders-again.log")
    chosen = ("app.rate=500/s", "app.arrivals=poisson", "seed=1")
    trial = run(here, server, file, *(part for word in chosen for part in ("--set", word)))
    new_log(server, "idle.log")
    metrics = trial["metrics"]
    assert metrics["failed_share"] == 0.0
    assert metrics["errors_per_s"] < 0.01 * metrics["transactions_per_s"], metrics
    assert_shares(alike(classes(here, log)), alike(classes(here, again)), repeats=4)
    for pattern in HOT:
        (was, n), (is_, m) = hottest(log, pattern), hottest(again, pattern)
        chance = 2 * math.sqrt(was * (1 - was) * (1 / n + 1 / m))
        assert abs(is_ - was) < was / 3 + chance, (pattern, was, is_)
    orphans = "FROM shop.orders o LEFT JOIN shop.events e ON e.order_id = o.id AND e.kind = 'made'"
    [[left]] = server.own(f"SELECT COUNT(*) {orphans} WHERE e.order_id IS NULL AND o.id > 1500")
    assert left == 0  # each order has its own event: its key was handed on


def test_what_will_fail_is_said_before_it_is_run(server: Shop, here: Place, log: Path) -> None:
    file = here.path / "plain.yaml"
    done = here.dyno("digest", log, "--workload", file, "--user", "app", "--keep-paths")
    assert done.returncode == 0, done.stderr
    text = file.read_text().replace("SELECT name, tier FROM", "SELECT name, level FROM")
    file.write_text(text)
    words = [f"db.url={server.url}", "db.password_env=APP_PASSWORD"]
    chosen = [part for word in words for part in ("--set", word)]
    looked = here.dyno("run", file, *chosen, "--dry-run", "--with-schema")
    assert looked.returncode == 0, looked.stderr
    for said in (
        "`orders.status` does not take: it will fail",
        "`orders.customer_id` must hold a key of `customers.id`",
        "Unknown column 'level'",
    ):
        assert said in looked.stdout, looked.stdout
    line = text[: text.index("SELECT name, level")].count("\n") + 1
    assert f"plain.yaml:{line}:" in looked.stdout, looked.stdout
    checked = here.dyno("run", file, *chosen, "--check", "--with-schema")
    assert checked.returncode == 2
    assert f"plain.yaml:{line}:" in checked.stderr, checked.stderr
    assert "Unknown column 'level'" in checked.stderr, checked.stderr
    alone = here.dyno("run", file, *chosen, "--check")
    assert "is a made-up text, and the statement searches rows" in alone.stderr, alone.stderr
    told, _ = made(here, server, log, "--keep-paths")
    clean = here.dyno("run", told, *chosen, "--dry-run", "--with-schema")
    assert clean.returncode == 0 and "warning:" not in clean.stdout, clean.stdout


def test_each_user_may_have_a_group(server: Shop, here: Place, log: Path) -> None:
    file = here.path / "users.yaml"
    of = ("--schema-of", server.url, "--password-env", "APP_PASSWORD")
    done = here.dyno("digest", log, "--workload", file, "--by-user", "--keep-paths", *of)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    groups = re.findall(r"^  (app_\w+):$", text, re.MULTILINE)
    assert "app_app" in groups and len(groups) == len({*groups}), text
    checked = here.dyno("run", file, "--check")
    assert checked.returncode == 0, checked.stderr
