"""The pack `security` on real servers: a server that lets too much in, and its healthy twin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from private_servers import running
from running import wait_for
from servers_there import PASSWORD, There, there
from test_check import MEDIUM, check, found, severe
from tools.proof.checks import planted

from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import SEVERITIES

LOW = {rule.id for rule in RULES if SEVERITIES.index(rule.severity) < MEDIUM}


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_what_lets_in_too_much_is_found(kind: str) -> None:
    with there(kind) as server:
        server.sql(planted.READER)
        usual = found(check(server.url, "--json", "--only", "security"))
        expected = planted.plant(kind, server.server, planted.statements(kind))
        document = check(server.url, "--json", "--only", "security")
        bundle = json.dumps(check(server.url, "--collect"))
    assert found(document) == expected | usual
    assert usual <= LOW | {"mysql-privilege-administrator"}
    assert "Needle" not in bundle and PASSWORD not in bundle and "0123456789abcdef" not in bundle
    assert document["counts"]["not_known"] == 0


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_what_old_articles_call_wrong_is_fine(kind: str) -> None:
    with there(kind) as server:
        planted.permit(kind, server.server)
        document = check(server.url, "--json", "--only", "security")
    assert severe(document) == []
    assert document["counts"]["not_known"] == 0


def test_without_the_right_to_see_accounts_nothing_is_called_fine() -> None:
    with there("mariadb") as server:
        server.sql("CREATE USER open@'%'")
        document = check(server.url, "--json", "--only", "mysql-account-*")
    assert document["counts"]["fine"] == 0 and document["counts"]["not_known"] == 4


# -- PostgreSQL ----------------------------------------------------------------------------------


def test_a_postgres_that_lets_in_too_much() -> None:
    with there("postgres") as server:
        planted.permit("postgres", server.server)
        usual = check(server.url, "--json", "--only", "security")
        expected = planted.plant("postgres", server.server, planted.statements("postgres"))
        document = wait_for_all(server, expected | found(usual))
        bundle = json.dumps(check(server.url, "--collect"))
    assert severe(usual) == [] and usual["counts"]["not_known"] == 0
    assert document["counts"]["not_known"] == 0
    assert "Needle" not in bundle
    assert "md5" in bundle and "SCRAM-SHA-256$4096" not in bundle


def wait_for_all(server: There, expected: set[str]) -> Any:
    """A reload takes a moment."""
    document = None

    def right() -> bool:
        nonlocal document
        document = check(server.url, "--json", "--only", "security")
        return found(document) == expected

    wait_for(right)
    assert document is not None and found(document) == expected
    return document


def test_md5_in_the_file_is_fine_for_roles_with_scram_hashes() -> None:
    with there("postgres") as server:
        planted.permit("postgres", server.server)
        file = Path(server.setting("hba_file"))
        file.write_text(file.read_text() + "host all app 10.2.0.0/16 md5\n")
        document = check(server.url, "--json", "--only", "security")
    assert severe(document) == []


# -- Redis ---------------------------------------------------------------------------------------


def test_a_redis_that_lets_in_too_much() -> None:
    with running("redis") as (_, server):
        url = f"redis://auditor@127.0.0.1:{server.port}"
        server.ask("ACL", "SETUSER", "auditor", "on", f">{PASSWORD}", "~*", "+@all", "-flushall")
        server.ask("CONFIG", "SET", "requirepass", PASSWORD)
        planted.permit("redis", server)
        usual = check(url, "--json", "--only", "security")
        expected = planted.plant_redis(server)
        document = check(url, "--json", "--only", "security")
        bundle = json.dumps(check(url, "--collect"))
    assert severe(usual) == [] and usual["counts"]["not_known"] == 0
    assert found(document) == expected | found(usual)
    by_rule = {one["rule"]: one["severity"] for one in document["findings"]}
    assert by_rule["redis-default-user-open"] == "critical"
    assert not any(one["about"] == "off" for one in document["findings"])
    assert "Needle" not in bundle and "#" not in bundle
