"""The two algebras of GTIDs: golden sets, and properties against plain sets of transactions."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from dbdyno.cli import studies
from dbdyno.experiment import load
from dbdyno.facts.fact import Facts, Missing
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.replication import gtids, topology
from dbdyno.rules.check.rule import FINE, FOUND, NOT_KNOWN, Outcome
from fixtures.rules.replication import LOGS, A, B, C, mariadb, mysql

RULE = {rule.id: rule for rule in RULES}


def look(rule: str, *subjects: Facts) -> Outcome:
    return RULE[rule].look_together(subjects)


@pytest.mark.parametrize(
    ("one", "other", "left"),
    [
        ("", "", ""),
        (f"{A}:1-5", "", f"{A}:1-5"),
        (f"{A}:1-5", f"{A}:1-5", ""),
        (f"{A}:1-10", f"{A}:3-4:7", f"{A}:1-2:5-6:8-10"),
        (f"{A}:1-3:4-5:5-9", f"{A}:9", f"{A}:1-8"),  # neighbours and overlaps are joined
        (f"{A.upper()}:1,\n{B}:2", f"{A}:1", f"{B}:2"),
        (f"{A}:1-3:blue:1-2", f"{A}:1-3", f"{A}:blue:1-2"),  # tags since 8.3
        (f"{A}:blue:1-2", f"{A}:1-2", f"{A}:blue:1-2"),
        (f"{A}:5-1", "", ""),
    ],
)
def test_golden_differences(one: str, other: str, left: str) -> None:
    assert gtids.text(gtids.subtract(gtids.parse(one), gtids.parse(other))) == left


@pytest.mark.parametrize("wrong", ["abc", "0-1-100", A, f"{A}:x:y-"])
def test_what_is_no_set_is_refused(wrong: str) -> None:
    if wrong.endswith("y-"):
        assert gtids.parse(wrong) == {}
        return
    with pytest.raises(ValueError, match="no GTID"):
        gtids.parse(wrong)


def test_a_difference_is_that_of_the_transactions() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        one, other = (
            {(rng.choice((A, B, C)), rng.randint(1, 30)) for _ in range(rng.randint(0, 40))}
            for _ in range(2)
        )
        left = gtids.subtract(gtids.parse(written(one, rng)), gtids.parse(written(other, rng)))
        assert plain(left) == one - other, seed
        assert gtids.count(left) == len(one - other), seed
        assert gtids.parse(gtids.text(left)) == left, seed
        assert len(gtids.each(left, 7)) == min(7, len(one - other)), seed
        assert gtids.each(left, 99) == [f"{u}:{n}" for u, n in sorted(one - other)], seed


def written(some: set[tuple[str, int]], rng: random.Random) -> str:
    parts = [f"{uuid}:{number}" for uuid, number in some]
    rng.shuffle(parts)
    return ",".join(parts)


def plain(one: gtids.Set) -> set[tuple[str, int]]:
    return {
        (uuid, number)
        for (uuid, _), some in one.items()
        for first, last in some
        for number in range(first, last + 1)
    }


def test_a_state_of_mariadb_is_compared_by_domain_and_server() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        states = [
            {(rng.randint(0, 2), rng.randint(1, 3)): rng.randint(1, 9) for _ in range(5)}
            for _ in range(2)
        ]
        texts = [",".join(f"{d}-{s}-{n}" for (d, s), n in one.items()) for one in states]
        assert [gtids.parse_state(text) for text in texts] == states, seed
        more = gtids.ahead(*states)
        for whose, sequence in states[0].items():
            assert (whose in more) == (sequence > states[1].get(whose, 0)), seed


# -- what an article's arithmetic gets wrong -----------------------------------------------------


def test_a_source_that_was_read_before_its_replica_makes_nothing_errant() -> None:
    source, replica = mysql("db1", f"{A}:1-90,{C}:1-5"), mysql("db2", f"{A}:1-95,{C}:1-9")
    later = {key: replace(fact, read_unix_s=2e9) for key, fact in replica.facts.items()}
    replica = replace(replica, facts=later)
    early = look("mysql-errant-transactions", source, replica)
    assert early.state == NOT_KNOWN and "before its replica" in early.reason
    again = mysql("db1", f"{A}:1-90,{C}:1-5", late=f"{A}:1-100,{C}:1-9")
    late = {key: replace(fact, read_unix_s=3e9) for key, fact in again.facts.items()}
    assert look("mysql-errant-transactions", replace(again, facts=late), replica).state == FINE


def test_ancestry_does_not_count() -> None:
    """db1 replicates from C, which is no target: C's transactions are not errant."""
    source = mysql("db1", f"{A}:1-90,{C}:1-5")
    above = {"source_server_uuid": C, "source_host": "db0", "source_port": 3306}
    table = replace(source.tables["replicas"], rows=(above,))
    source = replace(source, tables={**source.tables, "replicas": table})
    assert topology.ancestry([source], source) == [A, C]
    with pytest.raises(Missing, match="not among the targets"):
        list(topology.pairs([source]))


def test_the_log_and_the_plan_of_an_errant_transaction() -> None:
    source, replica = mysql("db1", f"{A}:1-100"), mysql("db2", f"{A}:1-95,{B}:1")
    [finding] = look("mysql-errant-transactions", source, replica).findings
    assert finding.subject == "db2:3306" and f"{B}:1, in bin.000002" in finding.found.what
    assert finding.found.fix.statements == (
        f"SET GTID_NEXT = '{B}:1'",
        "BEGIN",
        "COMMIT",
        "SET GTID_NEXT = 'AUTOMATIC'",
    )
    purged = mysql("db2", f"{A}:1-95,{B}:1", purged=f"{B}:1")
    [finding] = look("mysql-errant-transactions", source, purged).findings
    assert "purged or not readable" in finding.found.what
    many = mysql("db2", f"{A}:1-95,{B}:1-5000")
    [finding] = look("mysql-errant-transactions", source, many).findings
    assert not finding.found.fix.statements and "rebuild" in finding.found.fix.edits[-1]
    assert len(LOGS) == 3


def test_the_study_of_a_promotion_mends_by_the_plan_of_the_finding() -> None:
    spec = load(studies.find("promotion"))
    errant = {cell.levels["errant"]: cell.faults for cell in spec.cells}
    [write] = [fault for fault in errant["logged"] if fault.do == "sql"]
    [gtid] = [sql.split("'")[1] for sql in write.more_sql if "GTID_NEXT" in sql and ":" in sql]
    source, replica = mysql("db1", f"{A}:1-100"), mysql("db2", f"{A}:1-95,{gtid}", purged=gtid)
    [finding] = look("mysql-errant-transactions", source, replica).findings
    plan = finding.found.fix.statements
    here = [fault for fault in errant["mended_first"] if fault.nodes == ("primary",)]
    mend, _ = here  # and the loss
    assert (mend.sql, *mend.more_sql) == plan
    later = errant["mended_later"][-1]
    assert " / ".join(plan) in " / ".join(later.more_sql)


def test_mariadb_loses_an_errant_transaction_from_its_positions_but_not_from_its_state() -> None:
    """0-2-7 of the article: the position of domain 0 is the source's again."""
    source = mariadb("db1", "0-1-100")
    hidden = mariadb("db2", "0-1-100,0-2-7", "0-1-100")
    found = look("mariadb-errant-transactions", source, hidden)
    assert found.state == FOUND and "0-2-7, in bin.000002" in found.findings[0].found.what
    former = mariadb("db1", "0-1-100", "0-2-7")  # it was replicated, and not logged again
    assert look("mariadb-errant-transactions", former, hidden).state == FINE
    other_domain = mariadb("db2", "0-1-100,5-2-1")
    assert look("mariadb-errant-transactions", source, other_domain).state == FOUND
