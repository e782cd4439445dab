"""Two digests side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dbdyno.digest import compare as comparing
from dbdyno.digest.compare import FASTER, NOT_CLEAR, NOT_JUDGED, SLOWER, compare
from dbdyno.digest.document import Document, parse
from dbdyno.errors import DynoError
from dbdyno.report.digest import beside
from dbdyno.wording.digest import comparison_text
from fixtures import digests


def pair(before: dict[str, Any], after: dict[str, Any]) -> comparing.Compared:
    return compare(parse(before), parse(after))


def test_what_got_slower_and_faster_is_told_apart_from_noise() -> None:
    found = pair(digests.shop(), digests.shop(1.5))
    assert [one.b.distill for one in found.of(SLOWER)] == ["SELECT customers"]
    assert len(found.of(NOT_CLEAR)) == 3
    slower = found.of(SLOWER)[0]
    assert slower.ratio == pytest.approx(1.5)
    assert slower.low is not None and slower.high is not None
    assert 1 < slower.low < 1.5 < slower.high
    assert found.level == pytest.approx(1 - 0.05 / 4)
    back = pair(digests.shop(1.5), digests.shop())
    assert [one.b.distill for one in back.of(FASTER)] == ["SELECT customers"]


def test_what_is_new_or_gone_and_what_cannot_be_judged() -> None:
    before, after = digests.shop(), digests.shop()
    after["classes"][3]["id"] = "f" * 32
    few = after["classes"][0]["query_time"]
    few["count"] = 5
    after["classes"][1]["query_time"]["stddev"] = None
    found = pair(before, after)
    assert [one.id for one in found.new] == ["f" * 32]
    assert [one.distill for one in found.gone] == ["INSERT log"]
    whys = {one.why for one in found.of(NOT_JUDGED)}
    assert whys == {"fewer than 10 calls", "no variance is known"}
    assert all(one.ratio is not None and one.low is None for one in found.of(NOT_JUDGED))


def test_notes_name_what_a_reader_would_fall_for() -> None:
    censored, hidden = digests.shop(), digests.shop(censored=False)
    hidden["classes"] = hidden["classes"][:3]
    hidden["rest"] = digests.stats([(1.0, 0.5), (2.0, 0.6)])
    notes = " ".join(pair(censored, hidden).notes)
    assert "not from the same time on" in notes
    assert "B does not list 1 of its 4 classes (together 2 calls, 1.1 s)" in notes


def test_a_class_that_a_side_does_not_list_is_neither_new_nor_gone() -> None:
    whole, some = digests.shop(), digests.shop()
    some["classes"] = some["classes"][:3]
    some["rest"] = digests.stats([(1.0, 0.5)])
    found = pair(some, whole)
    assert not found.new and not found.gone
    assert [one.distill for one in found.not_listed_in_a] == ["INSERT log"]
    assert "1 class not listed in A, 0 classes gone" in comparison_text.answer(found)
    assert "In B, not listed in A" in beside.text(found)
    back = pair(whole, some)
    assert [one.distill for one in back.not_listed_in_b] == ["INSERT log"]
    assert "0 classes new, 1 class not listed in B" in comparison_text.answer(back)
    told = comparing.to_json(back)
    assert [one["distill"] for one in told["not_listed_in_b"]] == ["INSERT log"]
    assert not told["gone"]


def test_a_log_beside_a_server_s_counts_says_what_may_not_match() -> None:
    other = digests.shop()
    other["inputs"][0]["format"] = "pg_stat_statements"
    found = pair(digests.shop(), other)
    assert len(found.changes) == 4 and not found.new and not found.gone
    assert "normalised or truncated form" in found.notes[0]
    assert "normalised or truncated form" not in " ".join(pair(other, other).notes)


def test_systems_that_have_no_statement_in_common_are_named() -> None:
    mysql, postgres = digests.shop(), digests.shop()
    postgres["inputs"][0]["format"] = "postgres-csv"
    assert any("A is of mysql, B of postgres" in note for note in pair(mysql, postgres).notes)
    assert not any("is of mysql" in note for note in pair(mysql, digests.shop(2.0)).notes)
    postgres["overall"]["count"] = 0
    assert "There is no statement in B." in pair(mysql, postgres).notes


def test_documents_of_different_groups_are_refused() -> None:
    with pytest.raises(DynoError, match="grouped by"):
        pair(digests.shop(), digests.shop() | {"group_by": "user"})
    with pytest.raises(DynoError, match="B was made with --merge-names, A without"):
        pair(digests.shop(), digests.shop() | {"merges_names": True})


@pytest.mark.long
def test_equal_servers_are_seldom_called_different() -> None:
    """Of 300 pairs of logs of the same load at most as many are called different as 5 % allow."""
    drawn = np.random.default_rng(7)
    wrong = 0
    for _ in range(300):
        first, second = drawn.lognormal(0, 0.8, (2, 4, 200))
        both = [made(times) for times in (first, second)]
        wrong += any(one.verdict in (SLOWER, FASTER) for one in compare(*both).changes)
    assert wrong <= 27  # 15 expected; 27 is exceeded once in a thousand


def made(times: Any) -> Document:
    """A document with a class for each row of query times."""
    document = digests.shop(censored=False)
    for one, own in zip(document["classes"], times, strict=True):
        one["query_time"] = digests.distribution([float(x) for x in own])
    return parse(document)


def test_json_has_all_and_no_number_that_is_none() -> None:
    found = comparing.to_json(pair(digests.shop(), digests.shop(2.0)))
    assert [one["verdict"] for one in found["changes"]] == [SLOWER] + [NOT_CLEAR] * 3
    assert all(math.isfinite(one["ratio"]) for one in found["changes"])
