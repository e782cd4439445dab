"""How files of tables grow and shrink on real servers, and what `dyno-engine tablespace` says;
page sizes, checksums and encryption beyond the defaults; files that are being written."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from innodb_tables import COLUMNS, DATABASE, SETTINGS, data_of, document, rows_of
from mysql_load import PRODUCTS, product_bench
from private_servers import patient
from running import wait_for

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

MIB = 1 << 20


@contextmanager
def started(product: str, **settings: str) -> Iterator[tuple[Any, Path]]:
    """A server with an empty schema, and the directory of its files."""
    with product_bench(product, SETTINGS | settings) as made:
        server = patient(made.start())
        try:
            server.rows(f"CREATE DATABASE {DATABASE}")
            yield server, data_of(made) / DATABASE
        finally:
            server.stop()


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Path]]:
    with started(request.param) as found:
        yield found


def exported(server: Any, file: Path) -> dict[str, Any]:
    """What the engine says of a table whose pages are all in its file."""
    server.rows(f"FLUSH TABLES {file.stem} FOR EXPORT", DATABASE)
    try:
        code, found = document(file)
    finally:
        server.rows("UNLOCK TABLES")
    assert code == 0
    return found[file.name]


def fill(server: Any, table: str, seed: int, rows: int = 12_000) -> None:
    limit = "cte_max_recursion_depth" if server.kind == "mysql" else "max_recursive_iterations"
    server.rows(f"SET SESSION {limit} = {rows + 1}")
    server.rows(
        f"INSERT IGNORE INTO {table} WITH RECURSIVE n AS"
        f" (SELECT {seed * rows} i UNION ALL SELECT i + 1 FROM n WHERE i < {(seed + 1) * rows})"
        " SELECT i * 7919 % 1000003, i * 31 % 100003, REPEAT(CHAR(65 + i % 26), 20 + i % 90), 'x'"
        " FROM n",
        DATABASE,
    )


def test_a_file_grows_by_pages_then_to_2_and_9_mib_then_by_extents(
    server: tuple[Any, Path],
) -> None:
    """32 single pages of the leaves; then the server makes, with the first extent that it needs,
    those that it keeps free."""
    there, directory = server
    file = directory / "growing.ibd"
    columns = "id INT AUTO_INCREMENT PRIMARY KEY, s CHAR(200)"
    there.rows(f"CREATE TABLE growing ({columns}) CHARSET latin1", DATABASE)
    sizes = [file.stat().st_size]
    stated = [exported(there, file)["next_growth_bytes"]]
    while len([size for size in sizes if size > 9 * MIB]) < 2:
        values = ", ".join(["(REPEAT('x', 200))"] * 60)
        there.rows(f"INSERT INTO growing (s) VALUES {values}", DATABASE)
        if (size := file.stat().st_size) != sizes[-1]:
            sizes.append(size)
            stated.append(exported(there, file)["next_growth_bytes"])
    small = [size for size in sizes if size < MIB]
    # MySQL's file has a page of serialized dictionary information more.
    assert small[-1] == (608 if there.kind == "mysql" else 592) << 10
    assert small[0] == (112 if there.kind == "mysql" else 64) << 10
    assert sizes[len(small) :] == [2 * MIB, 9 * MIB, 10 * MIB, 11 * MIB]
    assert set(stated[: len(small)]) == {16384} and set(stated[len(small) :]) == {MIB}
    assert exported(there, file)["kind"] == "table"


def test_optimize_leaves_what_was_predicted(server: tuple[Any, Path]) -> None:
    there, directory = server
    file = directory / "churned.ibd"
    there.rows(f"CREATE TABLE churned ({COLUMNS}) CHARSET latin1", DATABASE)
    for seed in range(5):
        fill(there, "churned", seed)
    there.rows("DELETE FROM churned WHERE id % 5 < 2", DATABASE)
    there.rows("UPDATE churned SET s = CONCAT(s, 'y') WHERE id % 7 = 0", DATABASE)
    rows = there.rows("SELECT COUNT(*) FROM churned", DATABASE)[0][0]
    before = purged(there, file, rows)
    there.rows("OPTIMIZE TABLE churned", DATABASE)
    after = exported(there, file)
    rebuild = before["rebuild"]
    assert rebuild["bytes"] == pytest.approx(after["apparent_bytes"], rel=0.1)
    gain = before["apparent_bytes"] - after["apparent_bytes"]
    assert rebuild["gain_bytes"] == pytest.approx(gain, rel=0.1)
    assert gain > 4 * MIB
    assert after["rebuild"]["gain_bytes"] <= after["apparent_bytes"] / 10
    clustered = next(one for one in after["indexes"] if one["is_clustered"] and not one["is_sdi"])
    # A sixteenth of each page of the clustered index stays free.
    assert clustered["levels"][0]["fill"] == pytest.approx(15 / 16, abs=0.02)


def purged(server: Any, file: Path, rows: int) -> dict[str, Any]:
    """The file once rows that were deleted are not in it any more."""
    for _ in range(900):
        found = exported(server, file)
        if {one["rows"] for one in found["indexes"] if not one["is_sdi"]} == {rows}:
            return found
        time.sleep(0.2)
    raise AssertionError("the server does not purge")


def test_beside_a_server_that_writes_no_page_counts_as_damaged(server: tuple[Any, Path]) -> None:
    there, directory = server
    there.rows(f"CREATE TABLE busy ({COLUMNS}) CHARSET latin1", DATABASE)
    there.rows("SET GLOBAL innodb_max_dirty_pages_pct = 0")
    fill(there, "busy", 0)
    file = directory / "busy.ibd"
    assert wait_for(lambda: document(file)[0] == 0)  # its first pages are still in memory
    done = threading.Event()

    def write() -> None:
        for n in itertools.count():
            if done.is_set():
                return
            there.rows(f"UPDATE busy SET a = a + 1 WHERE id % 3 = {n % 3}", DATABASE)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            code, found = document(file)
            assert code == 0, found
    finally:
        done.set()
        writer.join()


@pytest.mark.parametrize("product", ["mariadb-11.8", "mysql-9"])
@pytest.mark.parametrize("kib", [4, 8, 32, 64])
def test_every_page_size_is_read(product: str, kib: int) -> None:
    settings = {"innodb_page_size": f"{kib}k"}
    if product == "mysql-9":  # the smallest that it starts with
        settings["innodb_buffer_pool_size"] = "128M"
    with started(product, **settings) as (there, directory):
        there.rows(f"CREATE TABLE sized ({COLUMNS}) CHARSET latin1", DATABASE)
        for statement in rows_of(there.kind, "sized"):
            there.rows(statement, DATABASE)
        rows = there.rows("SELECT COUNT(*) FROM sized", DATABASE)[0][0]
        found = purged(there, directory / "sized.ibd", rows)
    assert found["format"]["page_bytes"] == found["format"]["physical_page_bytes"] == kib << 10
    assert found["format"]["extent_pages"] == {4: 256, 8: 128, 32: 64, 64: 64}[kib]
    data = [one for one in found["indexes"] if not one["is_sdi"]]
    assert [one["is_clustered"] for one in data] == [True, False, False]
    assert data[0]["leaf_segment"]["used_pages"] >= data[0]["levels"][0]["pages"]
    assert 0.2 < data[0]["levels"][0]["fill"] < 1


@pytest.mark.parametrize(
    ("product", "algorithm"),
    [("mysql-9", "innodb"), ("mysql-9", "none"), ("mariadb-10.11", "crc32")],
)
def test_every_checksum_is_verified(product: str, algorithm: str, tmp_path: Path) -> None:
    with started(product, innodb_checksum_algorithm=algorithm) as (there, directory):
        for name, options in (("plain", ""), ("zipped", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4")):
            there.rows(f"CREATE TABLE {name} (id INT PRIMARY KEY, s TEXT) {options}", DATABASE)
            there.rows(f"INSERT INTO {name} VALUES (1, REPEAT('abc', 5000)), (2, 'x')", DATABASE)
            file = directory / f"{name}.ibd"
            found = exported(there, file)
            assert [one["algorithm"] for one in found["format"]["checksums"]] == [algorithm]
            if algorithm == "none":
                continue
            damaged = tmp_path / file.name
            data = bytearray(file.read_bytes())
            page = found["format"]["physical_page_bytes"]
            data[2 * page + 500] ^= 1
            damaged.write_bytes(data)
            _, read = document(damaged)
            expected = [{"page": 2, "faults": ["checksum"]}]
            assert read[damaged.name]["corrupt"]["listed"] == expected


@pytest.mark.parametrize("checksum", ["full_crc32", "crc32"])
def test_encrypted_pages_are_verified_and_counted(checksum: str) -> None:
    with TemporaryDirectory(dir="/tmp") as readable:  # by the server's account
        Path(readable).chmod(0o755)
        keys = Path(readable) / "keys"
        keys.write_text("1;" + "ab" * 32 + "\n")
        settings = {
            "plugin_load_add": "file_key_management",
            "file_key_management_filename": str(keys),
            "innodb_checksum_algorithm": checksum,
        }
        with started("mariadb-10.11", **settings) as (there, directory):
            there.rows("CREATE TABLE secret (id INT PRIMARY KEY, s TEXT) ENCRYPTED=YES", DATABASE)
            there.rows("INSERT INTO secret VALUES (1, REPEAT('abc', 5000))", DATABASE)
            found = exported(there, directory / "secret.ibd")
    assert found["encrypted_pages"] >= 2
    assert found["rebuild"]["unknown"] == "encryption"
    assert {one["algorithm"] for one in found["format"]["checksums"]} == {checksum}
