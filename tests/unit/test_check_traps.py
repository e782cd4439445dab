"""What articles on servers' configuration teach wrongly, or omit: each test fails for a tool that
believed them."""

from __future__ import annotations

import pytest

from dbdyno.facts.fact import Facts
from dbdyno.facts.servers.mysql_tables import grown
from dbdyno.rules.check.configuration.mongod_first_start import allocated, oplog_of_disk
from dbdyno.rules.check.configuration.querycache import BREAK_EVEN
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.platform.operators import cache_mib, quantity
from dbdyno.rules.check.rule import FINE, FOUND, NOT_KNOWN, Outcome
from fixtures.rules import file, server
from fixtures.rules.configuration import GIB, cached, mariadb, postgres, redis
from fixtures.rules.platform import AUDIT
from fixtures.rules.platform_manifests import psmdb, storage_class


def look(name: str, facts: Facts) -> Outcome:
    return next(rule for rule in RULES if rule.id == name).look(facts)


# -- the query cache -----------------------------------------------------------------------------


def verdict(facts: Facts) -> Outcome:
    return look("mysql-query-cache-verdict", facts)


def test_a_quiet_server_with_many_hits_keeps_its_query_cache() -> None:
    outcome = verdict(cached(hits=900, inserts=100))
    assert [one.severity for one in outcome.findings] == ["info"]
    assert outcome.findings[0].found.fix.settings == ()
    assert "pays" in outcome.findings[0].found.what


def test_totals_since_the_start_do_not_decide() -> None:
    """A million hits last year, and none now."""
    outcome = verdict(cached(hits=0, inserts=500, total_hits=1_000_000))
    assert [one.severity for one in outcome.findings] == ["medium"]
    unwatched = server(
        "mariadb",
        "10.11.6",
        {"query_cache_type": "ON", "query_cache_size": 64 << 20},
        status={"qcache_hits": 10**6, "qcache_inserts": 10, "qcache_not_cached": 0},
    )
    outcome = verdict(unwatched)
    assert outcome.state == NOT_KNOWN and "--for" in outcome.reason


def test_the_verdict_turns_at_the_break_even() -> None:
    assert 0.15 < BREAK_EVEN < 0.17
    below, above = (verdict(cached(hits=n, inserts=1000 - n)) for n in (150, 165))
    assert below.findings[0].severity == "medium"
    assert above.findings[0].severity == "info"


def test_a_write_throws_away_results_of_its_table_alone() -> None:
    """The verdict names the tables whose results do not last, and those whose do."""
    tables = [
        {"schema": "shop", "table": "stock", "written": 600, "read": 9000},
        {"schema": "shop", "table": "countries", "written": 0, "read": 50},
    ]
    one = verdict(cached(hits=50, inserts=950, tables=tables)).findings[0].found
    assert "shop.stock (10.0 rows/s) throws away" in one.what
    assert "1 table was read and not written" in one.what
    assert "shop.countries" in one.fix.edits[0]
    assert one.fix.settings[0] == ("query_cache_type", "0")


def test_counters_of_tables_that_fell_were_reset() -> None:
    before = {("s", "a"): (5, 5), ("s", "b"): (9, 9), ("s", "c"): (1, 1)}
    after = {("s", "a"): (7, 6), ("s", "b"): (0, 9), ("s", "c"): (1, 1), ("s", "d"): (0, 2)}
    assert grown(before, after) == [
        {"schema": "s", "table": "a", "written": 2, "read": 1},
        {"schema": "s", "table": "d", "written": 0, "read": 2},
    ]


def test_with_many_threads_counters_do_not_decide() -> None:
    outcome = verdict(cached(hits=900, inserts=100, running=32))
    assert outcome.findings[0].severity == "low"
    assert "query-cache" in outcome.findings[0].found.fix.edits[0]


def test_sessions_that_wait_for_its_lock_decide() -> None:
    """A hit ratio of 90 % does not make up for a queue; two running threads make none."""
    for running, severity in ((32, "medium"), (2, "info")):
        outcome = verdict(cached(hits=900, inserts=100, running=running, waiting=20))
        assert [one.severity for one in outcome.findings] == [severity]
        assert any("query cache lock" in fact.key for fact in outcome.findings[0].found.evidence)


def test_no_select_in_the_time_watched_is_not_known() -> None:
    assert verdict(cached(0, 0)).state == NOT_KNOWN


@pytest.mark.parametrize(
    ("kind", "size", "state"),
    [("OFF", 0, FINE), ("ON", 64 << 20, FINE), ("ON", 0, FOUND), ("OFF", 64 << 20, FOUND),
     ("OFF", 1 << 20, FINE), ("DEMAND", 64 << 20, FINE)],
)  # fmt: skip
def test_off_is_off_only_with_type_and_size_0(kind: str, size: int, state: str) -> None:
    facts = server("mariadb", "10.11.6", {"query_cache_type": kind, "query_cache_size": size})
    outcome = look("mysql-query-cache-half-off", facts)
    assert outcome.state == state
    for one in outcome.findings:
        assert dict(one.found.fix.settings) == {"query_cache_type": "0", "query_cache_size": "0"}
        assert "when the server starts" in one.found.effect


def test_a_size_in_a_file_turns_mariadbs_query_cache_on() -> None:
    text = "[mysqld]\nquery_cache_type = OFF\nquery_cache_size = 64M\n"
    outcome = look("mysql-query-cache-half-off", file("my.cnf", text, "mariadb-10.11"))
    assert "whatever the type is" in outcome.findings[0].found.effect


# -- configuration files -------------------------------------------------------------------------


def test_nojournal_and_smallfiles_do_not_save_space_for_nothing() -> None:
    """The advice for a small first start."""
    text = "dbpath = /data\nnojournal = true\nsmallfiles = true\n"
    for version, found in (
        ("2.4", {"mongodb-journal-off"}),
        ("3.6", {"mongodb-journal-off", "mongodb-smallfiles-ignored"}),
        ("5.0", {"mongodb-journal-off", "mongodb-option-removed"}),
        ("7.0", {"mongodb-option-removed"}),
    ):
        facts = file("mongod.conf", text, f"mongodb-{version}")
        names = {"mongodb-journal-off", "mongodb-smallfiles-ignored", "mongodb-option-removed"}
        assert {name for name in names if look(name, facts).findings} == found, version


def test_blanks_are_wrong_only_where_the_server_minds() -> None:
    fine = "listen_addresses = 'localhost, 10.0.0.1'\n"
    assert not findings(file("postgresql.conf", fine, "postgres-15"))
    for line, wrong in (
        ("sql_mode = ANSI_QUOTES, NO_ZERO_DATE", True),
        ("optimizer_switch = index_merge=off, mrr=on", True),
        ("wsrep_cluster_address = gcomm://10.0.0.1, 10.0.0.2", True),
        ("bind_address = 127.0.0.1, ::1", False),
        ("init_connect = SET a = 1, b = 2", False),
    ):
        facts = file("my.cnf", f"[mysqld]\n{line}\n", "mariadb-10.11")
        assert (look("mysql-list-blanks", facts).state == FOUND) == wrong, line


def test_two_lines_of_one_list_are_one_finding_with_one_value() -> None:
    facts = file("my.cnf", "[mysqld]\nsql_mode = A, B\nsql_mode = A, C\n")
    (one,) = look("mysql-list-blanks", facts).findings
    assert len(one.found.evidence) == 2
    assert one.found.fix.settings == (("sql_mode", "A,C"),)


def findings(facts: Facts) -> set[str]:
    outcomes = (rule.look(facts) for rule in RULES if rule.judge is not None)
    return {one.rule for outcome in outcomes for one in outcome.findings}


def test_an_option_is_removed_by_engine_and_version_and_else_not_known() -> None:
    text = "[mysqld]\nquery_cache_size = 1M\nloose_query_cache_type = 1\n[mysqldump]\nlog=x\n"
    for engine, state in (
        ("mysql-5.7", FINE),
        ("mysql-8.0.2", FINE),
        ("mysql-8.0.3", FOUND),
        ("mariadb-11.8", FINE),
        ("", NOT_KNOWN),
    ):
        assert look("mysql-option-removed", file("my.cnf", text, engine)).state == state, engine
    plain = file("my.cnf", "[mysqld]\nmax_connections = 10\n")
    assert look("mysql-option-removed", plain).state == FINE  # no version is needed for it


def test_what_mariadb_ignores_is_not_what_it_refuses() -> None:
    text = "[mysqld]\ninnodb_page_cleaners = 4\nslave_parallel_type = LOGICAL_CLOCK\n"
    outcome = look("mysql-option-removed", file("my.cnf", text, "mariadb-10.11"))
    severities = {one.found.about: one.severity for one in outcome.findings}
    assert severities == {"innodb_page_cleaners": "low", "slave_parallel_type": "high"}


# -- memory --------------------------------------------------------------------------------------


def test_buffers_of_sessions_that_never_came_are_no_alarm() -> None:
    """4,000 connections x their buffers would be 11 GiB more than there is; 100 were seen."""
    for used, severity in ((100, "low"), (4000, "medium")):
        facts = mariadb({"innodb_buffer_pool_size": 8 * GIB, "max_connections": 8000}, used)
        outcome = look("mysql-memory-budget", facts)
        assert [one.severity for one in outcome.findings] == [severity]


def test_the_budget_is_the_stated_sum() -> None:
    from dbdyno.rules.check.configuration.memory import of_mysql, of_postgres

    budget = of_mysql(mariadb({"innodb_buffer_pool_size": GIB}))
    assert budget.shared == GIB * 1.05 + (16 + 128 + 128) * 2**20
    assert budget.session == (2048 + 256 + 128 + 256 + 32) * 1024 + 299008
    assert of_postgres(postgres({})).most == (128 + 4 + 3 * 64 + 100 * 4 * 2) * 2**20


def test_the_fix_of_a_budget_fits() -> None:
    outcome = look("mysql-memory-budget", mariadb({"innodb_buffer_pool_size": 20 * GIB}))
    ((name, value),) = outcome.findings[0].found.fix.settings
    assert name == "innodb_buffer_pool_size" and value is not None
    mended = mariadb({"innodb_buffer_pool_size": int(value)})
    assert look("mysql-memory-budget", mended).state == FINE


def test_redis_needs_twice_its_memory_only_while_a_child_saves() -> None:
    for save, limit, severity in (("", 12, None), ("900 1", 12, "medium"), ("", 20, "high")):
        outcome = look("redis-memory-budget", redis(str(limit * GIB), save))
        assert [one.severity for one in outcome.findings] == ([severity] if severity else [])


# -- operators -----------------------------------------------------------------------------------


def test_the_cache_of_an_operator_is_1474_and_not_1467() -> None:
    assert cache_mib(3e9, 0.8) == 1474
    assert cache_mib(3 * GIB, 0.8) == 1638
    assert cache_mib(0.5e9, 0.8) == 256


@pytest.mark.parametrize(
    ("text", "size"),
    [("3G", 3e9), ("3Gi", 3 * GIB), ("512m", 0.512), ("4GB", None), ("1e9", 1e9), ("1Ei", 2.0**60),
     ("1E", 1e18), ("100", 100)],
)  # fmt: skip
def test_quantities(text: str, size: float | None) -> None:
    assert quantity(text) == size


@pytest.mark.parametrize(
    ("limit", "severity"),
    [("3Gi", None), ("3G", "low"), ("512m", "high"), ("4GB", "high"), ("3000Mi", None)],
)
def test_units_of_memory(limit: str, severity: str | None) -> None:
    outcome = look("k8s-memory-unit", file("manifest", psmdb(limit=limit)))
    assert [one.severity for one in outcome.findings] == ([severity] if severity else [])


def test_a_ratio_without_a_limit_or_of_a_small_one_has_no_effect() -> None:
    for limit, state in ((None, FOUND), ("1Gi", FOUND), ("3Gi", FINE)):
        facts = file("manifest", psmdb(limit=limit, ratio="0.8"))
        assert look("k8s-cache-ratio-without-effect", facts).state == state


def test_decimal_storage_and_requests_are_no_mistake() -> None:
    """Disks are sold in powers of 1000, and requests only place pods."""
    assert not look("k8s-memory-unit", file("manifest", psmdb(memory="3G"))).findings


@pytest.mark.parametrize("more", ["", "parameters: {hostpath: /var/openebs, csiSecret: geheim}"])
def test_the_class_that_is_proposed_has_no_finding_itself(more: str) -> None:
    facts = file("manifest", storage_class(more))
    assert {"k8s-reclaim-delete", "k8s-local-binding-immediate"} == findings(facts)
    outcome = look("k8s-reclaim-delete", facts)
    proposed = outcome.findings[0].found.fix.edits[0].partition(": ")[2]
    assert "geheim" not in proposed and ("/var/openebs" in proposed) == bool(more)
    mended = file("manifest", proposed)
    assert mended.table("objects").rows[0]["name"] == "local-retain"
    assert findings(mended) == set()


# -- two servers on one directory ----------------------------------------------------------------


def test_the_pid_of_an_audit_record_is_hexadecimal() -> None:
    """a0=475 is 1141, and -13 is EACCES: the process may live."""
    outcome = look("linux-liveness-check-denied", file("log", AUDIT.format(exit=-13, signal=0)))
    said = outcome.findings[0].found
    assert "kill(1141, 0)" in said.what and "EACCES" in said.what
    assert "2015-07-17 08:30:45Z" in said.what
    fix = " ".join(said.fix.edits)
    assert "do not load a module of audit2allow unread" in fix


@pytest.mark.parametrize(("code", "state"), [(-3, FINE), (0, FINE), (-1, FINE), (-13, FOUND)])
def test_what_is_an_answer_and_what_is_none(code: int, state: str) -> None:
    """ESRCH: it is gone. EPERM, as success: it lives. EACCES, by a policy: nobody knows."""
    facts = file("log", AUDIT.format(exit=code, signal=0))
    assert look("linux-liveness-check-denied", facts).state == state


# -- mongod's first start -----------------------------------------------------------------------


def test_the_first_start_takes_9_7_gb_of_mmapv1_alone() -> None:
    """Three journals, `local`, and an oplog of 5 % of 120 GB of free disk."""
    whole = allocated(small=False, journal=True, oplog_bytes=oplog_of_disk(120e9))
    assert f"{whole / 1e9:.1f}" == "9.7"
    alone = allocated(small=False, journal=True, oplog_bytes=0)
    assert f"{alone / 1e9:.1f}" == "3.3"
    assert f"{allocated(small=True, journal=True, oplog_bytes=0) / 1e6:.0f}" == "436"
    assert oplog_of_disk(1e9) == 990 << 20
    old = "dbpath = /data\nreplSet = rs0\n"
    assert "9.7 GB" in first_start(old, "2.4").findings[0].found.what
    for text, version in (
        (old, "3.2"),
        (f"{old}smallfiles = true\n", "2.4"),
        ("configdb = a,b,c\n", "2.4"),
    ):
        assert first_start(text, version).state == FINE
    yaml = "storage: {engine: mmapv1}\nreplication: {replSetName: r, oplogSizeMB: 1024}\n"
    one = first_start(yaml, "3.6").findings[0].found
    assert "5.5 GB" in one.what
    assert one.fix.settings == (("storage.mmapv1.smallFiles", "true"),)


def first_start(text: str, version: str) -> Outcome:
    return look("mongodb-first-start-size", file("mongod.conf", text, f"mongodb-{version}"))
