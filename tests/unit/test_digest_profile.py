"""The first screen of a digest: what ranks classes is shown; rows, p95, locks and scans are
columns; names keep their end; a clock of full seconds shows no concurrency."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich.cells import cell_len

from dbdyno.digest import ago
from dbdyno.digest.document import parse
from dbdyno.errors import DynoError
from dbdyno.report.digest import markdown, page, text
from dbdyno.report.digest.cut import elide, middle
from dbdyno.report.digest.profile import columns
from dbdyno.wording.digest import amounts, words
from fixtures import digests

COLUMNS = ["share", "time", "calls", "R/call", "p95", "V/M", "lock", "sent", "examined", "scan"]


def drawn(raw: dict[str, Any], width: int = 130, **how: bool) -> list[str]:
    return text.text(parse(raw), width, **how).splitlines()


def heads(raw: dict[str, Any], width: int = 130) -> list[str]:
    lines = drawn(raw, width, brief=True)
    (line,) = [line for line in lines if line.lstrip().startswith("ID ")]
    return re.split(r"\s{2,}", line.strip())


def first_row(raw: dict[str, Any], width: int = 130) -> list[str]:
    line = next(line for line in drawn(raw, width) if line.startswith("1  "))
    return re.split(r"\s{2,}", re.sub("[█▏▎▍▌▋▊▉]+", "", line.strip()))


@pytest.mark.parametrize(
    ("by", "shown", "first"),
    [
        ("query_time", ["share", "time", "calls"], "88.6 s"),
        ("count", ["share", "calls", "time"], "177"),
        ("max", ["max", "time", "calls"], "2.39 s"),
        ("statement_bytes", ["share", "bytes", "time", "calls"], "5.88 KiB"),
        ("rows_examined", ["share", "rows examined", "time", "calls"], "46,728"),
        ("lock_time", ["share", "lock time", "time", "calls"], "886 ms"),
    ],
)
def test_the_table_shows_what_it_ranks_by(by: str, shown: list[str], first: str) -> None:
    raw = digests.shop() | {"order_by": by}
    assert heads(raw)[1 : len(shown) + 1] == shown
    at = 2 + (shown[0] == "share")
    assert first_row(raw)[at] == first
    for form in (markdown.markdown(parse(raw)), page.page(parse(raw))):
        for head in shown:
            assert head in form


def test_a_share_is_of_what_classes_are_ranked_by() -> None:
    raw = digests.shop()
    sums = {one["rank"]: one["measures"]["rows_examined"]["sum"] for one in raw["classes"]}
    raw["overall"]["measures"]["rows_examined"]["sum"] = total = sum(sums.values())
    share = first_row(raw | {"order_by": "rows_examined"})[2]
    assert share == amounts.share(sums[1] / total) != first_row(raw)[2]


def test_a_dash_has_its_reason() -> None:
    raw = digests.shop()
    raw["classes"][1] |= {"query_time": None, "time_share": None, "v_m": None}
    del raw["classes"][2]["measures"]["rows_sent"]
    lines = drawn(raw, 160)
    untimed, unmeasured = "the log has no times of that class", "the log does not count it"
    assert any("– in share, time, R/call, lock: " + untimed in line for line in lines)
    for form in ("\n".join(lines), markdown.markdown(parse(raw)), page.page(parse(raw))):
        assert untimed in form and f"– in sent: {unmeasured}" in form
    whole = page.page(parse(digests.shop()))
    assert untimed not in whole and unmeasured not in whole


def test_costs_of_a_call_are_columns() -> None:
    raw = digests.shop()
    assert heads(raw) == ["ID", *COLUMNS, "statement"]
    cells = dict(zip(["#", *heads(raw)], first_row(raw), strict=True))
    assert cells["p95"] == "1.10 s" and cells["lock"] == "1 %" and cells["scan"] == "33 %"
    assert cells["sent"] == "1.98" and cells["examined"] == "264"
    raw["classes"][0]["measures"]["full_scan"]["mean"] = 1.0
    assert first_row(raw)[-2] == "all"
    raw["classes"][0]["measures"]["full_scan"]["mean"] = 0.0
    assert first_row(raw)[-2] == cells["examined"]  # no mark
    for form in (markdown.markdown(parse(raw)), page.page(parse(raw))):
        assert all(head in form for head in (*COLUMNS, "max"))


def test_a_statement_without_room_stands_below_and_the_first_columns_stay() -> None:
    raw = digests.shop()
    raw["classes"][1]["fingerprint"] = f"select {'a, b, ' * 9} c from t where d = ?"
    for width, left_out in ((100, []), (80, ["V/M"]), (60, ["R/call", "V/M", "lock", "sent"])):
        assert heads(raw, width) == ["ID", *(head for head in COLUMNS if head not in left_out)]
        lines = drawn(raw, width)
        at = next(i for i, line in enumerate(lines) if line.startswith("1  "))
        assert lines[at + 1].strip() == "update stock set q=? where item=?"
        assert lines[at + 3].startswith("   select a, b, a, b, ")
        assert all(cell_len(line) <= width for line in lines[at - 1 : at + 8])
    assert heads(raw, 40)[1:4] == ["share", "time", "calls"]


def test_columns_of_which_nothing_is_known_are_left_out() -> None:
    raw = digests.untimed()
    assert heads(raw) == ["ID", "share", "calls", "statement"]
    assert "makes" in words.answer(parse(raw))  # of the calls, by which they are ranked
    raw = digests.shop()
    for one in raw["classes"]:
        one["measures"] = {}
    assert [one.head for one in columns(parse(raw))] == COLUMNS[:6]
    assert "rows a call" not in "".join(drawn(raw))


def test_all_statements_together_stand_before_the_profile() -> None:
    raw = digests.shop()
    raw["overall"]["errors"] = 7
    lines = drawn(raw)
    at = lines.index(
        "overall: 1,900 calls, 3.17 a second, 0.181 at once on average, 7 with an error"
    )
    assert at < next(i for i, line in enumerate(lines) if line.lstrip().startswith("ID "))
    rows = [re.split(r"\s{2,}", line.strip())[0] for line in lines[at + 2 : at + 7]]
    assert rows == ["query time", "lock time", "rows sent", "rows examined", "full scan 33.4 %"]
    for form in (markdown.markdown(parse(raw)), page.page(parse(raw))):
        assert "3.17 a second" in form and "7 with an error" in form


def test_brief_leaves_out_the_part_of_each_class() -> None:
    raw = digests.shop()
    brief = drawn(raw, brief=True)
    assert not any(line.startswith("1. ") for line in brief)
    full = drawn(raw)
    at = full.index("1. UPDATE stock")
    assert brief[:at] == full[:at] and "Not understood" in brief[at:]
    made = markdown.markdown(parse(raw), brief=True)
    assert "## Profile" in made and "## 1." not in made


def test_long_names_keep_their_end() -> None:
    long = [f"customer_subscription_invoice_positions_2026_{quarter}" for quarter in ("q1", "q2")]
    raw = digests.shop()
    for one, name in zip(raw["classes"], long, strict=False):
        one["fingerprint"] = f"select amount, currency from billing.{name} where customer = ?"
        one["distill"], one["tables"] = f"SELECT billing.{name}", [f"billing.{name}"]
    for width in (60, 130):
        statements = [line for line in drawn(raw, width) if "select amount" in line]
        for end, line in zip(("q1", "q2"), statements, strict=False):
            assert f"2026_{end} " in line, width
        heads = [line for line in drawn(raw, width) if line.startswith(("1. ", "2. "))]
        assert [line[-2:] for line in heads] == ["q1", "q2"]
    for one, name in zip(raw["classes"], long, strict=False):
        one["fingerprint"] = f"{name * 3}, billing.{name}"
    made = drawn(raw | {"group_by": "table"}, 60, brief=True)
    assert [line[-2:] for line in made if line.startswith("   custom")] == ["q1", "q2"]


@pytest.mark.parametrize("width", [16, 20, 33])
def test_a_name_is_cut_to_its_columns(width: int) -> None:
    for name in ("a" * 100 + "_2026", "表" * 40 + "末", "short"):
        cut = middle(name, width)
        assert cell_len(cut) <= width and cut.endswith(name[-2:]) and cut[0] == name[0]
    assert cell_len(elide("select " + "x" * 90 + " from " + "y" * 90, width)) <= width


def test_a_clock_of_full_seconds_tells_of_no_concurrency() -> None:
    raw = digests.shop()
    fine = text.text(parse(raw)) + page.page(parse(raw))
    assert "at most 4" in fine and "Concurrency" in fine
    raw["concurrency"] |= {"max": 30_536, "clock_s": 1.0, "caveat": "to the second only"}
    for made in (text.text(parse(raw)), page.page(parse(raw)), markdown.markdown(parse(raw))):
        assert "30,536" not in made and "at most" not in made and "Concurrency" not in made


def test_means_are_of_no_less_than_the_logs_clock() -> None:
    # 3,000 statements of 1 ms each, in 3 seconds: they seem to end in the same tenth of each.
    times = [1.0 if i % 10 == 9 else 0.0 for i in range(30)]
    raw = digests.shop()
    raw["timeline"] |= {"bucket_s": 0.1, "time_s": times, "count": [0] * 30, "gap_s": [0.0] * 30}
    assert "up to 10.0 at once" in text.text(parse(raw))
    raw["concurrency"]["clock_s"] = 1.0
    assert "up to 1.00 at once" in text.text(parse(raw))
    assert text.steps(parse(raw), 100) == 3


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("-2h", "1792800.000"),
        ("-1h30m", "1794600.000"),
        ("-1d", "1713600.000"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("1800000000", "1800000000"),
        ("-5", "-5"),
        (None, None),
    ],
)
def test_moments_before_now(typed: str | None, made: str | None) -> None:
    assert ago.resolved("--since", typed, 1_800_000.0) == made


def test_a_length_of_time_without_a_sign_is_no_moment() -> None:
    with pytest.raises(DynoError, match="no moment") as error:
        ago.resolved("--since", "2h", 0.0)
    assert "--since -2h" in error.value.fix
    with pytest.raises(DynoError, match="no moment") as error:
        ago.resolved("--until", "-2 fortnights", 0.0)
    assert "-2h" in error.value.fix
