"""Logs of loads whose transactions vary, whose keys are texts, whose keys of new rows lie behind
those that are read: as workloads they read and change the rows that they did."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from logged_shop import PASSWORD, Shop, shop
from round_trip import assert_rows, assert_shares, classes, new_log, run
from running import Place, place
from scripted import command

pytestmark = pytest.mark.live

RIGHTS = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX"
TABLES, ROWS = 8, 2000
COVERED = re.compile(r"Carried over: ([\d.]+)% of the calls")


@pytest.fixture(scope="module")
def server() -> Iterator[Shop]:
    with shop("mariadb", RIGHTS) as there:
        yield there


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def sysbench(server: Shop, *words: str) -> None:
    where = (
        "--db-driver=mysql",
        "--mysql-host=127.0.0.1",
        f"--mysql-port={server.server.port}",
        "--mysql-user=app",
        f"--mysql-password={PASSWORD}",
        "--mysql-db=shop",
    )
    of = (f"--tables={TABLES}", f"--table-size={ROWS}", "--threads=4")
    subprocess.run(
        command("oltp_read_write", *where, *of, *words),
        check=True,
        capture_output=True,
        timeout=240,
    )


def made(here: Place, log: Path, *options: str) -> tuple[Path, str]:
    """The workload of a log, and the terminal's output of it."""
    file = here.path / "again.yaml"
    done = here.dyno("digest", log, "--workload", file, "--user", "app", *options)
    assert done.returncode == 0, done.stderr
    return file, done.stderr


def covered(said: str) -> float:
    found = COVERED.search(said)
    assert found is not None, said
    return float(found[1])


def test_sysbench_comes_back_though_its_transactions_are_all_different(
    server: Shop, here: Place
) -> None:
    sysbench(server, "prepare")
    log = new_log(server, "oltp.log")
    sysbench(server, "--events=600", "--time=0", "--db-ps-mode=disable", "run")
    again = new_log(server, "again.log")
    file, said = made(here, log)
    assert covered(said) >= 95, said
    looked = here.dyno("run", file, "--dry-run")
    assert looked.returncode == 0 and "add --write-to shop" in looked.stdout, looked.stderr
    trial = run(here, server, file)
    errors = trial["metrics"]["errors_per_s"]
    assert errors <= 0.01 * trial["metrics"]["operations_per_s"], trial["metrics"]
    before, after = classes(here, log), classes(here, again)
    assert len(before) == 9 * TABLES
    assert_shares(before, after, repeats=10)
    assert_rows(before, after)


PRODUCTS = ("books", "music", "games", "garden", "tools")
ASIDE = ("coupons", "addresses", "cards", "notes")


def test_a_shop_whose_orders_are_all_different_comes_back(server: Shop, here: Place) -> None:
    """Orders of one to six lines, each of a product of one of five tables, after reads of some of
    four others in any order."""
    for table in (*PRODUCTS, *ASIDE):
        server.own(f"CREATE TABLE shop.{table} (id INT PRIMARY KEY, n INT)")
        server.own(f"INSERT INTO shop.{table} SELECT seq, 1000000 FROM shop.seq_1_to_500")
    for table in ("orders", "orderlines"):
        server.own(f"CREATE TABLE shop.{table} (id INT AUTO_INCREMENT PRIMARY KEY, of INT)")
    log = new_log(server, "shop.log")
    send, drawn = server.session(), random.Random(1)
    for _ in range(700):
        send("BEGIN")
        for table in drawn.sample(ASIDE, drawn.randint(0, len(ASIDE))):
            send(f"SELECT n FROM {table} WHERE id = {drawn.randint(1, 500)}")
        send(f"INSERT INTO orders (of) VALUES ({drawn.randint(1, 500)})")
        for _ in range(drawn.randint(1, 6)):
            table, product = drawn.choice(PRODUCTS), drawn.randint(1, 500)
            send(f"SELECT n FROM {table} WHERE id = {product}")
            send(f"UPDATE {table} SET n = n - 1 WHERE id = {product}")
            send(f"INSERT INTO orderlines (of) VALUES ({product})")
        send("COMMIT")
    again = new_log(server, "shop-again.log")
    file, said = made(here, log)
    assert covered(said) >= 95, said
    trial = run(here, server, file)
    assert trial["metrics"]["errors_per_s"] == 0
    before, after = classes(here, log), classes(here, again)
    assert_shares(before, after, repeats=12)
    assert_rows(before, after)


def test_keys_of_new_rows_and_of_those_that_are_read_stay_apart(server: Shop, here: Place) -> None:
    """As the study `many-instances` does: sessions count upwards from a thousand million on, each
    for itself, and others read the existing rows."""
    for table in "abcd":
        server.own(f"CREATE TABLE shop.{table} (id BIGINT PRIMARY KEY, filler CHAR(20))")
    rows = ", ".join(f"({key}, 'x')" for key in range(1, ROWS + 1))
    server.own(f"INSERT INTO shop.b VALUES {rows}")
    log = new_log(server, "apart.log")
    sessions = [server.session() for _ in range(6)]
    drawn = random.Random(1)
    for n in range(1200):
        number = drawn.randrange(len(sessions))
        key = 1_000_000_001 + 100_000 * number + n
        send = sessions[number]
        if n % 31 == 0:  # 39 keys: fewer than twenty do not show that they count upwards
            send(f"INSERT INTO a (id, filler) VALUES ({key}, 'y')")
            continue
        send("BEGIN")
        send(f"INSERT INTO b (id, filler) VALUES ({key}, 'y')")
        send(f"INSERT INTO {'d' if n % 20 == 0 else 'c'} (id, filler) VALUES ({key}, 'y')")
        send("COMMIT")
        send(f"SELECT filler FROM b WHERE id = {drawn.randint(1, ROWS)}")
    again = new_log(server, "apart-again.log")
    file, said = made(here, log)
    assert covered(said) >= 95, said
    trial = run(here, server, file)
    assert trial["metrics"]["errors_per_s"] == 0
    before, after = classes(here, log), classes(here, again)
    assert_shares(before, after, repeats=2)
    assert_rows(before, after)
    [reads] = [one for name, one in after.items() if name.startswith("select filler from b")]
    assert reads["measures"]["rows_sent"]["mean"] == 1.0


def test_keys_that_are_texts_or_far_apart_are_the_tables_own(server: Shop, here: Place) -> None:
    server.own(
        "CREATE TABLE shop.people (mail VARCHAR(60) PRIMARY KEY, number BIGINT UNIQUE, visits INT)"
    )
    keys = [(f"someone-{n}@example.com", 7 + n * 9_999_991) for n in range(400)]
    rows = ", ".join(f"('{mail}', {number}, 0)" for mail, number in keys)
    server.own(f"INSERT INTO shop.people VALUES {rows}")
    server.own("CREATE TABLE shop.visits (id INT PRIMARY KEY, n INT)")
    server.own("INSERT INTO shop.visits SELECT seq, seq FROM shop.seq_0_to_5000")
    log = new_log(server, "keys.log")
    send, drawn = server.session(), random.Random(1)
    for n in range(900):
        mail, number = drawn.choice(keys)
        send(f"SELECT visits FROM people WHERE mail = '{mail}'")
        send(f"SELECT mail FROM people WHERE number = {number}")
        if n % 3 == 0:
            send(f"UPDATE people SET visits = visits + 1 WHERE mail = '{mail}'")
        if n % 4 == 0:
            send(
                f"SELECT v.n FROM visits v JOIN people p ON v.id = p.visits WHERE p.mail = '{mail}'"
            )
    again = new_log(server, "keys-again.log")
    file, said = made(here, log)
    assert "of the calls look for keys that cannot be made up" in said
    assert "people.mail, people.number" in said, said
    assert "example.com" not in file.read_text()
    run(here, server, file)
    before, after = classes(here, log), classes(here, again)
    assert_rows(before, after)
