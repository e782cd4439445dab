"""`dyno-engine tablespace` compared with the servers whose files it reads, and with their tools."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from innodb_tables import (
    DATABASE,
    Facts,
    document,
    index_summary,
    lengths_of,
    ours,
    stopped,
    summary,
)
from mysql_load import PRODUCTS

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

Files = Mapping[str, Mapping[str, Any]]


MYSQL = [product for product, (vendor, *_) in PRODUCTS.items() if vendor == "mysql"]
MARIADB = [product for product in PRODUCTS if product not in MYSQL]


@pytest.fixture(scope="module", params=PRODUCTS)
def facts(request: pytest.FixtureRequest) -> Iterator[Facts]:
    with stopped(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def read(facts: Facts) -> Files:
    code, found = document(facts.directory)
    assert code == 0
    return found


def files(facts: Facts) -> list[Path]:
    return sorted((facts.directory / DATABASE).glob("*.ibd"))


def file_of(read: Files, table: str) -> Mapping[str, Any]:
    return read["gen.ibd" if table == "shared" else f"{table}.ibd"]


def test_nothing_is_damaged_and_every_page_is_counted(facts: Facts, read: Files) -> None:
    assert {path.name for path in files(facts)} | {"ibdata1"} <= read.keys()
    for file in read.values():
        assert file["corrupt"] == {"pages": 0, "listed": [], "torn_pages": 0}
        counted = sum(one["pages"] for one in file["page_types"]) + file["doublewrite_pages"]
        assert counted == file["pages"] and file["trailing_bytes"] == 0


def test_kinds_and_vendors_are_those_of_the_server(facts: Facts, read: Files) -> None:
    vendor = PRODUCTS[facts.product][0]
    # Without full_crc32, nothing in a file tells MariaDB's from those of MySQL before 8.0.
    vendors = {file["format"]["vendor"] for file in read.values()}
    assert vendors == ({"mysql"} if vendor == "mysql" else {"mariadb", "unknown"})
    assert read["compressed.ibd"]["format"]["physical_page_bytes"] == 8192
    kinds = {name: file["kind"] for name, file in read.items()}
    assert kinds["ibdata1"] == "system" and kinds["dynamic.ibd"] == "table"
    assert all(kind == "undo" for name, kind in kinds.items() if name.startswith("undo"))
    parts = [file for name, file in read.items() if re.match("parted#p#p[01]", name, re.I)]
    assert [(one["kind"], one["partition_of"]) for one in parts] == [("partition", "parted")] * 2
    if vendor == "mysql":
        assert (kinds["gen.ibd"], kinds["mysql.ibd"]) == ("general", "dictionary")


def test_page_compressed_pages_are_counted_with_their_bytes(read: Files) -> None:
    compressed = read["paged.ibd"]["page_compressed"]
    assert compressed["pages"] > 20
    assert 0 < compressed["stored_bytes"] < compressed["pages"] * 16384 / 2
    # Holes are no bytes on disk, unless the file system makes none.
    assert read["paged.ibd"]["allocated_bytes"] <= read["paged.ibd"]["apparent_bytes"]


def test_pages_by_type_are_those_of_innochecksum(facts: Facts, read: Files) -> None:
    for path in files(facts):
        assert ours(read[path.name]) == summary(facts, path), path.name


# MySQL's innochecksum does not list indexes.
@pytest.mark.parametrize("facts", MARIADB, indirect=True, scope="module")
def test_indexes_are_as_full_as_innochecksum_finds_them(facts: Facts, read: Files) -> None:
    for table in ("dynamic", "compact", "redundant", "compressed"):
        theirs = index_summary(facts, facts.directory / DATABASE / f"{table}.ibd")
        for index in file_of(read, table)["indexes"]:
            if index["is_sdi"]:
                continue
            levels = index["levels"]
            pages, leaves, _, mean_bytes = theirs[index["id"]]
            assert (index["pages"], levels[0]["pages"]) == (pages, leaves)
            assert sum(one["record_bytes"] for one in levels) // pages == mean_bytes
            assert sum(sum(one["pages_by_fill"]) for one in levels) == pages


def test_spaces_roots_and_segments_are_those_of_the_dictionary(facts: Facts, read: Files) -> None:
    assert facts.indexes.keys() >= {"dynamic", "compact", "redundant", "compressed", "vacant"}
    for table, indexes in facts.indexes.items():
        file = file_of(read, table)
        assert file["space"] == facts.spaces[table]
        known = {one["id"]: one for one in file["indexes"]}
        if table == "paged":  # the content of its pages is not read
            assert known == {}
            continue
        for name, (number, root, size, leaves) in indexes.items():
            segments = [known[number]["leaf_segment"], known[number]["upper_segment"]]
            assert known[number]["root_page"] == root
            assert sum(one["reserved_pages"] for one in segments) == size, (table, name)
            # MariaDB keeps 1 for indexes that are not clustered.
            if name == "PRIMARY" or PRODUCTS[facts.product][0] == "mysql":
                assert max(1, segments[0]["used_pages"]) == leaves, (table, name)


def test_sizes_and_rows_are_those_of_information_schema(facts: Facts, read: Files) -> None:
    for table in ("dynamic", "compact", "redundant", "compressed", "vacant"):
        file = file_of(read, table)
        page = file["format"]["physical_page_bytes"]
        indexes = [one for one in file["indexes"] if not one["is_sdi"]]
        clustered, others = lengths_of(indexes)
        data, index, free, rows = facts.tables[table]
        assert (clustered * page, others * page) == (data, index), table
        assert file["free"]["data_free_bytes"] == free
        assert {one["rows"] for one in indexes} == {rows}
        assert [one["is_clustered"] for one in indexes] == [True, False, False][: len(indexes)]


def test_free_space_is_what_no_index_uses(read: Files) -> None:
    for name in ("dynamic.ibd", "redundant.ibd"):
        file = read[name]
        used = sum(one["pages"] - one["free_pages"] for one in file["page_types"])
        never = next(one for one in file["page_types"] if one["type"] == "allocated")
        used -= never["pages"] - never["free_pages"]
        # Pages that are reserved and were never written, too, are free.
        assert file["free"]["bytes"] == (file["pages"] - used) * 16384


@pytest.mark.parametrize("facts", MYSQL, indirect=True, scope="module")
def test_sdi_names_the_same_indexes(facts: Facts, read: Files) -> None:
    path = facts.directory / DATABASE / "dynamic.ibd"
    command = [*facts.program("ibd2sdi"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    named = set(re.findall(r"id=(\d+);root=(\d+);space_id=(\d+)", done.stdout))
    found = read["dynamic.ibd"]
    indexes = [one for one in found["indexes"] if not one["is_sdi"]]
    assert named == {
        (str(one["id"]), str(one["root_page"]), str(found["space"])) for one in indexes
    }
    (sdi,) = (one for one in found["indexes"] if one["is_sdi"])
    assert sdi["rows"] == len(json.loads(done.stdout)) - 1


@pytest.mark.parametrize("table", ["dynamic", "compressed", "redundant"])
def test_a_flipped_bit_is_reported_as_exactly_its_page(
    facts: Facts, read: Files, table: str, tmp_path: Path
) -> None:
    file = read[f"{table}.ibd"]
    page = file["format"]["physical_page_bytes"]
    root = next(one["root_page"] for one in file["indexes"] if one["is_clustered"])
    for number, place in [(0, 60), (root, 200), (file["pages"] // 3, 26), (2, page - 2)]:
        damaged = tmp_path / f"{table}.ibd"
        shutil.copy(facts.directory / DATABASE / damaged.name, damaged)
        with damaged.open("r+b") as written:
            written.seek(number * page)
            if not any(written.read(page)):
                continue  # a page of zeroes is one that was never written
            written.seek(number * page + place)
            byte = written.read(1)[0]
            written.seek(number * page + place)
            written.write(bytes([byte ^ 4]))
        if place == 26 and not file["format"]["flags"]["is_full_crc32"]:
            continue  # that place is in no sum
        code, found = document(damaged)
        assert code == 1
        assert [one["page"] for one in found[damaged.name]["corrupt"]["listed"]] == [number]
        assert found[damaged.name]["corrupt"]["pages"] == 1
