"""Facts of a server's host, read from a file system of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbdyno.cli.checking.findings import read
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials
from dbdyno.facts.fact import Facts
from dbdyno.facts.host import accounts, reading
from dbdyno.facts.targets import Asked
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import FOUND, NOT_KNOWN
from fixtures.rules import file, server

HOST = [rule for rule in RULES if "host" in rule.sources]
ME = os.geteuid()  # owner of what this test makes
PASSWD = (
    f"{'root' if ME == 0 else 'me'}:x:{ME}:{ME}:root:/root:/bin/bash\n"
    "mysql:x:107:107::/nonexistent:/bin/false\n"
    "ann:x:1000000:1000::/home/ann:/bin/bash\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a MariaDB that is set up well."""
    write(tmp_path, "etc/passwd", PASSWD, 0o644)
    write(tmp_path, "etc/group", "sudo:x:27:ann\nmysql:x:107:\n", 0o644)
    write(tmp_path, "etc/sudoers", "root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL) ALL\n", 0o440)
    write(tmp_path, "sys/kernel/security/lsm", "capability,apparmor\n", 0o444)
    write(tmp_path, "home/ann/.mysql_history", "", 0o600)
    write(tmp_path, "data/server-key.pem", "", 0o600)
    write(tmp_path, "data/db1.err", "", 0o640)
    (tmp_path / "data").chmod(0o750)
    run(tmp_path, 41, "mariadbd", uid=107, label="mariadbd (enforce)")
    return tmp_path


def write(root: Path, name: str, text: str, mode: int) -> Path:
    path = root / name
    for parent in [*reversed(path.relative_to(root).parents)][1:]:
        if not (root / parent).exists():
            (root / parent).mkdir(mode=0o755)
    path.write_text(text)
    path.chmod(mode)
    return path


def run(root: Path, pid: int, program: str, uid: int, label: str, parent: int = 1) -> None:
    status = f"Name:\t{program}\nPPid:\t{parent}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"
    write(root, f"proc/{pid}/status", status, 0o644)
    write(root, f"proc/{pid}/attr/current", f"{label}\n", 0o644)
    (root / f"proc/{pid}/cwd").symlink_to("/data")


def directory() -> Facts:
    return Facts("/data", "directory", "mysql|mariadb")


def judged(facts: Facts, root: Path) -> tuple[set[str], set[str]]:
    """Rules that fire, and those that are not known."""
    seen = reading.read(facts, root)
    states = {rule.id.removeprefix("linux-"): rule.look(seen).state for rule in HOST}
    return (
        {name for name, state in states.items() if state == FOUND},
        {name for name, state in states.items() if state == NOT_KNOWN},
    )


def test_a_host_that_is_set_up_well_has_no_finding(root: Path) -> None:
    assert judged(directory(), root) == (set(), set())


@pytest.mark.parametrize(
    ("name", "mode", "rule"),
    [
        ("data", 0o755, "data-directory-open"),
        ("data", 0o777, "data-directory-open"),
        ("home/ann/.mysql_history", 0o644, "client-file-readable"),
    ],
)
def test_modes(root: Path, name: str, mode: int, rule: str) -> None:
    (root / name).chmod(mode)
    assert judged(directory(), root)[0] == {rule}


def test_a_file_in_a_closed_directory_is_open_to_nobody(root: Path) -> None:
    (root / "data/server-key.pem").chmod(0o644)
    assert judged(directory(), root)[0] == set()
    (root / "data").chmod(0o755)
    assert judged(directory(), root)[0] == {"key-readable", "data-directory-open"}


def test_the_account_is_that_of_the_process(root: Path) -> None:
    write(root, "etc/passwd", PASSWD.replace("/bin/false", "/bin/bash"), 0o644)
    write(root, "etc/sudoers.d/db", "mysql ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    assert judged(directory(), root)[0] == {"server-account-shell", "server-account-sudo"}


def test_processes_count_once_with_their_children(root: Path) -> None:
    run(root, 42, "mariadbd", uid=0, label="unconfined")
    run(root, 43, "mariadbd", uid=0, label="unconfined", parent=42)
    run(root, 44, "bash", uid=0, label="unconfined")
    assert judged(directory(), root)[0] == {"server-runs-as-root", "server-unconfined"}
    seen = reading.read(directory(), root).table(reading.PROCESSES).rows
    assert [row["pid"] for row in seen] == [41, 42]


@pytest.mark.parametrize(
    ("label", "confined"),
    [
        ("mariadbd (enforce)", True),
        ("mariadbd (complain)", False),  # reports, and refuses nothing
        ("system_u:system_r:mysqld_t:s0", True),
        ("system_u:system_r:unconfined_service_t:s0", False),
    ],
)
def test_a_profile_that_only_complains_confines_nothing(
    root: Path, label: str, confined: bool
) -> None:
    write(root, "proc/41/attr/current", f"{label}\n", 0o644)
    assert ("server-unconfined" in judged(directory(), root)[0]) != confined


def test_an_account_that_may_become_root(root: Path) -> None:
    [_, mysql, ann] = accounts.all_of(root)
    write(root, "etc/sudoers.d/db", "# mysql ALL=\nmysql ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    assert accounts.administrating(ann, root) == ["sudo"]
    assert accounts.administrating(mysql, root) == []
    assert accounts.sudo_lines(mysql, root) == ["/etc/sudoers.d/db:2"]
    assert accounts.sudo_lines(ann, root) == []


def test_files_that_a_configuration_names(root: Path) -> None:
    write(root, "etc/keys/mongo", "", 0o644)
    write(root, "var/log/mongod.log", "", 0o644)
    text = (
        "security:\n  keyFile: /etc/keys/mongo\nsystemLog:\n  path: /var/log/mongod.log\n"
        "storage:\n  dbPath: /data\n"
    )
    found, unknown = judged(file("mongod.conf", text), root)
    assert found >= {"key-readable", "log-readable"}
    assert unknown == {"server-runs-as-root", "server-unconfined"}  # no mongod runs


def test_settings_of_a_server_name_files_in_its_data_directory(root: Path) -> None:
    write(root, "data/slow.log", "", 0o644)
    (root / "data").chmod(0o755)
    settings = {"datadir": "/data", "slow_query_log_file": "slow.log", "ssl_key": ""}
    found, _ = judged(server("mariadb", "10.11.6", settings), root)
    assert found == {"data-directory-open", "log-readable"}


def test_a_configuration_with_a_password(tmp_path: Path) -> None:
    path = tmp_path / "redis.conf"
    path.write_text("bind 127.0.0.1\nrequirepass long-one\n")
    path.chmod(0o646)
    [(_, facts)] = read([str(path)], Asked(Credentials(), this_host=True))
    assert [one.source for one in facts] == ["file", "host"]
    row = facts[1].table(reading.FILES).rows[0]
    assert (row["role"], row["sensitive"], row["mode"]) == ("configuration", True, "0646")


def test_without_anything_to_see_nothing_is_fine(tmp_path: Path) -> None:
    found, unknown = judged(server("postgres", "15.6"), tmp_path)
    assert found == set() and len(unknown) == len(HOST)


def test_facts_of_another_host_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text("2015-07-17  8:30:46 [ERROR] InnoDB: Unable to lock ./ibdata1, error: 11\n")
    with pytest.raises(DynoError, match="no server of this machine"):
        read([str(log)], Asked(Credentials(), this_host=True))
