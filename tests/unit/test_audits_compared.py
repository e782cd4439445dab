"""Audits of commits: the engine's log against what nodes hold."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.audit import findings, identities, outcomes
from dbdyno.audit.compare import NodeRows, compare
from dbdyno.audit.findings import Audit
from dbdyno.errors import DynoError
from effort import examples
from fixtures.audits import ACKNOWLEDGED, FAILED, UNKNOWN, Attempt, node, recount, write_log

SECOND_GROUP = 1 << 24


def read(*attempts: Attempt, name: str = "db", takes_writes: bool = True) -> NodeRows:
    return NodeRows(name, identities.read(node(attempts)), takes_writes)


def down(name: str) -> NodeRows:
    return NodeRows(name, None, True, "it is down")


def audit(
    directory: Path, records: list[tuple[Attempt, int, float]], *stores: list[NodeRows]
) -> Audit:
    write_log(directory, records)
    return compare(outcomes.read(directory), [0], stores)


def test_what_was_acknowledged_and_is_there_is_not_lost(tmp_path: Path) -> None:
    records = [((0, n, 0), ACKNOWLEDGED, n / 10) for n in range(3)]
    found = audit(tmp_path, records, [read((0, 0, 0), (0, 1, 0), (0, 2, 0))])
    assert (found.acknowledged, found.lost, found.resurrected, found.duplicated) == (3, 0, 0, 0)
    assert (found.diverged, found.unknown, found.unlogged, found.first_lost) == (0, 0, 0, None)
    assert [(each.name, each.rows, each.missing) for each in found.nodes] == [("db", 3, 0)]


def test_lost_transactions_are_named_with_the_time_of_their_acknowledgement(tmp_path: Path) -> None:
    records = [
        ((session, n, 1), ACKNOWLEDGED, n + session / 10) for session in (3, 4) for n in range(4)
    ]
    found = audit(tmp_path, records, [read((3, 0, 1), (3, 3, 1), (4, 1, 1))])
    assert found.lost == 5
    assert found.first_lost and found.last_lost
    first, last = found.first_lost, found.last_lost
    assert (first.session, first.n, first.attempt, first.t_s) == (4, 0, 1, pytest.approx(0.4))
    assert (last.session, last.n, last.t_s) == (4, 3, pytest.approx(3.4))
    assert [(one.session, one.n) for one in found.lost_examples] == [
        (3, 1),
        (3, 2),
        (4, 0),
        (4, 2),
        (4, 3),
    ]


def test_what_failed_for_its_client_and_is_there_is_resurrected(tmp_path: Path) -> None:
    records = [((0, 0, 0), FAILED, 0.1), ((0, 0, 1), ACKNOWLEDGED, 0.2), ((0, 1, 0), FAILED, 0.3)]
    found = audit(tmp_path, records, [read((0, 0, 0), (0, 0, 1))])
    assert (found.failed, found.resurrected, found.lost) == (2, 1, 0)
    assert found.duplicated == 1, "the retry did the same again"


def test_an_unknown_outcome_is_never_lost(tmp_path: Path) -> None:
    records = [((0, 0, 0), UNKNOWN, 0.1), ((0, 1, 0), UNKNOWN, 0.2)]
    found = audit(tmp_path, records, [read((0, 1, 0))])
    assert (found.unknown, found.unknown_present, found.lost, found.unlogged) == (2, 1, 0, 0)


def test_replicas_that_lack_rows_diverge_and_lose_nothing(tmp_path: Path) -> None:
    records = [((0, n, 0), ACKNOWLEDGED, 0.1) for n in range(2)]
    primary = read((0, 0, 0), (0, 1, 0))
    replica = read((0, 0, 0), name="db.read1", takes_writes=False)
    found = audit(tmp_path, records, [primary, replica])
    assert (found.lost, found.diverged) == (0, 1)
    assert [each.missing for each in found.nodes] == [0, 1]
    # A member of a cluster takes writes: clients of it do not find the row.
    found = audit(tmp_path, records, [primary, read((0, 0, 0), name="db.2")])
    assert (found.lost, found.diverged) == (1, 1)


def test_instances_have_rows_of_their_own(tmp_path: Path) -> None:
    records = [((session, 0, 0), ACKNOWLEDGED, 0.1) for session in range(2)]
    found = audit(tmp_path, records, [read((0, 0, 0))], [read((1, 0, 0), name="db.2")])
    assert (found.lost, found.diverged) == (0, 0)


def test_of_a_node_that_cannot_be_read_nothing_is_claimed(tmp_path: Path) -> None:
    records = [((0, 0, 0), ACKNOWLEDGED, 0.1), ((0, 1, 0), FAILED, 0.1)]
    found = audit(tmp_path, records, [down("db")])
    assert (found.acknowledged, found.lost, found.resurrected, found.diverged) == (
        1,
        None,
        None,
        None,
    )
    assert (found.nodes[0].rows, found.nodes[0].why) == (None, "it is down")
    assert findings.metrics({"db": found}) == {"audit.acknowledged": 1.0, "audit.unknown": 0.0}
    # What was seen is said.
    found = audit(tmp_path, records, [read((0, 1, 0)), down("db.2")])
    assert (found.lost, found.resurrected, found.diverged, found.unlogged) == (1, 1, None, None)


def test_groups_of_other_targets_do_not_count(tmp_path: Path) -> None:
    records = [((0, 0, 0), ACKNOWLEDGED, 0.1), ((SECOND_GROUP, 0, 0), ACKNOWLEDGED, 0.1)]
    found = audit(tmp_path, records, [read((0, 0, 0))])
    assert (found.acknowledged, found.lost) == (1, 0)


def test_metrics_are_sums_over_targets(tmp_path: Path) -> None:
    found = audit(tmp_path, [((0, 0, 0), ACKNOWLEDGED, 0.1)], [read()])
    assert findings.metrics({"a": found, "b": found})["audit.lost"] == 2.0


def test_a_trial_without_writes_has_no_record(tmp_path: Path) -> None:
    found = compare(outcomes.read(tmp_path), [0], [[read()]])
    assert (found.acknowledged, found.lost) == (0, 0)


@pytest.mark.parametrize("data", [b"", b"dynoaud1", b"x" * 24, b"dynoaud1" + bytes(40)])
def test_a_damaged_log_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "audit.log").write_bytes(data)
    with pytest.raises(DynoError, match="is no log of an audit"):
        outcomes.read(tmp_path)


def test_a_last_record_that_was_cut_is_left_out(tmp_path: Path) -> None:
    write_log(tmp_path, [((0, 0, 0), ACKNOWLEDGED, 0.1), ((0, 1, 0), ACKNOWLEDGED, 0.1)])
    log = tmp_path / "audit.log"
    log.write_bytes(log.read_bytes()[:-1])
    assert len(outcomes.read(tmp_path).of(0).acknowledged) == 1


ATTEMPTS = st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2))
STORES = st.lists(
    st.lists(st.tuples(st.sets(ATTEMPTS), st.booleans()), max_size=2), min_size=1, max_size=2
)


@given(
    st.dictionaries(ATTEMPTS, st.sampled_from([ACKNOWLEDGED, FAILED, UNKNOWN])), STORES, st.data()
)
@settings(deadline=None, max_examples=examples(100))
def test_counts_are_those_of_an_independent_recount(
    seen: dict[Attempt, int],
    stores: list[list[tuple[set[Attempt], bool]]],
    data: st.DataObject,
) -> None:
    # Each store has a node that takes writes.
    stores = [[(data.draw(st.sets(ATTEMPTS)), True), *store] for store in stores]
    page_rows = data.draw(st.integers(1, 7))
    nodes = [
        [
            NodeRows(f"{place}.{number}", identities.read(node(rows), page_rows), writes)
            for number, (rows, writes) in enumerate(store)
        ]
        for place, store in enumerate(stores)
    ]
    with TemporaryDirectory() as directory:
        write_log(Path(directory), [(attempt, outcome, 0.1) for attempt, outcome in seen.items()])
        found = compare(outcomes.read(Path(directory)), [0], nodes)
        expected = recount((Path(directory) / "audit.log").read_bytes(), stores)
    assert {name: getattr(found, name) for name in expected} == expected
