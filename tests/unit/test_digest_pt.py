"""The classic layout: its InnoDB block and labels, deviations of samples, scales, commands."""

from __future__ import annotations

import math
import re
from typing import Any

from dbdyno.digest.document import parse
from dbdyno.report.digest import pt
from fixtures import digests

PERCONA = {  # measure -> unit, label, sum
    "read_bytes": ("bytes", "IO r bytes", 49152.0),
    "pages_read": ("count", "IO r ops", 8.0),
    "innodb_io_r_wait": ("ns", "IO r wait", 0.012),
    "pages_used": ("count", "pages distin", 100.0),
    "innodb_queue_wait": ("ns", "queue wait", 0.0008),
    "innodb_rec_lock_wait": ("ns", "rec lock wai", 0.04),
}
MARIADB = {
    "engine_time": ("ns", "Engine time", 0.5),
    "old_rows_read": ("count", "Old rows rea", 3.0),
    "pages_used": ("count", "Pages access", 30.0),
    "pages_read": ("count", "Pages read", 4.0),
    "innodb_io_r_wait": ("ns", "Pages read t", 0.034),
}


def with_measures(found: dict[str, tuple[str, str, float]]) -> dict[str, Any]:
    raw = digests.shop()
    for stats in (raw["overall"], raw["classes"][0]):
        for name, (unit, _, total) in found.items():
            stats["measures"][name] = {"unit": unit, **digests.distribution([total / 4] * 4)}
    return raw


def block(raw: dict[str, Any], rank: int = 1) -> list[str]:
    return re.split(r"\n# Query (?=\d)", pt.pt(parse(raw)))[rank].splitlines()


def label(line: str) -> str:
    return line[2:14].rstrip()


def test_innodbs_measures_have_a_block_of_their_own() -> None:
    raw = with_measures(PERCONA)
    for lines in (pt.pt(parse(raw)).splitlines(), block(raw)):
        at = lines.index("# InnoDB:")
        assert label(lines[at - 1]) == "Query size"
        assert [label(line) for line in lines[at + 1 : at + 7]] == [
            one[1] for one in PERCONA.values()
        ]
        assert lines[at + 7] == "# Boolean:"
        assert lines[at + 1].split()[-7] == "48.00k"
    assert "# IO r ops     100       8       2" in "\n".join(block(raw))


def test_mariadbs_measures_have_its_names() -> None:
    lines = block(with_measures(MARIADB))
    assert "# InnoDB:" not in lines
    at = next(i for i, line in enumerate(lines) if label(line) == "Query size")
    assert [label(line) for line in lines[at + 1 : at + 6]] == [one[1] for one in MARIADB.values()]


def test_deviations_are_those_of_a_sample() -> None:
    raw = digests.shop()
    first = raw["classes"][0]
    first |= {"count": 2, "weighted_count": 2.0, "v_m": 0.01 / 0.6}
    first["query_time"] = digests.distribution([0.5, 0.7])
    first["measures"]["rows_sent"] |= digests.distribution([10.0, 20.0])
    lines = block(raw)
    cells = {label(line): line.split() for line in lines}
    assert cells["Exec time"][-2] == "141ms" and cells["Rows sent"][-2] == "7.07"
    assert "# Scores: V/M = 0.03" in lines
    assert math.isclose(first["query_time"]["stddev"], 0.1)
    # One value has none; what a log samples counts as often as it represents.
    first["query_time"] |= {**digests.distribution([0.5]), "stddev": 0.0}
    assert {label(line): line.split() for line in block(raw)}["Exec time"][-2] == "0"


def test_counts_and_rates_are_scaled_by_thousands_and_sums_by_1024() -> None:
    raw = digests.shop()
    raw["overall"] |= {"count": 30_536, "weighted_count": 30_536.0}
    raw["classes"][0] |= {"count": 30_000, "weighted_count": 30_000.0}
    made = pt.pt(parse(raw))
    assert re.search(r"^# Overall: 30.54k total, 4 unique, 50.\d\d QPS, 0.18x conc", made, re.M)
    assert "# Count         98   30000" in made
    assert pt.number(2100.0, "rate") == "2.10k" and pt.number(2.0, "rate") == "2"
    assert pt.number(2100.0, "count") == pt.number(2100.0, "bytes") == "2.05k"
    (title,) = [line for line in made.splitlines() if line.startswith("# Overall")]
    assert len(title) == 74


def test_sizes_of_statements_have_a_mean() -> None:
    (line,) = [line for line in block(digests.shop()) if label(line) == "Query size"]
    assert re.split(r"\s+", line)[3:] == ["9", "5.88k", "-", "-", "34", "-", "-", "-"]


def test_commands_are_administrator_commands() -> None:
    raw = digests.shop()
    raw["classes"][0] |= {"fingerprint": "command: Init DB", "distill": "Init DB", "tables": []}
    made = pt.pt(parse(raw))
    assert " ADMIN INIT DB\n" in made and "\nadministrator command: Init DB\\G\n" in made
    raw["classes"][0]["fingerprint"] = 'command: {"update":"users","updates":[{"q":{"a":?}}]}'
    assert "administrator" not in pt.pt(parse(raw))


def test_errors_are_the_last_errno_of_mysql() -> None:
    raw = digests.shop()
    raw["classes"][0] |= {"errors": 2, "error_codes": {"1213": 2}}
    strings = [line for line in block(raw) if label(line) in ("Databases", "Hosts", "Last errno")]
    assert [label(line) for line in strings] == ["Databases", "Hosts", "Last errno"]
    assert strings[-1] == "# Last errno   0 (175/98%), 1213 (2/1%)"
    raw["inputs"][0]["format"] = "postgres-csv"
    assert any(line == "# Errors       1213" for line in block(raw))


def test_brief_ends_behind_the_profile() -> None:
    made = pt.pt(parse(digests.shop()), brief=True)
    assert "# Profile" in made and "# Query 1" not in made
