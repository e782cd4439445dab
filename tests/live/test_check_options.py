"""Servers on the options that `dyno check` calls removed, and on lists with blanks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from private_servers import binaries
from test_check import check, found

from dbdyno.facts.fact import Version, version_of
from dbdyno.rules.check.configuration.lists import REFUSED
from dbdyno.rules.check.configuration.removed import MARIADB, MYSQL, Gone
from needed import missing

ROOT = Path(__file__).parents[2]
State = Literal["taken", "ignored", "refused"]
SERVERS = ("mariadb", "mariadb-11.8", "mysql")


def program(name: str) -> tuple[Path, Version]:
    if name == "mariadb-11.8":
        path = ROOT / ".prefix" / name / "usr" / "sbin" / "mariadbd"
        if not path.exists():
            missing("run `make servers`")
        return path, (11, 8)
    found = binaries(name)
    return found.paths["server"], version_of(found.version)


def asked(name: str, path: Path, lines: Sequence[str], directory: Path) -> State:
    """What the server does with a file of these lines."""
    file = directory / "my.cnf"
    more = ['secure_file_priv=""', "user=root", f"datadir={directory}"]
    file.write_text("\n".join(["[mysqld]", *more, *lines]) + "\n")
    mode = ["--validate-config"] if name == "mysql" else ["--help", "--verbose"]
    done = subprocess.run(
        [path, f"--defaults-file={file}", *mode], capture_output=True, text=True, timeout=240
    )
    if done.returncode:
        wrong = r"unknown (variable|option)|setting value|invalid value|cannot take|ambiguous"
        assert re.search(wrong, done.stderr), done.stderr
        return "refused"
    return "ignored" if "was removed. It does nothing" in done.stderr else "taken"


@pytest.mark.parametrize("name", SERVERS)
def test_options_called_removed_are_refused_or_ignored(name: str, tmp_path: Path) -> None:
    path, version = program(name)
    table: Mapping[str, Gone] = MYSQL if name == "mysql" else MARIADB
    wrong = {}
    for option, gone in table.items():
        expected: State = "taken"
        if version >= gone.since:
            expected = "ignored" if gone.ignored else "refused"
        state = asked(name, path, [f"{option} = {value(option)}"], tmp_path)
        if state != expected:
            wrong[option] = (state, expected)
    assert wrong == {}


def value(option: str) -> str:
    """One that the option takes where it still exists."""
    return {
        "alter_algorithm": "DEFAULT",
        "date_format": "%Y-%m-%d",
        "innodb_change_buffering": "none",
    }.get(option, "0")


@pytest.mark.parametrize("name", SERVERS)
def test_the_program_names_a_misspelt_option_and_not_its_value(name: str) -> None:
    path, version = program(name)
    with TemporaryDirectory() as made:
        file = Path(made) / "my.cnf"
        Path(made).chmod(0o755)
        lines = ["[mysqld]", 'secure_file_priv=""', "max_conections = needle-4711", ""]
        file.write_text("\n".join(lines))
        document = check(file, "--server", path, "--json", "--only", "configuration")
        assert found(document) == {"mysql-option-refused"}
        assert "needle" not in json.dumps(document["findings"])
        (one,) = document["findings"]
        assert one["evidence"][0]["place"].endswith("my.cnf:3:1")
        assert document["subjects"][0]["version"][:2] == list(version[:2])
        file.write_text("\n".join([*lines[:2], "max_connections = 10", ""]))
        assert found(check(file, "--server", path, "--json", "--only", "configuration")) == set()


@pytest.mark.parametrize("name", SERVERS)
def test_options_that_replace_others_exist(name: str, tmp_path: Path) -> None:
    """In the newest server at hand; `authentication_policy` takes a list of its own."""
    path, _ = program(name)
    table = MYSQL if name == "mysql" else MARIADB
    replacing = {gone.instead for gone in table.values() if gone.instead}
    for option in replacing - {"authentication_policy", "group_replication_ip_allowlist"}:
        typed = {"transaction_isolation": "READ-COMMITTED", "log_error_verbosity": "2",
                 "default_storage_engine": "InnoDB", "innodb_checksum_algorithm": "crc32",
                 "innodb_redo_log_capacity": "100M"}.get(option, "1")  # fmt: skip
        assert asked(name, path, [f"{option} = {typed}"], tmp_path) == "taken", option


LISTS = {
    "log_output": ("FILE", "TABLE"),
    "optimizer_switch": ("index_merge=off", "mrr=on"),
    "sql_mode": ("STRICT_TRANS_TABLES", "NO_ZERO_DATE"),
    "tls_version": ("TLSv1.2", "TLSv1.3"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_lists_with_blanks_are_refused_as_the_rule_says(name: str, tmp_path: Path) -> None:
    path, _ = program(name)
    assert {*LISTS} == {*REFUSED}
    for option, parts in LISTS.items():
        assert asked(name, path, [f'{option} = "{",".join(parts)}"'], tmp_path) == "taken"
        assert asked(name, path, [f'{option} = "{", ".join(parts)}"'], tmp_path) == "refused"
    assert asked(name, path, ['bind_address = "127.0.0.1, ::1"'], tmp_path) == "taken"
