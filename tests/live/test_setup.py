"""What `setup:` puts into real servers: files of SQL, templates; and what it refuses."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from private_servers import bench, binaries, running

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.execute.control import Control
from dbdyno.execute.engine.frequencies import Held
from dbdyno.execute.servers import columns
from dbdyno.execute.servers.columns import Wanted
from dbdyno.execute.servers.copying import copy_tree
from dbdyno.execute.servers.sql_files import import_file
from dbdyno.experiment.values import generators
from dbdyno.hosts import LOCAL
from dbdyno.systems.base import Server
from dbdyno.systems.process.account import account_for, run_as
from dbdyno.systems.process.scratch import Scratch
from needed import missing

pytestmark = pytest.mark.live

KINDS = ("sqlite", "mariadb", "postgres", "mysql")
TABLE = "CREATE TABLE {t} (\n  id INT PRIMARY KEY,\n  name VARCHAR(20)\n);\n"
ROWS = "INSERT INTO {t} VALUES (1, 'a;b'), (2, 'it''s');\nINSERT INTO {t} VALUES (3, NULL);\n"


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with running(request.param) as (_, started):
        started.create_schema("ours")
        yield started


def kind_of(server: Server) -> str:
    return getattr(server, "kind", "sqlite")


def read(server: Server, path: Path) -> list[str]:
    said: list[str] = []
    import_file(path, server, "ours", LOCAL, said.append, Control(said.append))
    return said


def refusal(server: Server, path: Path) -> DynoError:
    with pytest.raises(DynoError) as caught:
        read(server, path)
    assert "nothing of it is kept" in caught.value.what
    return caught.value


def count(server: Server, table: str) -> int:
    return int(server.run("ours", [f"SELECT COUNT(*) FROM {table}"])[0][0])


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_files_are_read_whole(server: Server, packed: str, tmp_path: Path) -> None:
    table = f"whole{packed.replace('.', '_')}"
    text = f"-- a comment\n\n{TABLE}{ROWS}".format(t=table).encode()
    path = tmp_path / f"dump.sql{packed}"
    path.write_bytes(gzip.compress(text) if packed == ".gz" else text)
    if packed == ".zst":
        if shutil.which("zstd") is None:
            missing("zstd is not installed: run `make servers`")
        path.write_bytes(subprocess.run(["zstd", "-c"], input=text, capture_output=True).stdout)
    assert read(server, path) == [f"reading {path.name}"]
    assert count(server, table) == 3


def test_a_line_that_the_server_refuses_is_named(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_text(f"{TABLE}{ROWS}INSERT INTO nowhere VALUES (1);\n{ROWS}".format(t="half"))
    error = refusal(server, path)
    assert error.where is not None
    assert (error.where.file, error.where.line) == (path, 7)
    assert "nowhere" in error.what


def test_a_file_that_was_cut_short_is_refused(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "dump.sql.gz"
    whole = gzip.compress((TABLE.format(t="cut") + "-- " + "x" * 1_000_000 + "\n").encode(), 0)
    path.write_bytes(whole[: len(whole) // 2])
    assert "cannot be unpacked" in refusal(server, path).what


LEAVES = {
    "mariadb": {
        "USE other;": "leaves our schema",
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT */;": "leaves",
        "/*!40000 DROP DATABASE IF EXISTS `shop`*/;": "leaves our schema",
        "INSERT INTO `mysql`.`user` VALUES (1);": "touches schema mysql",
        "SET @@GLOBAL.GTID_PURGED='x';": "changes the server",
        "GRANT ALL ON *.* TO x;": "changes the server",
    },
    "postgres": {
        "\\connect other": "leaves our database",
        "\\! touch {mark}": "command of the client",
        "SELECT 1 \\! touch {mark}": "",
        "CREATE DATABASE shop;": "leaves our database",
        "ALTER ROLE dyno NOLOGIN;": "changes the server",
        "COPY t TO PROGRAM 'touch {mark}';": "outside the database",
    },
    "sqlite": {"ATTACH '{mark}' AS other;": "another file would be attached"},
}
LEAVES["mysql"] = LEAVES["mariadb"]


def test_a_file_cannot_leave_its_schema(server: Server, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for number, (line, said) in enumerate(LEAVES[kind_of(server)].items()):
        path = tmp_path / f"{number}.sql"
        path.write_text("-- one\n" + line.format(mark=mark) + "\n")
        error = refusal(server, path)
        assert said in error.what, error
        assert error.where is None or error.where.line == 2
        assert not mark.exists(), line


@pytest.mark.parametrize("server", ["mariadb", "mysql"], indirect=True)
def test_the_client_sends_no_file_of_ours(server: Server, tmp_path: Path) -> None:
    server.run("ours", ["SET GLOBAL local_infile = 1", "CREATE TABLE taken (line TEXT)"])
    secret = tmp_path / "secret"
    secret.write_text("mine\n")
    path = tmp_path / "dump.sql"
    path.write_text(f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE taken;\n")
    refusal(server, path)
    assert count(server, "taken") == 0


@pytest.mark.parametrize("server", ["postgres"], indirect=True)  # no other system has COPY
def test_rows_of_copy_pass_unread(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_text(
        "\\restrict abc\nCREATE TABLE c (x text);\nCOPY public.c (x) FROM stdin;\n"
        "\\\\! touch x\nuse other;\nCREATE DATABASE x;\n\\.\nSELECT 1;\n\\unrestrict abc\n"
    )
    read(server, path)
    assert count(server, "c") == 3


def test_values_of_a_column_are_looked_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.sql"
    rows = ", ".join(f"({n}, 'n{n % 10}')" for n in range(1, 101))
    path.write_text(TABLE.format(t="looked") + f"INSERT INTO looked VALUES {rows};\n")
    read(server, path)
    id_, name = (Wanted(f"looked.{column}", is_counted=False) for column in ("id", "name"))
    assert columns.look_up(server, "ours", id_, 7) == Held([*range(1, 101)])
    assert columns.look_up(server, "ours", name, 7) == Held([f"n{n}" for n in range(10)])
    counted = columns.look_up(server, "ours", replace(name, is_counted=True), 7)
    assert counted == Held([f"n{n}" for n in range(10)], [10] * 10, 100)
    monkeypatch.setattr(columns, "VALUES_MAX", 30)
    some: list[Any] = [*columns.look_up(server, "ours", id_, 7).values]
    assert some == list(range(some[0], 101, 4))
    assert len(some) == 25
    counted = columns.look_up(server, "ours", replace(id_, is_counted=True), 7)
    assert counted == Held([*range(1, 101, 4)], [1] * 25, 100, 4)
    with pytest.raises(DynoError, match="nothere"):
        columns.look_up(server, "ours", Wanted("looked.nothere", is_counted=False), 7)
    server.run("ours", ["DELETE FROM looked"])
    with pytest.raises(DynoError, match="holds no values"):
        columns.look_up(server, "ours", id_, 7)


# -- templates -----------------------------------------------------------------------------------


def template(kind: str, into: Path) -> Path:
    """A stopped data directory with a schema `shop` and a table of three rows in it."""
    with bench(kind) as made:
        started = made.start()
        started.create_schema("shop")
        started.run("shop", [TABLE.format(t="t"), ROWS.format(t="t").splitlines()[0]])
        assert started.stop()
        source = made.directory / "shop.db" if kind == "sqlite" else made.directory / "data"
        target = into / source.name
        copy_tree(LOCAL, source, target)
    return target


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_starts_from_a_template(kind: str) -> None:
    system, found = systems.load(kind), binaries(kind)
    with Scratch() as scratch:
        source = template(kind, scratch.path)
        before = sorted((path, path.stat().st_mtime_ns) for path in source.rglob("*"))
        with bench(kind) as made:
            work = scratch.path / "work"
            system.place_template(found, source, work, partial(copy_tree, LOCAL))
            server = system.start(found, work, made.resolved, cpus=[])
            try:
                assert server.schemas() == ["shop"]
                assert server.run("shop", ["SELECT COUNT(*) FROM t"])[0][0] == 2
            finally:
                server.stop()
        assert before == sorted((path, path.stat().st_mtime_ns) for path in source.rglob("*"))


def test_a_template_of_postgres_needs_no_role_of_ours() -> None:
    system, found = systems.load("postgres"), binaries("postgres")
    account = account_for("postgres")
    with bench("postgres") as made, Scratch() as scratch:
        source = made.directory / "theirs"
        init: list[str | Path] = [
            found.paths["init"],
            f"--pgdata={source}",
            "--username=boss",
            "--no-sync",
        ]
        assert run_as(LOCAL, account, init, {"PATH": "/usr/bin:/bin"}, 120).returncode == 0
        work = scratch.path / "work"
        system.place_template(found, source, work, partial(copy_tree, LOCAL))
        server = system.start(found, work, made.resolved, cpus=[])
        try:
            assert server.run("postgres", ["SELECT current_user"])[0][0] == "dyno"
        finally:
            server.stop()


def test_what_is_no_template_is_refused(tmp_path: Path) -> None:
    for kind in ("sqlite", "mariadb", "postgres"):
        system, found = systems.load(kind), binaries(kind)
        with pytest.raises(DynoError, match="is not a d"):
            system.place_template(found, tmp_path, tmp_path / "work", partial(copy_tree, LOCAL))


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_template_in_use_or_with_links_is_refused(kind: str) -> None:
    system, found = systems.load(kind), binaries(kind)
    with running(kind) as (made, _), Scratch() as scratch:
        data = made.directory / "data"
        with pytest.raises(DynoError, match="a server runs on"):
            system.place_template(found, data, scratch.path / "work", partial(copy_tree, LOCAL))
    with Scratch() as scratch:
        source = template(kind, scratch.path)
        (source / "pg_tblspc" if kind == "postgres" else source).joinpath("16400").symlink_to("/")
        with pytest.raises(DynoError, match="leads out of the template"):
            system.place_template(found, source, scratch.path / "work", partial(copy_tree, LOCAL))


def test_at_most_so_many_values_are_looked_up() -> None:
    assert columns.VALUES_MAX == generators.VALUES_MAX == 100_000
