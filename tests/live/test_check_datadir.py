"""`dyno check DATADIR` of real servers: slack that OPTIMIZE gives back, a healthy twin,
damage, and pages of another server's future."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from innodb_tables import COLUMNS, DATABASE
from mysql_load import PRODUCTS
from test_check import check, found, severe
from test_tablespace_growth import fill, purged, started

from dbdyno.facts.at_rest import tablespaces
from dbdyno.facts.fact import Facts
from dbdyno.facts.files import datadir
from dbdyno.facts.gathered import Gathered
from dbdyno.hosts import LOCAL

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="the files are another account's"),
]
MIB = 1 << 20
ONLY = ("--json", "--only", "space")
LEAST = 8 * MIB  # below, a table is no finding


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Path]]:
    with started(request.param) as found_there:
        yield found_there


def filled(there: Any, table: str, batches: int = 6) -> None:
    there.rows(f"CREATE TABLE {table} ({COLUMNS}) CHARSET latin1", DATABASE)
    for seed in range(batches):
        fill(there, table, seed)


def flushed(there: Any, table: str, file: Path) -> None:
    """All pages in the file, nothing left to purge."""
    purged(there, file, there.rows(f"SELECT COUNT(*) FROM {table}", DATABASE)[0][0])


def test_planted_slack_is_what_optimize_gives_back_and_its_twin_is_silent(
    server: tuple[Any, Path],
) -> None:
    there, directory = server
    datadir = directory.parent
    before = check(*ONLY, datadir)
    assert found(before) == set()  # a new server, and running
    assert before["subjects"][0]["engine"] == there.kind
    for table in ("thinned", "healthy"):
        filled(there, table)
    there.rows("DELETE FROM thinned WHERE id % 10 > 1", DATABASE)
    there.rows("OPTIMIZE TABLE healthy", DATABASE)
    for table in ("thinned", "healthy"):
        flushed(there, table, directory / f"{table}.ibd")
    document = check(*ONLY, datadir)
    assert {one["about"] for one in document["findings"]} == {f"{DATABASE}/thinned.ibd"}
    assert severe(document) == []
    promised = {
        one["path"]: one["disk_gain_bytes"] for one in document["subjects"][0]["space"]["files"]
    }
    size = (directory / "thinned.ibd").stat().st_blocks * 512
    (statement,) = document["findings"][0]["fix"]["statements"]
    there.rows(statement)
    flushed(there, "thinned", directory / "thinned.ibd")
    gain = size - (directory / "thinned.ibd").stat().st_blocks * 512
    assert gain > LEAST
    assert promised[f"{DATABASE}/thinned.ibd"] == pytest.approx(gain, rel=0.1)
    assert found(check(*ONLY, datadir)) == set()


def by_pages(facts: Facts) -> set[str]:
    """Files of tables whose encryption is judged by their pages, not by samples alone. Temporary
    tablespaces come and go while the server runs."""
    rows = [row for row in facts.table("at_rest").rows if row["path"].endswith(".ibd")]
    return {row["path"] for row in rows if " pages are " in row["how"]}


def test_one_scan_serves_both_packs(
    server: tuple[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, directory = server
    there.rows("CREATE TABLE read_once (id INT PRIMARY KEY)", DATABASE)
    flushed(there, "read_once", directory / "read_once.ibd")
    scans: list[list[Path]] = []
    start = LOCAL.start

    def counted(command: Any, **more: Any) -> Any:
        scans.append(command[3:])
        return start(command, **more)

    monkeypatch.setattr(LOCAL, "start", counted)

    def read(*packs: str) -> Facts:
        scans.clear()
        return datadir.read(directory.parent, Gathered(), packs=packs)

    encryption = read("encryption")
    assert str(directory / "read_once.ibd") in by_pages(encryption)
    assert {*map(str, scans[0])} >= by_pages(encryption) and len(scans) == 1
    assert "tablespaces" not in encryption.tables
    monkeypatch.setattr(tablespaces, "BYTES_MAX", 0)
    assert by_pages(read("encryption")) == set() and scans == []
    both = read("encryption", "space")
    assert by_pages(both) == by_pages(encryption)  # without a bound
    assert both.fact("space.files").value >= len(by_pages(both))
    assert scans == [[directory.parent]]
    assert "at_rest" not in read("space").tables and scans == [[directory.parent]]
    assert not read("platform").tables.keys() & {"tablespaces", "at_rest"} and scans == []


def test_damage_and_pages_of_the_future_are_critical(
    server: tuple[Any, Path], tmp_path: Path
) -> None:
    there, directory = server
    there.rows("CREATE TABLE victim (id INT PRIMARY KEY)", DATABASE)
    flushed(there, "victim", directory / "victim.ibd")
    copy = tmp_path / "data"
    (copy / DATABASE).mkdir(parents=True)
    victim = copy / DATABASE / "victim.ibd"
    os.kill(there.pid, signal.SIGSTOP)  # its threads in the background write now and then
    try:
        for path in directory.parent.iterdir():
            if path.name.startswith(("ibdata", "ib_logfile", "#innodb_redo")):
                (shutil.copytree if path.is_dir() else shutil.copy)(path, copy / path.name)
        shutil.copy(directory / "victim.ibd", victim)
    finally:
        os.kill(there.pid, signal.SIGCONT)
    assert found(check(*ONLY, copy)) == set()
    log = next(iter([*copy.glob("#innodb_redo/#ib_redo*[0-9]"), *copy.glob("ib_logfile0")]))
    with log.open("r+b") as written:  # a log of a server that has just begun
        for place in (8, 520, 1544, 4096, 8192):
            written.seek(place)
            written.write(bytes(8))
    for other in log.parent.glob("#ib_redo*"):
        if other != log:
            other.unlink()
    os.truncate(log, 16384)
    document = check(*ONLY, copy)
    assert found(document) == {"innodb-lsn-in-future"}
    with victim.open("r+b") as written:
        written.seek(3 * 16384 + 200)
        written.write(b"damaged")
    whole = check(*ONLY, copy)
    by_rule = {one["rule"]: one for one in whole["findings"]}
    assert by_rule["innodb-pages-corrupt"]["severity"] == "critical"
    assert "3 (checksum" in by_rule["innodb-pages-corrupt"]["what"]
    victim.write_bytes(bytes(5 * 16384 - 1) + b"x")
    assert "innodb-pages-corrupt" in found(check(*ONLY, copy))


def test_holes_are_not_promised(server: tuple[Any, Path], tmp_path: Path) -> None:
    """A copy with holes, as a file system that compresses has it: its length promises megabytes."""
    there, directory = server
    filled(there, "holed", 3)
    there.rows("DELETE FROM holed WHERE id > 20", DATABASE)
    flushed(there, "holed", directory / "holed.ibd")
    (tmp_path / DATABASE).mkdir()
    for path in directory.parent.glob("ibdata1"):
        shutil.copy(path, tmp_path)
    dense = directory / "holed.ibd"
    holed = tmp_path / DATABASE / "holed.ibd"
    page = 16384
    with dense.open("rb") as source, holed.open("wb") as target:
        for number in range(dense.stat().st_size // page):
            data = source.read(page)
            # What was written and is free now is a hole: pages behind the first 60.
            if number < 60 and any(data):
                target.seek(number * page)
                target.write(data)
        target.truncate(dense.stat().st_size)
    document = check(*ONLY, tmp_path)
    (file,) = [one for one in document["subjects"][0]["space"]["files"] if "holed" in one["path"]]
    assert file["apparent_bytes"] > 8 * file["allocated_bytes"] > 0
    assert file["disk_gain_bytes"] < 1 * MIB
    assert "innodb-table-slack" not in found(document)
