"""Data directories: the engine's documents as facts, the redo log's head, and where articles and
sizes by length mislead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno.facts.fact import Facts
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.innodb import redolog
from dbdyno.facts.innodb.tablespaces import ROWS_MAX, Space, named, row_of
from dbdyno.rules.check import judging
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import Found
from fixtures.rules.space import GIB, KIB, MIB, directory, file, shared, slack

PAGE = 16 * KIB


def found(facts: Facts, rule: str) -> list[Found]:
    return [one.found for one in judging.judge([facts], RULES, only=[rule]).findings]


def document(
    path: str = "/data/db/t.ibd", *, pages: int = 576, allocated: int | None = None, **more: Any
) -> dict[str, Any]:
    """A file of the engine: 9 MiB, seven extents free."""
    size = pages * PAGE
    level = {"record_bytes": 900_000, "usable_bytes": 1_000_000}
    usual = {
        "path": path,
        "kind": "table",
        "apparent_bytes": size,
        "allocated_bytes": size if allocated is None else allocated,
        "format": {"physical_page_bytes": PAGE, "extent_pages": 64},
        "free": {"extent_pages": 448, "beyond_limit_pages": 0, "reserved_pages": 3,
                 "bytes": 451 * PAGE},
        "indexes": [{"is_clustered": True, "levels": [level]}],
        "rebuild": {"bytes": 40 * PAGE, "gain_bytes": size - 40 * PAGE, "unknown": None},
        "next_growth_bytes": MIB,
        "lsn": {"max": 4711},
        "corrupt": {"pages": 0, "listed": []},
    }  # fmt: skip
    return usual | more


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("db/t.ibd", ("db", "t", "")),
        ("my@002ddb/t@0023x.ibd", ("my-db", "t#x", "")),
        ("db/t#p#p0.ibd", ("db", "t", "p0")),
        ("db/t#P#p0#SP#s1.ibd", ("db", "t", "p0")),
        ("db/#sql-ib120-4.ibd", ("db", "", "")),
        ("db/FTS_00000000000004b1_BEING_DELETED.ibd", ("db", "", "")),
        ("db/caf@0h.ibd", ("db", "", "")),
        ("ibdata1", ("", "ibdata1", "")),
    ],
)
def test_tables_are_named_only_where_a_statement_can(path: str, names: tuple[str, ...]) -> None:
    assert named(path) == names


def test_what_a_sparse_file_would_give_back_was_never_taken() -> None:
    """225 KiB on disk of 9 MiB: by its length a rebuild gives back 8.4 MiB."""
    row = row_of(document(allocated=225 * KIB), "db/t.ibd")
    assert row["gain_bytes"] > 8 * MIB and row["disk_gain_bytes"] == 0
    assert row_of(document(), "db/t.ibd")["disk_gain_bytes"] == row["gain_bytes"]


def test_memory_does_not_grow_with_files_and_totals_count_all() -> None:
    space, number = Space(Path("/data")), 3 * ROWS_MAX
    for i in range(number):
        space.add({"event": "tablespace", "tablespace": document(f"/data/db/t{i}.ibd")})
    space.add({"event": "tablespace", "tablespace": document("/data/db/small.ibd", pages=37)})
    space.add({"event": "skipped", "path": "/data/x.ibd", "what": "Permission denied"})
    gathered = Gathered()
    space.put(gathered)
    facts = gathered.facts("/data", "directory", "mariadb")
    assert facts.fact("space.files").value == number + 1
    assert facts.fact("space.kept_bytes").value == number * 7 * MIB
    assert facts.fact("space.jump_files").value == 1
    assert len(facts.table("tablespaces").rows) <= 4 * ROWS_MAX
    assert facts.table("schemas").rows[0]["files"] == number + 1
    assert "x.ibd: Permission denied" in facts.missing["unread files"]


def test_a_hundred_thousand_tables_of_one_megabyte_are_900_gb() -> None:
    total = 100_000 * 9 * MIB
    facts = directory(
        [file()], kept_files=100_000, kept_bytes=100_000 * 7 * MIB, kept_used_bytes=200_000 * MIB,
        apparent_bytes=total, jump_files=1000,
    )  # fmt: skip
    (one,) = judging.judge([facts], RULES, only=["innodb-small-files-kept-extents"]).findings
    assert one.severity == "medium"
    assert "100,000 small files keep 684 GiB" in one.found.what
    assert "77.8 % of all files' length" in one.found.effect  # 7 of 9 MiB
    assert "8.79 GiB" in one.found.effect  # 1,000 tables at 592 KiB are next


def test_a_partition_is_rebuilt_alone() -> None:
    (one,) = found(directory([slack(path="db/t#p#p0.ibd")]), "innodb-table-slack")
    assert one.fix.statements == ("ALTER TABLE `db`.`t` REBUILD PARTITION `p0`",)
    (one,) = found(directory([slack()]), "innodb-table-slack")
    assert one.fix.statements == ("OPTIMIZE TABLE `shop`.`orders`",)
    assert "about 60 MiB" in one.effect and "needs 40 MiB" in one.effect


def test_a_rebuild_that_does_not_fit_is_no_fix() -> None:
    full = directory([slack()], available_bytes=10 * MIB)
    (one,) = found(full, "innodb-table-slack")
    assert not one.fix.statements and "has 10 MiB left" in one.effect


def test_the_system_tablespace_shrinks_in_newer_mariadb_alone() -> None:
    old = directory([shared("ibdata1", "system", 2 * GIB)])
    new = directory([shared("ibdata1", "system", 2 * GIB)], version=(11, 4))
    assert "never shrinks" in found(old, "innodb-system-tablespace-free")[0].fix.edits[0]
    assert "autoshrink" in found(new, "innodb-system-tablespace-free")[0].fix.edits[0]


def test_files_that_were_not_read_are_not_fine() -> None:
    skipped = [{"path": "db", "reason": "Permission denied (os error 13)"}]
    facts = directory([file()], skipped=skipped)
    assert judging.judge([facts], RULES, only=["innodb-pages-corrupt"]).counts["fine"] == 1
    unread = Gathered()
    unread.lacks("unread files", "1 files or directories, such as db: Permission denied")
    facts = Facts(**{**vars(facts), "missing": {"unread files": "1 files"}})
    assert judging.judge([facts], RULES, only=["innodb-pages-corrupt"]).counts["not known"] == 1


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("ib_logfile0", {0: b"Phys", 16: b"MariaDB 10.11.6", 4096: 900, 8192: 800},
         (900 + 16384, "mariadb", (10, 11, 6))),
        ("ib_logfile0", {0: b"PHYS", 16: b"MariaDB 10.6.2", 520: 70, 1544: 90, 4096: 5000},
         (90 + 16384, "mariadb", (10, 6, 2))),
        ("ib_logfile0", {520: 70, 1544: 60}, (70 + 16384, "", ())),
        ("#innodb_redo/#ib_redo7", {8: 4000, 16: b"MySQL 9.2.0", 520: 3000},
         (4000 + 16384, "mysql", (9, 2, 0))),
    ],
)  # fmt: skip
def test_the_redo_log_bounds_lsns_and_names_its_server(
    name: str, head: dict[int, bytes | int], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    data = bytearray(16384)
    for place, value in head.items():
        written = value if isinstance(value, bytes) else value.to_bytes(8, "big")
        data[place : place + len(written)] = written
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(data)
    (tmp_path / name).with_name("#ib_redo8_tmp").write_bytes(bytes([255] * 16384))
    log = redolog.read(tmp_path)
    assert log is not None
    assert (log.most_lsn, log.engine, log.version) == expected
    assert redolog.read(tmp_path / "elsewhere") is None
