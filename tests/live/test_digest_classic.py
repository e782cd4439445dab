"""The classic layout next to pt-query-digest's own report of the same log, a separate program that
is run where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Place, place

from needed import missing

pytestmark = pytest.mark.live

USER = "# User@Host: app[app] @ web1 [10.0.0.1]  Id:     7\n"
PERCONA = """# Schema: shop  Last_errno: {errno}  Killed: 0
# Query_time: 0.{time}00000  Lock_time: 0.000{time}00  Rows_sent: {n}0  Rows_examined: {n}000
# Rows_affected: 0  Bytes_sent: {n}0000
# Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: 126976
# QC_Hit: No  Full_scan: {scan}  Full_join: No  Tmp_table: Yes  Tmp_table_on_disk: No
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
#   InnoDB_IO_r_ops: {n}  InnoDB_IO_r_bytes: {n}6384  InnoDB_IO_r_wait: 0.00{n}000
#   InnoDB_rec_lock_wait: 0.0{n}0000  InnoDB_queue_wait: 0.000{n}00
#   InnoDB_pages_distinct: {n}0
"""
MARIADB = """# Thread_id: 7  Schema: shop  QC_hit: No
# Query_time: 0.{time}00000  Lock_time: 0.000{time}00  Rows_sent: {n}0  Rows_examined: {n}000
# Rows_affected: 0  Bytes_sent: {n}0000
# Full_scan: {scan}  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No
# Pages_accessed: {n}0  Pages_read: {n}  Pages_updated: 0  Old_rows_read: {n}
"""
NOT_OURS = {"Pages update"}  # not read
ROW = re.compile(r"^# (.{12})  ?(?: {2}| *\d+)? +(\S+) +(\S+) +(\S+) +(\S+) +\S+ +(\S+) +\S+$")


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        yield made


def log(header: str) -> str:
    """Two calls each of two statements, and a ping: of more, its deviations are estimates."""
    events = []
    for n in range(1, 5):
        statement = "select a from t where b = 5 limit 3" if n % 2 else "call p(5)"
        measures = header.format(
            n=n, time=n + 2, scan="Yes" if n < 4 else "No", errno=1213 * (n == 2)
        )
        stamp = f"# Time: 2026-11-01T10:00:0{n}.000000Z\n"
        if header is MARIADB:
            stamp = f"# Time: 261101 10:00:0{n}\n"
        events.append(f"{stamp}{USER}{measures}SET timestamp={1793527200 + n};\n{statement};\n")
    ping = "# Query_time: 0.000700  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0\n"
    stamp = events[-1].splitlines(keepends=True)[0]
    return "".join([*events, f"{stamp}{USER}{ping}SET timestamp=1793527204;\n"
                    "# administrator command: Ping;\n"])  # fmt: skip


def theirs(path: Path) -> str:
    program = shutil.which("pt-query-digest")
    if program is None:
        missing("no pt-query-digest: apt-get install percona-toolkit")
    return subprocess.run(
        [program, "--no-version-check", "--limit", "100%", path],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    ).stdout


def blocks(report: str) -> list[list[str]]:
    """The lines of each class, and before them those of all."""
    return [part.splitlines() for part in re.split(r"\n# Query (?=\d)", report)]


def rows(lines: list[str]) -> dict[str, tuple[str, ...]]:
    """Label -> total, min, max, avg and stddev of each measure."""
    found = {}
    for line in lines:
        if (row := ROW.match(line)) and "=" not in line and row[1].strip() != "Attribute":
            found[row[1].strip()] = row.groups()[1:]
    return {label: values for label, values in found.items() if label not in NOT_OURS}


@pytest.mark.parametrize(("header", "has_block"), [(PERCONA, True), (MARIADB, False)])
def test_a_report_is_that_of_the_program(here: Place, header: str, has_block: bool) -> None:
    path = here.path / "slow.log"
    path.write_text(log(header))
    there = theirs(path)
    done = here.dyno("digest", path, "--format", "pt", "--limit", "all")
    assert done.returncode == 0, done.stderr
    assert ("# InnoDB:" in done.stdout) == ("# InnoDB:" in there) == has_block
    mine, other = blocks(done.stdout), blocks(there)
    assert len(mine) == len(other) == 4
    title = re.compile(r"ID (0x[0-9A-F]{32}) at")
    for ours, theirs_ in zip(mine[1:], other[1:], strict=True):
        assert title.findall(ours[0]) == title.findall(theirs_[0])  # the same ID
        here_, there_ = rows(ours), rows(theirs_)
        del here_["Query size"], there_["Query size"]
        assert list(here_) == list(there_)
        assert here_ == there_
        for begin in ("# Scores", "# Count", "# Databases", "# Hosts", "# Full scan"):
            assert [x for x in ours if x.startswith(begin)] == [
                x for x in theirs_ if x.startswith(begin)
            ]
    assert any("Last errno" in line and "1213" in line for line in mine[2] + mine[1]) == has_block
    assert "administrator command: Ping\\G" in done.stdout and "ADMIN PING" in done.stdout
    assert list(rows(mine[0])) == list(rows(other[0]))
