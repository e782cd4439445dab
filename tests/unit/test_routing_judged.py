"""Examinations of routers: which statements there are, what logs say, what is misrouted."""

from __future__ import annotations

import pytest

from dbdyno.audit.routing import evidence, findings
from dbdyno.audit.routing.cases import CASES, NAMED, PREPARED, PRIMARY_ONLY, Tag, steps
from dbdyno.audit.routing.findings import Routing
from dbdyno.audit.routing.judge import Answer, Reads, is_wrong, judged

WRITES = "transaction that writes"
STAMP = "2026-01-02 03:04:05.678 UTC [4711] LOG:  "


def answers(name: str, round_: int = 0) -> list[Answer]:
    """Right answers to the statements of a case."""
    return [
        Answer(tag, case, step, step.want or "")
        for tag, case, step in steps(round_, 5)
        if case.name == name
    ]


def log(found: list[Answer], *left: str) -> list[str]:
    """Lines of a server that ran all of these but `left`."""
    return [
        f"{STAMP}statement: {answer.tag.behind(answer.step.sql)}"
        for answer in found
        if answer.step.about not in left
    ]


def test_the_statements_are_those_of_the_matrix() -> None:
    said = " ".join(step.sql for case in CASES for step in case.steps)
    for word in (
        *("BEGIN", "FOR UPDATE", "TEMPORARY", "PREPARE", "1 / 0", "SET ", "advisory", "nextval"),
        *("ROLLBACK TO SAVEPOINT", "WITH w", "EXPLAIN ANALYZE", "dbdyno_routing_write"),
    ):
        assert word in said, word
    assert len({case.name for case in CASES}) == len(CASES)
    assert {step.session for case in CASES for step in case.steps} == {"a", "b"}


def test_each_statement_of_each_round_can_be_found_in_a_log() -> None:
    every = [tag for round_ in (0, 1) for tag, _, _ in steps(round_, 7)]
    assert len(set(every)) == len(every)
    assert all("{n}" not in step.sql for _, _, step in steps(0, 7))
    lines = [f"{STAMP}statement: {tag.behind('BEGIN')}" for tag in every]
    assert evidence.tags(lines) == set(every)


@pytest.mark.parametrize(
    ("line", "tag"),
    [
        (f"{STAMP}statement: SELECT 1 /* dyno 1.2.3 */", Tag(1, 2, 3)),
        (f"{STAMP}execute <unnamed>: SELECT 1 /* dyno 1.2.3 */", Tag(1, 2, 3)),
        (f"{STAMP}execute pg8000_statement_0: SELECT 1 /* dyno 1.2.3 */", Tag(1, 2, 3)),
        ("no prefix LOG:  statement: COMMIT /* dyno 0.0.0 */", Tag(0, 0, 0)),
        # The text of what EXECUTE runs, and of what failed, is no other statement.
        (f"{STAMP.replace('LOG', 'DETAIL')}prepare: PREPARE r AS SELECT 1 /* dyno 1.2.3 */", None),
        (f"{STAMP.replace('LOG', 'STATEMENT')}SELECT 1 / 0 /* dyno 1.2.3 */", None),
    ],
)
def test_lines_of_a_log(line: str, tag: Tag | None) -> None:
    assert evidence.tags([line]) == ({tag} if tag else set())


def test_what_is_only_parsed_is_seen_where_it_is_executed() -> None:
    [case] = [case for case in CASES if any(step.way == NAMED for step in case.steps)]
    at = [step.way for step in case.steps].index(PREPARED)
    assert case.steps[Tag(0, 0, at).executed(case).step].way == NAMED
    assert case.steps[Tag(0, 0, at).executed(case).step].sql == case.steps[at].sql


def test_what_is_only_parsed_is_not_unseen() -> None:
    [name] = [case.name for case in CASES if any(step.way == PREPARED for step in case.steps)]
    found = answers(name)
    parsed = [answer.step.about for answer in found if answer.step.way == PREPARED]
    nodes = evidence.nodes({"db": log(found, *parsed)})
    assert judged(found, nodes, "db", Reads(20)).unseen == 0
    assert judged(found, {}, "db", Reads(20)).unseen > 0


def test_all_at_the_primary_is_as_it_must_be() -> None:
    found = answers(WRITES)
    nodes = evidence.nodes({"db": log(found), "db.2": []})
    routing = judged(found, nodes, "db", Reads(20))
    assert (routing.misrouted, routing.wrong_results, routing.unseen) == (0, 0, 0)
    assert routing.statements == len(found)
    assert all(row.primary == 1 for row in routing.rows)


def test_a_read_of_a_transaction_that_has_written_at_a_standby_is_misrouted() -> None:
    """What pgpool-II 3.1.2 did: nothing fails, and the transaction does not see its own change."""
    found = answers(WRITES)
    late = "SELECT after the write"
    standby = [line for line in log(found) if line not in log(found, late)]
    nodes = evidence.nodes({"db": log(found, late), "db.2": standby})
    routing = judged(found, nodes, "db", Reads(20))
    assert routing.misrouted == 1
    [row] = [row for row in routing.rows if row.misrouted]
    assert (row.statement, row.must, row.standby) == (late, PRIMARY_ONLY, 1)
    # The same log is right once the standby has become the primary, for that statement only.
    assert judged(found, nodes, "db.2", Reads()).misrouted == 1


def test_reads_before_a_write_may_run_anywhere() -> None:
    found = answers(WRITES)
    early = "SELECT before the write"
    standby = [line for line in log(found) if line not in log(found, early)]
    nodes = evidence.nodes({"db": log(found, early), "db.2": standby})
    routing = judged(found, nodes, "db", Reads())
    assert routing.misrouted == 0
    assert [row.standby for row in routing.rows if row.statement == early] == [1]


def test_what_no_log_has_is_unseen_and_not_misrouted() -> None:
    found = answers(WRITES)
    routing = judged(found, {}, "db", Reads())
    assert routing.misrouted == 0
    assert routing.unseen == len([one for one in found if one.step.about])


def test_a_lost_setting_is_a_wrong_result() -> None:
    found = answers("setting of the session")
    *others, last = [one for one in found if one.step.about]
    assert is_wrong(last.step, "None") and not is_wrong(last.step, last.step.want or "")
    lost = [Answer(o.tag, o.case, o.step, "None") if o is last else o for o in found]
    routing = judged(lost, {}, "db", Reads(20, 3, 1.5))
    assert routing.wrong_results == 1
    assert routing.rows[-1].example == f"None instead of {last.step.want}"
    assert (routing.reads_after_writes, routing.stale_reads, routing.stale_ms_max) == (20, 3, 1.5)
    assert others


def test_an_error_where_none_must_be_is_a_wrong_result() -> None:
    [begin, *_] = answers("by itself")
    assert is_wrong(begin.step, "!08006") and not is_wrong(begin.step, "0")
    refused = [one for one in answers("after an error in a transaction") if one.step.want]
    assert [is_wrong(one.step, "1") for one in refused] == [True, True]


def test_rounds_are_added_up() -> None:
    found = [*answers(WRITES, 0), *answers(WRITES, 1)]
    nodes = evidence.nodes({"db": log(found)})
    routing = judged(found, nodes, "db", Reads())
    assert routing.rounds == 2
    assert {row.primary for row in routing.rows} == {2}


def test_metrics_are_sums_and_the_longest_time() -> None:
    one = Routing(3, 100, 1, 2, 0, 20, 4, 1.5)
    two = Routing(3, 100, 0, 0, 0, 20, 0, 0.0)
    assert findings.metrics({"a": one, "b": two}) == {
        "routing.statements": 200.0,
        "routing.misrouted": 1.0,
        "routing.wrong_results": 2.0,
        "routing.unseen": 0.0,
        "routing.stale_reads": 4.0,
        "routing.stale_ms_max": 1.5,
    }
    assert findings.metrics({}) == {}


def test_nothing_misrouted_is_no_number_where_a_write_was_not_seen() -> None:
    found = answers(WRITES)
    steps_ = [each.step for each in found if each.step.must == PRIMARY_ONLY and each.step.about]
    about = steps_[0].about
    nodes = evidence.nodes({"db": log(found, about)})
    blind = judged(found, nodes, "db", Reads(20))
    assert blind.unseen_primary == blind.unseen > 0
    metrics = findings.metrics({"db": blind})
    assert "routing.misrouted" not in metrics
    assert metrics["routing.unseen"] == blind.unseen
    seen = judged(found, evidence.nodes({"db": log(found)}), "db", Reads(20))
    assert findings.metrics({"db": seen})["routing.misrouted"] == 0
    elsewhere = judged(found, evidence.nodes({"db.2": log(found, about)}), "db", Reads(20))
    assert findings.metrics({"db": elsewhere})["routing.misrouted"] > 0  # at least so many


def test_a_read_that_is_waited_for_in_vain_is_a_lower_bound() -> None:
    found = answers(WRITES)
    cut = Reads(3, 1, 10_004.0, is_cut=True)
    assert judged(found, evidence.nodes({"db": log(found)}), "db", cut).is_stale_cut
