"""`dyno digest URL` on real servers: what was run is counted, and what is missing is reported."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from private_servers import SERVERS
from running import Place, place, wait_for
from servers_there import PASSWORD, There, there

from dbdyno.digest.servers.identity import identify

pytestmark = pytest.mark.live

CONFIG = {
    "mariadb": {"performance_schema": "ON"},
    "postgres": {"shared_preload_libraries": "pg_stat_statements"},
    "mysql": {},
}
CALLS = 40


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[There]:
    with there(request.param, **CONFIG[request.param]) as made:
        yield made


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        made.environment["APP_PASSWORD"] = PASSWORD
        yield made


def digest(here: Place, server: There, *options: str) -> subprocess.CompletedProcess[str]:
    return here.dyno("digest", server.url, "--password-env", "APP_PASSWORD", *options)


def permit(server: There) -> None:
    if server.kind == "postgres":
        server.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        server.grant("pg_read_all_stats TO app")
    else:
        server.grant("SELECT ON performance_schema.* TO app@'127.0.0.1'")


def test_what_is_missing_is_named(here: Place, server: There) -> None:
    done = digest(here, server, "--for", "1s", "--every", "1s")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    wanted = "CREATE EXTENSION" if server.kind == "postgres" else "GRANT SELECT ON performance_sch"
    assert wanted in done.stderr
    assert PASSWORD not in done.stderr


def test_a_server_elsewhere_must_show_a_certificate(here: Place, server: There) -> None:
    url = server.url.replace("127.0.0.1", "0.0.0.0")  # which leads here, and is no loopback address
    done = here.dyno("digest", url, "--password-env", "APP_PASSWORD")
    assert done.returncode == 2 and "certificate" in done.stderr
    assert "--tls ca:FILE" in done.stderr and "--tls prefer" in done.stderr


def test_what_was_run_between_samples_is_what_is_counted(here: Place, server: There) -> None:
    permit(server)
    run(server, 7)  # before: does not count
    document = watched(here, server, lambda: run(server, CALLS))
    own = [one for one in document["classes"] if is_ours(one)]
    assert [one["count"] for one in own] == [CALLS]
    assert own[0]["query_time"]["sum"] > 0
    assert sum(document["timeline"]["count"]) == document["overall"]["count"]
    assert not any("dbdyno_digest" in one["fingerprint"] for one in document["classes"])
    assert not any("reset" in note for note in document["notes"])
    if server.kind == "mysql":
        assert own[0]["query_time"]["p95"] > 0
    if server.kind == "postgres":
        assert own[0]["query_time"]["stddev"] > 0 and own[0]["databases"] == {"shop": CALLS}
    drawn = here.dyno("digest", "d.json")
    assert drawn.returncode == 0 and "sbtest1" in drawn.stdout


def test_prepared_statements_that_are_not_counted_are_said(here: Place, server: There) -> None:
    """MariaDB omits of its table what clients prepare by the protocol; others do not."""
    permit(server)
    if server.kind == "postgres":
        driver = "pgsql"
        server.grant("pg_read_all_stats TO app", *server.read_only())
    else:
        driver = "mysql"
        server.grant("SELECT ON performance_schema.* TO app@'127.0.0.1'", *server.read_only())
    prepared = (
        *("sysbench", "oltp_point_select", f"--db-driver={driver}", f"--{driver}-host=127.0.0.1"),
        *(f"--{driver}-port={server.server.port}", f"--{driver}-user=app"),
        *(f"--{driver}-password={PASSWORD}", f"--{driver}-db=shop"),
        *("--table-size=100", "--events=2000", "--time=0", "run"),
    )

    def meanwhile() -> None:
        done = here.dyno(*prepared)
        assert done.returncode == 0, done.stdout + done.stderr

    document = watched(here, server, meanwhile)
    notes = " ".join(document["notes"])
    if server.kind == "mariadb":
        assert "2,000 were executions of prepared statements" in notes and "slow log" in notes
    else:
        assert "prepared" not in notes and document["overall"]["count"] >= 2000


def test_a_reset_while_sampling_is_said(here: Place, server: There) -> None:
    permit(server)
    run(server, CALLS)

    def reset() -> None:
        if server.kind == "postgres":
            server.sql("SELECT pg_stat_statements_reset()")
        else:
            server.sql("TRUNCATE performance_schema.events_statements_summary_by_digest")
        run(server, 3)

    document = watched(here, server, reset)
    assert any("reset" in note for note in document["notes"]), document["notes"]


# What an application sends, and whose texts servers keep as they understand them.
SENT = (
    "SELECT c, pad FROM {}sbtest1 WHERE k=5 AND c != 'x' LIMIT 5 OFFSET 10",
    "select count(*), 1, 2 from {}sbtest1 where k in (1,2,3) and k > -5 and pad is null",
    "SELECT k FROM {}sbtest1 WHERE k IN (7)",
    "select a.k from {}sbtest1 a join {}sbtest1 as b on a.id = b.id where a.k between 1 and 9"
    " order by a.k desc limit 10",
    "select c from {}sbtest1 where (id, k) in ((1, 2), (3, 4)) group by c having count(*) > 1",
    "update {}sbtest1 set k = k + 1, c = 'it''s' where id = 1 or pad like 'a%'",
    "insert into {}sbtest1 (id, k, c, pad) values (900001, 1, 'x', 'y'), (900002, 2, null, 'z')",
    "DELETE FROM {}sbtest1 WHERE id IN (900001, 900002) /* of the test */",
)


def test_classes_have_the_ids_that_they_have_in_logs(here: Place, server: There) -> None:
    permit(server)
    schema = "" if server.kind == "postgres" else "shop."
    sent = [text.replace("{}", schema) for text in SENT]

    def meanwhile() -> None:
        if server.kind == "postgres":
            server.server.run_in("shop", sent)
        else:
            server.sql(*sent)

    document = watched(here, server, meanwhile)
    found = {one["id"]: one["fingerprint"] for one in document["classes"]}
    language = "postgres" if server.kind == "postgres" else "mysql"
    # Logs are read by the same fingerprints.
    wanted = identify(sent, language)
    missing = [one.fingerprint for one in wanted.values() if one.id not in found]
    assert not missing, sorted(found.values())
    compared = beside_a_log(here, sent, language)
    sent_ids = {one.id for one in wanted.values()}
    assert {one["id"] for one in compared["changes"]} == sent_ids
    assert compared["new"] == []
    # What was asked of the server besides is in its counts alone.
    assert {one["id"] for one in compared["gone"]} == set(found) - sent_ids


def beside_a_log(here: Place, sent: list[str], language: str) -> Any:
    """The server's document `d.json` compared with a log of the same statements."""
    if language == "postgres":
        line = "2026-01-31 12:00:00.000 UTC [7] LOG:  duration: 1.000 ms  statement: {}\n"
    else:
        line = (
            "# Time: 2026-01-31T12:00:00.000000Z\n# User@Host: app[app] @  [127.0.0.1]  Id: 7\n"
            "# Query_time: 0.001000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
            "SET timestamp=1769860800;\n{};\n"
        )
    (here.path / "sent.log").write_text("".join(line.format(text) for text in sent))
    done = here.dyno("digest", "--compare", "d.json", "sent.log", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def watched(here: Place, server: There, meanwhile: Callable[[], None]) -> Any:
    """The document of a server of which samples are taken while something happens; it is
    interrupted once there are samples of what came after."""
    before = takes(server)
    running = here.start(
        *("digest", server.url, "--password-env", "APP_PASSWORD"),
        *("--for", "10m", "--every", "300ms", "--limit", "all", "--json", "--out", "d.json"),
    )
    try:
        assert wait_for(lambda: takes(server) >= before + 2)
        meanwhile()
        then = takes(server)
        assert wait_for(lambda: takes(server) >= then + 3)
    finally:
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=240)
    assert running.returncode == 3, said  # interrupted
    document = json.loads((here.path / "d.json").read_text())
    assert any("Interrupted" in note for note in document["notes"])
    return document


def run(server: There, times: int) -> None:
    """Runs a statement so many times; its table is in another place of each kind."""
    schema = "" if server.kind == "postgres" else "shop."
    statements = [f"SELECT c, pad FROM {schema}sbtest1 WHERE k = {n}" for n in range(times)]
    if server.kind == "postgres":
        server.server.run_in("shop", statements)
    else:
        server.sql(*statements)


def is_ours(one: dict[str, Any]) -> bool:
    text = " ".join(one["fingerprint"].replace("`", "").split()).lower()
    return "pad from" in text and "sbtest1" in text


def takes(server: There) -> int:
    """How many samples were taken since the last reset: they are statements themselves."""
    if server.kind == "postgres":
        sql = (
            "SELECT sum(calls) FROM pg_stat_statements"
            " WHERE query LIKE '%mean_exec_time%AS dbdyno_digest%'"
        )
    else:
        sql = (
            "SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest"
            " WHERE DIGEST_TEXT LIKE '%COUNT_STAR%SUM_TIMER_WAIT%dbdyno\\_digest%'"
        )
    return int(server.sql(sql)[0][0] or 0)
