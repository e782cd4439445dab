"""Samples of a server that counts its statements become a digest: differences, resets, loss."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from dbdyno.digest import document
from dbdyno.digest.servers import chosen, watch
from dbdyno.digest.servers.counted import Counted, Histogram, Key, Moments, Shot
from dbdyno.digest.servers.identity import Identity
from dbdyno.digest.servers.literals import without_literals
from dbdyno.errors import DynoError


class Server:
    """A server without a server: gives samples that were made beforehand."""

    format = "pg_stat_statements"
    language = "postgres"
    place = "db:1"
    server = "Pretended 1"
    units: Mapping[str, str] = {"rows": "count"}

    def __init__(self, shots: Iterable[Shot], histograms: list[dict[str, Histogram]]) -> None:
        self._shots, self._histograms = iter(shots), iter(histograms)

    def check(self) -> list[str]:
        return []

    def take(self) -> Shot:
        return next(self._shots)

    def texts(self, statements: set[str]) -> dict[str, str]:
        return {one: f"select  {one}" for one in statements if one != "gone"}

    def histograms(self) -> Mapping[str, Histogram] | None:
        return next(self._histograms, None)

    def close(self) -> None:
        pass


def row(statement: str, count: int, time_s: float, **more: Any) -> Counted:
    return Counted(statement, more.pop("database", "shop"), "app", count, time_s, **more)


def by_text(texts: Iterable[str], language: str) -> dict[str, Identity]:
    assert language == "postgres"
    return {text: Identity(f"id of {text}", text) for text in texts}


def watched(
    *samples: list[Counted],
    histograms: list[dict[str, Histogram]] | None = None,
    evicted: tuple[int, ...] = (),
    resets: tuple[str, ...] = (),
    executed: tuple[int, ...] = (),
    prepared: tuple[int, ...] = (),
    **options: Any,
) -> document.Document:
    shots = []
    for i, rows in enumerate(samples):
        keyed: dict[Key, Counted] = {(one.statement, one.database): one for one in rows}
        shots.append(
            Shot(
                100.0 + i,
                keyed,
                evicted[i] if evicted else None,
                resets[i] if resets else "",
                executed[i] if executed else None,
                prepared[i] if prepared else None,
            )
        )
    names = ("group_by", "order_by", "limit", "db", "user")
    choice = chosen.make(**{name: options.get(name) for name in names})
    raw = watch.watch(
        Server(shots, histograms or []),
        len(samples) - 1,
        1.0,
        choice,
        sleep=lambda seconds: None,
        clock=lambda: 0.0,
        identify=options.get("identify", by_text),
    )
    return document.parse(raw)


def test_a_digest_is_what_was_counted_between_samples() -> None:
    found = watched(
        [row("a", 10, 5.0, measures={"rows": 1.0}), row("idle", 5, 1.0)],
        [row("a", 12, 6.0, measures={"rows": 4.0}), row("idle", 5, 1.0)],
        [row("a", 15, 8.0, measures={"rows": 5.0}), row("b", 1, 1.0), row("idle", 5, 1.0)],
    )
    assert [(one.fingerprint, one.count, one.time_s) for one in found.classes] == [
        ("select a", 5, 3.0),
        ("select b", 1, 1.0),
    ]
    assert found.classes[0].measures["rows"].sum == 4.0
    assert found.classes[0].timeline_s == (1.0, 2.0)
    assert found.timeline is not None
    assert found.timeline.count == (2, 4) and found.timeline.time_s == (1.0, 3.0)
    assert found.timeline.begin_unix_s == 100.0 and found.timeline.bucket_s == 1.0
    assert found.overall.count == 6 and found.seconds == 2.0 and found.notes == ()
    assert found.classes[0].time_share == 0.75


def test_what_the_engine_calls_alike_is_one_class_with_its_id() -> None:
    def alike(texts: Iterable[str], language: str) -> dict[str, Identity]:
        one = Identity("0" * 32, "select ?", "SELECT t", ("t",))
        return dict.fromkeys(texts, one)

    samples = ([row("a", 1, 1.0), row("b", 1, 1.0)], [row("a", 3, 2.0), row("b", 2, 4.0)])
    [found] = watched(*samples, identify=alike).classes
    assert (found.id, found.fingerprint, found.count, found.time_s) == ("0" * 32, "select ?", 3, 4)
    assert (found.distill, found.tables) == ("SELECT t", ("t",))
    by_user = watched(*samples, identify=alike, group_by="user").classes
    assert [(one.fingerprint, one.id != "0" * 32) for one in by_user] == [("app", True)]


def test_what_stands_for_a_statement_is_none() -> None:
    def none(texts: Iterable[str], language: str) -> dict[str, Identity]:
        assert not list(texts)
        return {}

    found = watched([row("gone", 0, 0.0)], [row("gone", 1, 1.0)], identify=none)
    assert found.classes[0].fingerprint == watch.GONE


def test_variance_of_a_difference_is_that_of_the_calls_in_it() -> None:
    calls = [0.1, 0.4, 0.2, 0.9, 0.3, 0.3, 2.0, 0.1]

    def counted(upto: int) -> Counted:
        own = calls[:upto]
        mean = statistics.fmean(own)
        squares = sum((x - mean) ** 2 for x in own)
        return row("a", upto, sum(own), moments=Moments(upto, mean, squares))

    found = watched([counted(2)], [counted(5)], [counted(8)])
    timed = found.classes[0].query_time
    assert timed is not None and timed.stddev is not None
    assert timed.mean == pytest.approx(statistics.fmean(calls[2:]))
    assert timed.stddev == pytest.approx(statistics.pstdev(calls[2:]))


def test_a_reset_is_said_and_what_follows_it_counts() -> None:
    found = watched([row("a", 100, 50.0)], [row("a", 3, 1.0)], [row("a", 5, 2.0)])
    assert found.overall.count == 5
    assert "reset" in found.notes[0]
    again = watched([row("a", 1, 1.0)], [row("a", 2, 2.0)], resets=("t1", "t2"))
    assert "reset" in again.notes[0] and again.overall.count == 2
    gone = watched([row("a", 1, 1.0)], [row("b", 3, 2.0)], resets=("t1", "t2"))
    assert "reset" in gone.notes[0]
    begun = watched([], [row("b", 3, 2.0)], resets=("", "t1"))
    assert not begun.notes and begun.overall.count == 3


def test_an_interrupt_ends_it_with_what_was_seen() -> None:
    told: list[str] = []
    naps = iter([None, KeyboardInterrupt])

    def sleep(_: float) -> None:
        if (wakes := next(naps)) is not None:
            raise wakes

    shots = [Shot(100.0 + i, {"a": row("a", i, float(i))}) for i in range(2)]
    raw = watch.watch(
        Server(shots, []),
        3.0,
        1.0,
        chosen.make(group_by=None, order_by=None, limit=None, db=None, user=None),
        on_interrupt=lambda: told.append("stopped"),
        sleep=sleep,
        clock=lambda: 0.0,
        identify=by_text,
    )
    assert told == ["stopped"] and "1 of 3 samples" in raw["notes"][0]


def test_a_full_table_is_said_with_its_share() -> None:
    found = watched([row("a", 1, 1.0)], [row("a", 2, 2.0), row("", 30, 3.0)])
    assert "30 statements (75.0% of the time)" in found.notes[0]
    assert found.classes[0].fingerprint == watch.LUMPED
    evicting = watched([row("a", 1, 1.0)], [row("a", 2, 2.0)], evicted=(5, 9))
    assert "4 times" in evicting.notes[0]


def test_own_statements_are_left_out_and_lost_texts_are_named() -> None:
    found = watched([], [row(f"x as {watch.OURS}", 1, 9.0), row("gone", 1, 1.0)])
    assert [one.fingerprint for one in found.classes] == [watch.GONE]
    assert found.overall.time_s == 1.0


def test_quantiles_come_from_the_servers_histogram() -> None:
    before = {"a": {0.001: 5, 0.1: 1}}
    after = {"a": {0.001: 95, 0.01: 6, 0.1: 5}}
    found = watched([row("a", 6, 1.0)], [row("a", 106, 2.0)], histograms=[before, after])
    timed = found.classes[0].query_time
    assert timed is not None
    assert (timed.p50, timed.p95, timed.p99) == (0.001, 0.01, 0.1)
    assert timed.quantile_error is not None and 0.04 < timed.quantile_error < 0.05
    assert found.classes[0].histogram == (0, 0, 0, 90, 6, 4, 0, 0, 0)


def test_filters_groups_and_limits() -> None:
    rows = [row("a", 1, 4.0), row("b", 9, 3.0), row("a", 1, 2.0, database="other")]
    found = watched([], rows)
    assert [(one.fingerprint, one.time_s) for one in found.classes] == [
        ("select a", 6.0),
        ("select b", 3.0),
    ]
    assert found.classes[0].databases == {"shop": 1, "other": 1}
    only = watched([], rows, db="other")
    assert only.overall.time_s == 2.0 and only.inputs[0].filtered == 10
    assert only.timeline is not None and only.timeline.count == (1,)
    by_db = watched([], rows, group_by="db")
    assert [one.fingerprint for one in by_db.classes] == ["shop", "other"]
    first = watched([], rows, limit="1", order_by="count")
    assert [one.fingerprint for one in first.classes] == ["select b"]
    assert first.rest is not None and first.rest.count == 2 and first.classes_total == 2
    with pytest.raises(DynoError, match="does not count"):
        watched([], rows, order_by="bytes_sent")
    with pytest.raises(DynoError, match="is for logs"):
        watched([], rows, group_by="table")
    with pytest.raises(DynoError, match="no limit"):
        watched([], rows, limit="few")


def test_moments_are_those_of_the_values() -> None:
    one, other = Moments(3, 2.0, 0.5), Moments(5, 4.0, 3.0)
    both = one.plus(other)
    back = both.minus(one)
    assert both.count == 8 and math.isclose(both.mean, 3.25)
    assert back.count == 5
    assert math.isclose(back.mean, 4.0) and math.isclose(back.squares, 3.0)
    assert Moments().plus(one) == one and one.minus(Moments()) == one


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER ROLE x PASSWORD 'it''s'", "ALTER ROLE x PASSWORD ?"),
        ("SET a = E'x\\'y', b = 1.5e3", "SET a = ?, b = ?"),
        ('select "it\'s 5", t1_2020, $1 -- secret', 'select "it\'s 5", t1_2020, $1'),
        ("do $x$ begin 'a' $x$ and 7", "do ? and ?"),
        ("select 'never ended", "select ?"),
        ("select /* 'a' */ 0xFF,\n .5", "select ?, ?"),
        ("copy t from '/x' (delimiter ',')", "copy t from ? (delimiter ?)"),
    ],
)
def test_literals_of_utility_statements_go(statement: str, expected: str) -> None:
    assert without_literals(statement) == expected


@pytest.mark.parametrize(
    ("executed", "prepared", "said"),
    [
        (119, 0, ""),  # commands that are no statements
        (
            1100,
            0,
            "sent 1,100 statements, and the server's table of statements counted 100 (9.1%).",
        ),
        (1100, 1000, "counted 100 (9.1%); 1,000 were executions of prepared statements"),
        (60, 0, ""),  # statements of procedures are counted, and clients did not send them
    ],
)
def test_statements_that_the_view_leaves_out_are_said(
    executed: int, prepared: int, said: str
) -> None:
    found = watched(
        [row("a", 10, 1.0)],
        [row("a", 110, 2.0)],
        executed=(5, 5 + executed),
        prepared=(7, 7 + prepared),
    )
    assert said in " ".join(found.notes) and bool(said) == bool(found.notes)
    assert not said or "slow log" in " ".join(found.notes)


def test_nothing_counted_is_an_error() -> None:
    idle = [row("a", 10, 1.0)]
    with pytest.raises(DynoError, match="no statement was counted in 1 s") as caught:
        watched(idle, idle, executed=(0, 3))
    assert "no statement" in caught.value.cause and "--for" in caught.value.fix
    with pytest.raises(DynoError) as caught:
        watched(idle, idle, executed=(0, 108_000), prepared=(0, 107_990))
    assert "prepared" in caught.value.cause and "slow log" in caught.value.fix
    with pytest.raises(DynoError, match="none of the 5 statements") as caught:
        watched(idle, [row("a", 15, 2.0)], db="another")
    assert "--db" in caught.value.fix
