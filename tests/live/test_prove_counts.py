"""`dyno prove --on URL --for TIME`: the workload is what the server counts meanwhile, and its
values are those of the data."""

from __future__ import annotations

import functools
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import servers_there
from running import Place, wait_for
from servers_there import PASSWORD, There

from dbdyno.cli.proving import counting
from dbdyno.cli.terminal import login
from dbdyno.digest.servers import watch
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.workloads import mix

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

NEEDLE = "needle-4711"
CONFIG = {
    "mariadb": {"performance_schema": "ON"},
    "postgres": {"shared_preload_libraries": "pg_stat_statements"},
}
TABLE = (
    "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, created DATE NOT NULL,"
    " note VARCHAR(60) NOT NULL)"
)
ROWS, WIDTH, CUSTOMERS_ROWS = 4000, 19, 20
_DAY = {
    "mariadb": "DATE_ADD('2020-01-01', INTERVAL n % 1000 DAY)",
    "postgres": "DATE '2020-01-01' + n % 1000",
}
_NUMBERS = {
    "mariadb": f"(SELECT seq AS n FROM seq_1_to_{ROWS}) AS s",
    "postgres": f"generate_series(1, {ROWS}) AS n",
}


@contextmanager
def sending(server: There) -> Iterator[Callable[[str], object]]:
    """A session in the database `shop`."""
    if server.kind == "postgres":
        session = server.server._connect("shop", 60)
        try:
            yield session.execute_simple
        finally:
            session.close()
        return
    connection = server.server.connection(60)
    try:
        connection.select_db("shop")
        connection.autocommit(True)
        yield connection.query
    finally:
        connection.close()


def filled(server: There) -> None:
    day, numbers = _DAY[server.kind], _NUMBERS[server.kind]
    with sending(server) as send:
        send(TABLE)
        send(f"INSERT INTO orders SELECT n, n % 200, {day}, '{NEEDLE}' FROM {numbers}")
    if server.kind == "postgres":
        server.sql("CREATE EXTENSION pg_stat_statements", "ANALYZE orders")
        server.grant("pg_read_all_stats TO app", *server.read_only())
    else:
        server.grant("SELECT ON performance_schema.* TO app@'127.0.0.1'", *server.read_only())


def statements(drawn: random.Random) -> Iterator[str]:
    """What the application of the shop sends, with values of its own."""
    customer, first = drawn.randrange(200), drawn.randrange(1, ROWS - 50)
    for _ in range(6):
        yield f"SELECT id, created FROM orders WHERE customer_id = {customer}"
    yield f"SELECT created FROM orders WHERE id BETWEEN {first} AND {first + WIDTH}"
    yield f"UPDATE orders SET note = '{NEEDLE}' WHERE id = {first}"
    yield f"SELECT COUNT(*) FROM orders WHERE note LIKE '%{NEEDLE}'"


@contextmanager
def used(
    server: There, until: Path, sent: Callable[[random.Random], Iterable[str]] = statements
) -> Iterator[None]:
    """The server under its application's load, until a file is there or the block is over. It
    begins after the first round of statements; between two samples that this process takes are two
    rounds at least, however long the server takes for them."""
    drawn, over = random.Random(4), threading.Event()
    rounds = 0

    def load_it() -> None:
        nonlocal rounds
        with sending(server) as send:
            while not over.wait(0.02) and not until.exists():
                for sql in sent(drawn):
                    send(sql)
                rounds += 1

    def sleep(seconds: float) -> None:
        before = rounds
        time.sleep(seconds)
        assert wait_for(lambda: rounds >= before + 2 or not sender.is_alive())

    sender = threading.Thread(target=load_it)
    sender.start()
    try:
        assert wait_for(lambda: rounds)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(watch, "sample", functools.partial(watch.sample, sleep=sleep))
            yield
    finally:
        over.set()
        sender.join()


@pytest.fixture(scope="module", params=["mariadb", "postgres"])
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    with servers_there.there(request.param, **CONFIG[request.param]) as made:
        filled(made)
        yield made


def typed(server: There, **more: Any) -> dict[str, Any]:
    """Options of `dyno prove`."""
    usual = {
        "on": server.url, "for_": "1s", "every": "500ms", "logs": (), "workload": None, "db": None,
        "dry_run": False, "quiet": False, "accepts_censored": False, "accepts_partial": True,
    }  # fmt: skip
    return {**dict.fromkeys(login.NAMES), "password_env": "APP_PASSWORD", **usual, **more}


def test_values_are_those_of_the_data(
    server: There, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    with used(server, tmp_path / "never"):
        made = counting.made(typed(server))
    assert NEEDLE not in made.text
    (gone,) = (one for one in made.coverage.gone if not one.is_ours)
    assert gone.reason == "patterns of LIKE and the like: a column does not tell them"
    assert 0 < gone.time_s < made.coverage.time_s
    (group,) = load(made.text, file=tmp_path / "counts.yaml").cells[0].groups
    sent = [str(one["sql"]) for _, _, one in mix.sent(group.options)]
    assert len(sent) == 3, sent
    params: dict[str, Any] = group.options["params"]
    columns = {one["column"] for one in params.values() if "column" in one}
    assert columns == {"orders.customer_id", "orders.id", "orders.note"}
    assert [one["const"] for one in params.values() if "const" in one] == [WIDTH], params
    # As frequent as the server's counts of rows tell, or else as the rows themselves.
    drawn = {one["column"]: one for one in params.values() if "column" in one}
    met = drawn["orders.customer_id"]["meets"]
    assert met == pytest.approx(CUSTOMERS_ROWS / ROWS, rel=0.2)
    assert drawn["orders.note"]["by_rows"] is True
    assert not {"by_rows", "meets"} & drawn["orders.id"].keys()


def test_little_that_is_carried_over_is_refused(
    server: There, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    with (
        used(server, tmp_path / "never", lambda drawn: [*statements(drawn)][-1:]),
        pytest.raises(DynoError) as raised,
    ):
        counting.made(typed(server, quiet=True))
    assert "nothing in these counts" in raised.value.what
    assert "patterns of LIKE" in raised.value.cause


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
def test_an_index_is_proved_with_what_a_server_counts(server: There, there: Place) -> None:
    there.environment["APP_PASSWORD"] = PASSWORD
    with used(server, there.path / "out.sql"):  # written when all is counted
        done = there.dyno(
            *("prove", "--on", server.url, "--password-env", "APP_PASSWORD"),
            *("--for", "3s", "--every", "1s", "--index", "orders (customer_id)"),
            *("--time", "1s", "--blocks", "1", "--dir", "out", "--json", "--accept-partial"),
        )
    assert done.returncode == 1, done.stderr  # one block shows nothing
    assert "patterns of LIKE" in done.stderr
    (candidate,) = json.loads(done.stdout)["candidates"]
    (served,) = (one["class"] for one in candidate["effects"] if one["of"] == "class")
    (group,) = load(there.path / "out.yaml").cells[0].groups
    sent = {name: str(one["sql"]) for _, name, one in mix.sent(group.options)}
    assert "customer_id" in sent[served.partition("/")[2]]
    # Texts of the data are made up in the copy, and those of the application are nowhere.
    for path in (path for path in there.path.rglob("*") if path.is_file()):
        assert NEEDLE.encode() not in path.read_bytes(), path
        assert PASSWORD.encode() not in path.read_bytes(), path
    assert there.until_clean() == []


def test_counts_without_values_or_statements_are_refused(there: Place) -> None:
    for words, said in (
        (("--for", "1s"), "name it"),
        (("--for", "1s", "--on", "mysql://app@127.0.0.1:1"), "of which database"),
        (("--for", "1s", "--on", "mysql://app@127.0.0.1:1/shop", "--dry-run"), "reads no server"),
        (("--every", "1s"), "--every is for --for"),
    ):
        done = there.dyno("prove", *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
