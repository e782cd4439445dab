"""Digests as text, in the classic layout and in Markdown, compared with golden files; and what must
hold for any document, those that mean harm included."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion
from test_report_golden import Plain

from dbdyno.digest import document
from dbdyno.digest.compare import compare
from dbdyno.digest.document import parse
from dbdyno.errors import DynoError
from dbdyno.report.digest import beside, markdown, page, pt, text
from dbdyno.wording.digest import amounts, words
from effort import examples
from fixtures import digests

DOCUMENTS = ("shop", "hostile", "empty", "untimed")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f‪-‮⁦-⁩]")


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Plain)


def forms(raw: dict[str, Any]) -> dict[str, str]:
    typed = parse(raw)
    return {
        "text": text.text(typed, 110),
        "narrow": text.text(typed, 60),
        "pt": pt.pt(typed),
        "markdown": markdown.markdown(typed),
        "html": page.page(typed),
    }


@pytest.mark.parametrize("form", ["text", "narrow", "pt", "markdown"])
def test_a_digest(golden: SnapshotAssertion, form: str) -> None:
    assert forms(digests.shop())[form] == golden


def test_the_classic_layout_tells_no_rates_of_less_than_a_second_of_the_logs_clock() -> None:
    raw = digests.shop()
    first = raw["classes"][0]
    first["first_unix_s"], first["last_unix_s"] = 1_700_000_000.25, 1_700_000_000.250002
    typed = parse(raw)
    assert "# Query 1: 0 QPS, 0x concurrency, ID" in pt.pt(typed)
    first["last_unix_s"] = 1_700_000_001.0
    assert "# Query 1: 0 QPS" not in pt.pt(parse(raw))


def test_a_log_without_times(golden: SnapshotAssertion) -> None:
    assert forms(digests.untimed())["text"] == golden


def test_times_that_are_not_known_are_no_zeros() -> None:
    raw = digests.untimed()
    raw["classes_total"] += 2
    raw["rest"] = {**raw["classes"][0], "count": 1, "weighted_count": 1.0}
    made = forms(raw)
    assert not re.search(r"0\.0000|0\.0%|\b0x concurrency|0\.00x", made["pt"])
    assert "-x concurrency" in made["pt"] and re.search(r"MISC +0xMISC +- - +1 +- ", made["pt"])
    (more,) = [line for line in made["text"].splitlines() if line.lstrip().startswith("2 more")]
    assert re.fullmatch(r" +2 more +0\.1 % +▏? +1", more)  # its share of the calls, no times
    for form in ("markdown", "html"):
        assert "2 more classes, not listed: 1 call." in made[form]


def test_what_is_not_listed_is_summed_up_in_every_form() -> None:
    raw = digests.shop()
    raw["rest"] = {**raw["classes"].pop(0)}
    made = forms(raw)
    for form in ("text", "markdown", "html"):
        assert "81.5 %" in made[form] and "1 more" in made[form], form
    assert "<1 ITEMS>" in made["pt"]


def test_the_first_line_is_about_what_classes_are_ordered_by() -> None:
    raw = digests.shop()
    told = {}
    measures = [name for name, one in raw["classes"][0]["measures"].items() if one["sum"]]
    for by in ("query_time", "count", "max", "statement_bytes", measures[0], "no_such"):
        told[by] = words.answer(parse(raw | {"order_by": by})).partition("; ")[2]
    assert told["query_time"] == "UPDATE stock takes 81.5 % of it."
    assert re.fullmatch(r"UPDATE stock makes [0-9.]+ % of the calls\.", told["count"])
    assert re.fullmatch(r"UPDATE stock has the slowest, [0-9.]+ m?s\.", told["max"])
    assert told["statement_bytes"].endswith(" % of all statements' bytes.")
    assert told[measures[0]].endswith(f" % of {amounts.measure(measures[0])}.")
    assert told["no_such"] == ""
    assert "of 4 sets of tables" in words.answer(parse(raw | {"group_by": "table"}))


def test_statements_without_a_time_are_told_where_time_ranks() -> None:
    raw = digests.shop()
    assert not any("no time is known" in made for made in forms(raw).values())
    raw["overall"]["query_time"]["count"] = raw["overall"]["count"] // 2
    first = raw["classes"][0]
    first["query_time"]["count"] = first["count"] // 4
    made = forms(raw)
    assert all("no time is known" in made[form] for form in ("text", "markdown", "html", "pt"))
    mean = first["query_time"]["mean"]
    assert f" {mean:.4f} " in made["pt"]
    by_count = forms(raw | {"order_by": "count"})
    assert not any("no time is known" in made for made in by_count.values())


def test_one_is_not_several() -> None:
    raw = digests.shop()
    raw["classes"][0] |= {"count": 1, "weighted_count": 1.0}
    raw["concurrency"]["max"] = 1
    made = forms(raw)
    for form in ("text", "html"):
        assert not re.search(r"\b1 (calls|statements)", made[form]), form
    assert "1 call, " in made["text"] and "at most 1 statement\n" in made["text"]


def test_two_digests(golden: SnapshotAssertion) -> None:
    after = digests.shop(1.5)
    after["classes"][3] |= {"id": "9" * 32, "fingerprint": "insert into log2 (a) values(?+)"}
    compared = compare(parse(digests.shop()), parse(after))
    assert beside.text(compared, 110) == golden


@pytest.mark.parametrize("name", DOCUMENTS)
def test_nothing_of_strangers_steers_a_terminal_or_a_page(name: str) -> None:
    for form, made in forms(getattr(digests, name)()).items():
        assert not CONTROL.search(made), form
        if form == "html":
            assert "<script>alert" not in made and "</pre>␛" not in made
    compared = compare(parse(digests.hostile()), parse(digests.hostile()))
    for made in (beside.text(compared), beside.markdown(compared), beside.page(compared)):
        assert not CONTROL.search(made)
    assert "<script>alert" not in beside.page(compared)


NOTHING = ("p50", "p95", "p99", "stddev", "min", "max")


@given(
    histograms=st.lists(st.none() | st.lists(st.sampled_from([0, 0, 1, 12345]), min_size=9,
                                             max_size=9), min_size=4, max_size=4),
    unknown=st.sets(st.sampled_from(NOTHING)),
    absent=st.sets(st.sampled_from(("pt_id", "sample", "timeline_s", "time_share", "v_m",
                                    "query_time", "tables", "users", "hosts", "databases"))),
    whole=st.sets(st.sampled_from(("timeline", "concurrency"))),
    classes=st.integers(0, 4),
)  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_whatever_is_unknown_or_nought_a_document_can_be_drawn(
    histograms: list[list[int] | None],
    unknown: set[str],
    absent: set[str],
    whole: set[str],
    classes: int,
) -> None:
    raw = digests.shop(calls=60)
    for one, histogram in zip(raw["classes"], histograms, strict=True):
        one["histogram"] = histogram
        one["query_time"] = one["query_time"] | dict.fromkeys(unknown & one["query_time"].keys())
        for name in absent:
            one.pop(name, None)
    for name in whole:
        raw[name] = None
    raw["classes"] = raw["classes"][:classes]
    for form, made in forms(raw).items():
        assert made and not CONTROL.search(made), form


@pytest.mark.parametrize("width", [40, 64, 80, 120, 200])
def test_tables_and_statements_fit_the_terminal(width: int) -> None:
    lines = text.text(parse(digests.shop()), width).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.lstrip().startswith("ID "))
    room = width if width >= 64 else 64
    assert all(cell_len(line) <= room for line in lines[begin : begin + 5])
    drawn = text.text(parse(digests.hostile()), width).splitlines()
    long = [line for line in drawn if "xxxxxxxx" in line and line.startswith("   ")]
    assert long and all(cell_len(line) <= width for line in long)


def test_censoring_is_the_second_line_and_pieces_have_positions() -> None:
    lines = text.text(parse(digests.shop())).splitlines()
    assert lines[1].startswith("Only statements slower than 500 us are in this log")
    assert "slow.log: 2 pieces not understood, 52 B of 488 KiB" in lines
    assert "  line 40, byte 1,234, 40 bytes: no header before a statement" in lines
    sampled = digests.shop()
    sampled["censored"] = [{"input": 0, "kind": "sampled", "value": 100.0, "evidence": "said"}]
    assert "one of 100 statements" in words.censoring(parse(sampled))[0]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (3.2e-6, "3.20 us"),
        (0.99999e-3, "1.00 ms"),
        (0.045, "45.0 ms"),
        (59.96, "60.0 s"),
        (250.0, "4 min 10 s"),
        (7500.0, "2 h 05 min"),
        (600000.0, "6 d 23 h"),
        (None, "–"),
    ],
)
def test_durations(seconds: float | None, said: str) -> None:
    assert amounts.duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (6e-6, "ns", "6us"),
        (0.0009999, "ns", "1ms"),
        (0.45, "ns", "450ms"),
        (0.9999, "ns", "1s"),
        (5404.2, "ns", "5404s"),
        (0.0, "ns", "0"),
        (12, "count", "12"),
        (2.1, "count", "2.10"),
        (59700, "count", "58.30k"),
        (449847492608, "bytes", "418.95G"),
    ],
)
def test_numbers_of_the_classic_layout(value: float, unit: str, said: str) -> None:
    assert pt.number(value, unit) == said


def test_gaps_within_the_clocks_seconds_are_no_stalls() -> None:
    raw = digests.shop()
    raw["concurrency"] |= {"clock_s": 1.0, "caveat": "the log tells the second only"}
    for gap_s, is_told in ((0.96, False), (1.5, True)):
        raw["timeline"]["gap_s"] = [gap_s] * len(raw["timeline"]["gap_s"])
        typed = parse(raw)
        assert ("longest without an end" in text.text(typed)) is is_told
        made = page.page(typed)
        assert ("gaps of up to one tell nothing" in made) is is_told
        assert "Not exact" not in made and "Concurrency" not in made


@pytest.mark.parametrize(
    ("total", "classes", "merged", "said"),
    [
        (3004, 3004, 14, "--merge-names makes 14 of 3,004 classes."),
        (17_746, 10_000, 120, "--merge-names makes 120 of the 10,000 most costly classes."),
        (30, 30, 12, ""),
        (3004, 3004, 2904, ""),
    ],
)
def test_merging_names_is_suggested_where_many_classes_would_merge(
    total: int, classes: int, merged: int, said: str
) -> None:
    counts = {"classes": classes, "merged": merged}
    found = forms(digests.shop() | {"classes_total": total, "mergeable": counts})
    del found["pt"]  # its layout has no notes
    for made in found.values():
        plain = re.sub(r"\\|<[^>]*>", "", made)
        assert said in plain if said else "merge-names" not in plain


def test_a_document_of_a_later_layout_or_of_something_else_is_refused() -> None:
    with pytest.raises(DynoError, match="layout 2"):
        parse(digests.shop() | {"schema_version": 2})
    wrong = digests.shop()
    wrong["classes"][0]["count"] = "many"
    with pytest.raises(DynoError, match=r"classes\.0\.count"):
        parse(wrong)
    with pytest.raises(DynoError, match="the whole"):
        parse([])
    assert document.parse(digests.shop() | {"added_later": 1}).classes_total == 4
