"""What is encrypted, from bytes: headers, entropy, keys in logs, the device; and the matrix."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zlib
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from dbdyno.cli.main import dyno
from dbdyno.execute.needle import searching
from dbdyno.facts import document, keyleaks
from dbdyno.facts.at_rest import classes, disk, entropy, headers, tablespaces
from dbdyno.facts.secret import HIDDEN, told
from dbdyno.rules.check.encryption import matrix
from fixtures.rules import file
from fixtures.rules.encryption import (
    ENCRYPTED_TABLES,
    GENERAL,
    directory,
    mysql,
    mysql_sessions,
    postgres,
    seen,
    session,
    spaces,
)

ROOT = Path(__file__).parents[2]
RANDOM = random.Random(9).randbytes(64 << 10)
ROWS = b"".join(b"%08d name%d street %d" % (n, n, n * 7) for n in range(4000))
KEY = "planted-key-4711"


# -- entropy -------------------------------------------------------------------------------------


def test_samples_of_random_bytes_are_random_and_rows_are_readable() -> None:
    assert entropy.sample(io.BytesIO(RANDOM), len(RANDOM)) == entropy.Sampled(random=16)
    found = entropy.sample(io.BytesIO(ROWS), len(ROWS))
    assert found.random == 0 and found.readable > 10 and found.readable_at == 0


def test_what_is_compressed_looks_as_if_it_were_encrypted() -> None:
    packed = zlib.compress(random.Random(9).randbytes(20_000).hex().encode(), 9)
    assert entropy.sample(io.BytesIO(packed), len(packed)).readable == 0


def test_unused_ends_do_not_count() -> None:
    content = RANDOM[:6000] + bytes(20_000)
    assert entropy.sample(io.BytesIO(content), len(content)) == entropy.Sampled(random=2)


def test_samples_of_a_large_file_are_bounded_and_spread() -> None:
    offsets = entropy._offsets(1 << 40, 65536)
    assert len(offsets) == entropy.WINDOWS_MAX
    assert offsets[0] == 65536 and offsets[-1] > (1 << 40) * 0.97


# -- headers -------------------------------------------------------------------------------------


def block(number: int, *, encrypted: bool) -> bytes:
    length = 512 | (0x8000 if encrypted else 0)
    return struct.pack(">IH", number, length) + RANDOM[:506]


def test_a_redo_log_of_mysql_is_plain_as_long_as_one_block_is() -> None:
    begin = b"\0\0\0\6".ljust(2048, b"\0")
    both = block(1, encrypted=True) + block(2, encrypted=False)
    found = headers.redo(io.BytesIO(begin + both + bytes(512)))
    assert (found.state, found.offset) == ("plain", 2048 + 512)
    assert headers.redo(io.BytesIO(begin + block(1, encrypted=True))).state == "encrypted"
    assert headers.redo(io.BytesIO(begin + bytes(5120))).state == "empty"


@pytest.mark.parametrize(
    ("plain", "encrypted", "key"),
    [
        (103, 103 | 1 << 31, 0),
        (104, 104 | 1 << 31, 0),
        (0x50485953, 0xD0485953, 0),
        (0x50687973, 0x50687973, 1),  # since 10.8 the format is the same
        (0x50687973, 0xF09F979D, 1),
    ],
)
def test_a_redo_log_of_mariadb_says_it_in_its_header(plain: int, encrypted: int, key: int) -> None:
    def head(form: int, key: int) -> io.BytesIO:
        raw = struct.pack(">I", form).ljust(16, b"\0") + b"MariaDB".ljust(32, b"\0")
        return io.BytesIO((raw + struct.pack(">I", key)).ljust(2048, b"\0"))

    assert headers.redo(head(plain, 0)).state == "plain"
    assert headers.redo(head(encrypted, key)).state == "encrypted"


def event(kind: int, length: int) -> bytes:
    return struct.pack("<IBIII", 0, kind, 1, length, 0).ljust(length, b"\0")


def test_binary_logs_by_magic_and_by_the_event_that_starts_the_encryption() -> None:
    described = b"\xfebin" + event(15, 120)
    assert headers.binlog(io.BytesIO(b"\xfdbin" + RANDOM)).state == "encrypted"
    assert headers.binlog(io.BytesIO(described + event(164, 36))).state == "encrypted"
    assert headers.binlog(io.BytesIO(described + event(163, 36))).state == "plain"
    assert headers.binlog(io.BytesIO(described)).state == "plain"
    assert headers.binlog(io.BytesIO(b"\xfebin")).state == "not known"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ibdata1", classes.SYSTEM),
        ("undo_001", classes.UNDO),
        ("undo001", classes.UNDO),
        ("mysql.ibd", classes.DICTIONARY),
        ("ib_logfile0", classes.REDO),
        ("#ib_redo12", classes.REDO),
        ("ibtmp1", classes.TEMPORARY),
        ("temp_3.ibt", classes.TEMPORARY),
        ("orders.ibd", classes.TABLES),
        ("user.MAD", classes.OTHER),
        ("aria_log.00000001", classes.ARIA_LOG),
        ("db1-slow.log", classes.TEXT_LOG),
        ("slow_log.CSV", classes.TEXT_LOG),
        ("#ib_16384_0.dblwr", classes.DOUBLEWRITE),
        ("orders.frm", None),
        ("ib_buffer_pool", None),
    ],
)
def test_files_by_name(name: str, kind: str | None) -> None:
    assert classes.of(Path(name), b"") == kind


def test_a_binary_log_has_any_name() -> None:
    assert classes.of(Path("whatever.000001"), b"\xfebin1234") == classes.BINLOG


def told_pages(**more: object) -> dict[str, object]:
    types = [{"type": "space_header", "pages": 1}, {"type": "index", "pages": 9}]
    made = {"pages": 140, "empty_pages": 2, "encrypted_pages": 0, "page_types": types}
    made["doublewrite_pages"] = 128
    return {**made, "format": {"physical_page_bytes": 16384}, **more}


@pytest.mark.parametrize(
    ("encrypted", "state"), [(0, "plain"), (9, "encrypted"), (5, "partly encrypted")]
)
def test_a_tablespace_is_judged_by_its_pages(encrypted: int, state: str) -> None:
    assert tablespaces.header(told_pages(encrypted_pages=encrypted)).state == state


def test_the_smallest_files_are_read_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tablespaces, "BYTES_MAX", 30)
    files = {Path("c"): 11, Path("a"): 20, Path("b"): 10}
    assert tablespaces.chosen(files) == [Path("b"), Path("c")]


# -- the device ----------------------------------------------------------------------------------


def test_dm_crypt_is_seen_below_a_logical_volume(tmp_path: Path) -> None:
    device = os.stat(tmp_path).st_dev
    volume = tmp_path / f"{os.major(device)}:{os.minor(device)}"
    assert disk.encryption(tmp_path, tmp_path)[0] == ""
    below = volume / "slaves" / "dm-0" / "dm"
    below.mkdir(parents=True)
    (volume / "dm").mkdir()
    (volume / "dm" / "uuid").write_text("LVM-abc\n")
    (below / "uuid").write_text("CRYPT-LUKS2-0123-name\n")
    assert disk.encryption(tmp_path, tmp_path) == ("LUKS2", str(below / "uuid"))


# -- keys in logs --------------------------------------------------------------------------------

LEAKS = {
    f"SELECT AES_ENCRYPT('d', '{KEY}')": "the key of AES_ENCRYPT",
    f"SELECT aes_decrypt(c, UNHEX(SHA2('{KEY}', 512)))": "the key of AES_DECRYPT",
    "SELECT AES_ENCRYPT(c, 0xABCDEF)": "the key of AES_ENCRYPT",
    f"SELECT pgp_sym_encrypt($1, '{KEY}', 'cipher-algo=aes256')": "the key of PGP_SYM_ENCRYPT",
    f"CREATE USER a IDENTIFIED BY '{KEY}'": "an account's password",
    f"CREATE USER a IDENTIFIED WITH 'x' BY '{KEY}'": "an account's password",
    f"CREATE USER a IDENTIFIED VIA ed25519 USING PASSWORD('{KEY}')": "a password",
    f"CHANGE MASTER TO MASTER_HOST = 'h', MASTER_PASSWORD='{KEY}'": "a source's password",
    f"ALTER ROLE a PASSWORD '{KEY}'": "a password",
}
SILENT = (
    "SELECT AES_ENCRYPT('a,b)', @key), 'x'",
    "SELECT AES_ENCRYPT(?, ?)",
    "SELECT pgp_sym_encrypt($1, $2, 'cipher-algo=aes256')",
    "CREATE USER a IDENTIFIED BY <secret>",
    "CREATE USER a IDENTIFIED BY '*****'",
    "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$abc'",
    "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD '*0123456789ABCDEF0123456789ABCDEF01234567'",
    "CREATE TABLE t (password VARCHAR(20), name VARCHAR(9) DEFAULT 'x')",
)


@pytest.mark.parametrize("statement", LEAKS)
def test_a_key_in_a_statement_is_seen(statement: str) -> None:
    (row,) = keyleaks.rows("a.log", f"first\n\n{statement};\n".encode())
    assert row == {"sort": LEAKS[statement], "place": "a.log:3:1"}


def test_the_values_of_parameters_are_in_the_line_after_the_statement() -> None:
    """A key that is given as a parameter is as readable in PostgreSQL's log as a literal."""
    statement = "UTC [7] LOG:  execute <unnamed>: SELECT pgp_sym_encrypt($1, $2)\n"
    detail = f"UTC [7] DETAIL:  Parameters: $1 = 'address', $2 = '{KEY}'\n"
    (row,) = keyleaks.rows("pg.log", (statement + detail).encode())
    assert row == {"sort": "the key of PGP_SYM_ENCRYPT", "place": "pg.log:1:1"}
    assert keyleaks.rows("pg.log", statement.encode()) == []
    other = statement + "UTC [7] LOG:  duration: 1 ms\n" + detail
    assert keyleaks.rows("pg.log", other.encode()) == []


@pytest.mark.parametrize("word", ["AES_ENCRYPT('", "IDENTIFIED BY '"])
def test_a_log_that_was_written_to_slow_its_reader_is_read_in_part(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strings without an end, each of which would be searched to the end of the log."""
    monkeypatch.setattr(keyleaks, "CALLS_MAX", 10)
    assert len(keyleaks.rows("a.log", word.encode() * 200_000)) <= 10
    closed = b"AES_ENCRYPT(a, 'k') " * 50
    assert len(keyleaks.rows("a.log", closed)) == 10


@pytest.mark.parametrize("statement", SILENT)
def test_masks_hashes_and_parameters_are_no_keys(statement: str) -> None:
    assert keyleaks.rows("a.log", statement.encode()) == []


def test_a_binary_log_is_searched_by_bytes() -> None:
    content = RANDOM[:5000] + f"SELECT AES_ENCRYPT('a', '{KEY}')".encode() + RANDOM[:5000]
    (row,) = keyleaks.rows("b.1", content, begin=0)
    assert row["place"] == f"b.1 at byte {5000 + len('SELECT ')}"


@pytest.mark.parametrize("form", ["--json", "--markdown", "--sarif", "--collect", "--format=text"])
def test_no_output_repeats_a_key(form: str, tmp_path: Path) -> None:
    log, page = tmp_path / "general.log", tmp_path / "page.html"
    log.write_text(GENERAL + "".join(f"\t4 Query\t{statement}\n" for statement in LEAKS))
    html = [] if form == "--collect" else ["--html", str(page)]
    done = CliRunner().invoke(dyno, ["check", str(log), form, *html], standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "general.log" in done.stdout and "AES" in done.stdout
    assert KEY not in done.output + (page.read_text() if html else "")
    assert html == [] or "AES" in page.read_text()


def test_a_key_of_keys_is_hidden() -> None:
    assert told("file_key_management_filekey", KEY) == HIDDEN


# -- the needle ----------------------------------------------------------------------------------


def test_a_value_is_found_across_the_border_of_two_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_CHUNK", 64)
    for before in range(50, 70):
        content = bytes(before) + b"dbdyno0123456789" + bytes(100)
        assert searching.position(io.BytesIO(content), b"dbdyno0123456789") == before
    assert searching.position(io.BytesIO(bytes(500)), b"dbdyno0123456789") is None


# -- the matrix ----------------------------------------------------------------------------------


def rows(*facts: object) -> dict[str, tuple[str, ...]]:
    (overview,) = matrix.overviews(facts)  # type: ignore[arg-type]
    return {row[0]: row for row in overview.rows}


def test_files_prove_and_a_setting_alone_does_not() -> None:
    server = mysql(spaces(), datadir="/data/", log_bin="ON", binlog_encryption="ON")
    alone = rows(server)
    assert alone["tables"][-1] == "set encrypted, not proved"
    assert alone["binary log"][-1] == "set encrypted, not proved"
    both = rows(server, directory(ENCRYPTED_TABLES, seen("binary log", "plain")))
    assert both["tables"][-1] == "proved encrypted"
    cells = ("binlog_encryption = ON", "1 plain of 1 file", "-", "proved plain")
    assert both["binary log"][1:] == cells
    assert both["backups"][-1] == both["disk"][-1] == "not known"


def test_a_value_that_was_found_overrules_a_header() -> None:
    found = rows(directory(ENCRYPTED_TABLES, needle=(seen("tables", "plain"),)))
    assert found["tables"][-2:] == ("found in 1 file", "proved plain")


def test_connections_are_proved_by_sessions_of_other_hosts() -> None:
    under, clear = session("10.0.0.8", "SSL/TLS", "TLSv1.3"), session("10.0.0.9")
    assert rows(mysql_sessions(under))["connections"][-1] == "proved encrypted"
    assert rows(mysql_sessions(under, clear))["connections"][-1] == "proved plain in part"
    assert rows(mysql_sessions(session("localhost")))["connections"][-1] == "not known"


def test_postgres_encrypts_no_file() -> None:
    assert rows(postgres())["all files"][-1] == "set plain, not proved"


def test_a_bundle_has_the_matrix_too() -> None:
    facts = [mysql(spaces(), datadir="/data"), directory(ENCRYPTED_TABLES)]
    again = document.parse(json.loads(json.dumps(document.document(facts))), "bundle")
    assert matrix.overviews(again) == matrix.overviews(facts)


def test_each_form_draws_the_matrix(tmp_path: Path) -> None:
    bundle, page = tmp_path / "facts.json", tmp_path / "page.html"
    facts = [mysql(spaces(example="shop/<b>"), datadir="/data"), directory(ENCRYPTED_TABLES)]
    bundle.write_text(json.dumps(document.document(facts)))

    def checked(*options: str) -> str:
        command = ["check", str(bundle), *options]
        return CliRunner().invoke(dyno, command, standalone_mode=False).stdout

    whole = json.loads(checked("--json", "--only", "encryption", "--html", str(page)))
    schema = json.loads((ROOT / "schemas" / "check.schema.json").read_text())
    jsonschema.validate(whole, schema)
    title = "Encryption of db1:3306 with /data"
    assert whole["overviews"][0]["title"] == title
    for text in (checked("--only", "encryption"), page.read_text()):
        assert title in text and "proved encrypted" in text
    assert "| tables | 3 encrypted | 1 encrypted of 1 file |" in checked(
        "--markdown", "--only", "encryption"
    )
    # Where no pack is named, findings are the answer.
    assert json.loads(checked("--json"))["overviews"] == []
    assert title not in checked()


def test_a_log_of_statements_is_recognised() -> None:
    for text in (
        GENERAL,
        "# User@Host: app[app] @ localhost []\n",
        "2026-01-01 10:00:00 UTC [7] LOG:  statement: SELECT 1\n",
    ):
        assert file("log", text).tables["key_leaks"].rows == ()
