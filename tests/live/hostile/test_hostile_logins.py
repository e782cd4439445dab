"""Servers that want the password, against every command that logs in: each row of the policy is
held to by control connections, engine and sysbench's surface alike."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hostile_attempts import COMMANDS, MODES, SECRET_VARIABLE, SOCKET, Attempt, Leave, experiment
from refusals import refused
from running import Place
from tools.attack.servers import mysql, postgres
from tools.attack.servers.listening import PASSWORD, USER, Way, hostile

from dbdyno.systems.logins.policy import DEMANDS, Answer, Demand, Protocol

pytestmark = pytest.mark.live

ENDED = "was ended"
# Each way with what may be allowed on it; more than that changes nothing.
CASES: tuple[tuple[Way, Leave], ...] = (
    ("plain", "nothing"),
    ("plain", "named"),
    ("plain", "get"),
    ("plain", "pinned"),
    ("tls", "nothing"),
    ("tls", "named"),
    ("socket", "nothing"),
    ("socket", "named"),
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The password, and nothing else that would let anybody in or allow anything."""
    monkeypatch.setenv(SECRET_VARIABLE, PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN", raising=False)


def allowed(demand: Demand, way: Way, leave: Leave, command: str) -> bool:
    """Whether a server that makes this demand gets what it wants."""
    answer = demand.plain if way == "plain" else demand.private
    if answer is Answer.NAMED and command == "sysbench" and demand.protocol == "postgres":
        return True  # as libpq has it, though there even without TLS
    return {
        Answer.GIVEN: True,
        Answer.NAMED: leave == "named",
        Answer.KEYED: leave in ("get", "pinned"),
        Answer.REFUSED: False,
    }[answer]


def cases(protocol: Protocol) -> list[tuple[Way, Leave]]:
    """The ways of a protocol: PostgreSQL has no key that could be got or pinned."""
    keyed = protocol == "mysql"
    return [(way, leave) for way, leave in CASES if keyed or leave not in ("get", "pinned")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("demand", "way", "leave"),
    [
        pytest.param(demand, *case, id=f"{demand.protocol} {demand.name}, {', '.join(case)}")
        for demand in DEMANDS
        for case in cases(demand.protocol)
    ],
)
def test_a_server_gets_what_the_policy_says(
    demand: Demand, way: Way, leave: Leave, command: str, tmp_path: Path
) -> None:
    modes: Any = MODES[demand.protocol]
    talk = partial(modes.talk, modes.DEMANDS[demand.name])
    with hostile(talk, way, SOCKET[demand.protocol]) as server:
        said = COMMANDS[command](Attempt(server, demand.protocol, leave, tmp_path))
    wanted = allowed(demand, way, leave, command)
    assert server.learned.password == (wanted and demand.gives == "the password itself"), said
    assert PASSWORD not in said
    if not wanted:
        place = str(server.path.parent) if server.path else server.place
        assert ENDED in said and place in said and USER in said, said
        asked = demand.name.partition(",")[0]
        assert "any other" in asked or asked in said, said


TRICKS = [
    *(pytest.param("mysql", mode, id=f"mysql {mode.__name__}") for mode in mysql.TRICKS),
    *(pytest.param("postgres", mode, id=f"postgres {mode.__name__}") for mode in postgres.TRICKS),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("protocol", "mode"), TRICKS)
def test_no_trick_gets_the_password_without_tls(
    protocol: Protocol, mode: Any, command: str, tmp_path: Path
) -> None:
    talk = partial(MODES[protocol].talk, mode)
    with hostile(talk, "plain") as server:
        said = COMMANDS[command](Attempt(server, protocol, "named", tmp_path))
    assert said and PASSWORD not in said and "\x1b" not in said
    assert not server.learned.password, said
    if mode in postgres.WITHOUT_PROOF:
        assert server.learned.proofs == 0
        assert "iterations" in said and ENDED in said, said
    if mode.__name__ in ("scram", "scram_without_final", "scram_without_anything"):
        assert "SCRAM" in said, said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("mode", [mysql.full, mysql.sha256])
def test_a_server_that_has_not_the_pinned_key_reads_nothing(
    mode: Any, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = rsa.generate_private_key(65537, 2048).public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with hostile(partial(mysql.talk, mode), "plain") as server:
        monkeypatch.setattr(mysql, "public_key", lambda: pem)
        COMMANDS[command](Attempt(server, "mysql", "pinned", tmp_path))
    assert not server.learned.password


ASKS = {
    "mysql": mysql.DEMANDS["mysql_clear_password"],
    "postgres": postgres.DEMANDS["3, clear-text password"],
}


@pytest.mark.parametrize("words", [("run", "{file}"), ("digest", "{url}", "--for", "1s")])
@pytest.mark.parametrize("protocol", ["mysql", "postgres"])
def test_commands_say_what_a_server_wanted(
    protocol: Protocol, words: tuple[str, ...], there: Place, tmp_path: Path
) -> None:
    there.environment[SECRET_VARIABLE] = PASSWORD
    with hostile(partial(MODES[protocol].talk, ASKS[protocol]), "plain") as server:
        attempt = Attempt(server, protocol, "nothing", tmp_path)
        file = there.experiment(experiment(attempt))
        login = ["--password-env", SECRET_VARIABLE] if words[0] == "digest" else []
        filled = [word.format(file=file, url=attempt.url) for word in words]
        done = there.dyno(*filled, *login)
    said = refused(done, ENDED, server.place, USER, "likely cause", "next step")
    assert PASSWORD not in said
    assert not server.learned.password


def test_a_model_reads_no_server_that_wants_the_password(there: Place, tmp_path: Path) -> None:
    there.environment[SECRET_VARIABLE] = PASSWORD
    with hostile(partial(mysql.talk, ASKS["mysql"]), "plain") as server:
        url = Attempt(server, "mysql", "nothing", tmp_path).url
        login = ("--password-env", SECRET_VARIABLE)
        refused(there.dyno("model", "innodb-growth", "--from", url, *login), ENDED, server.place)
    assert not server.learned.password


def test_dyno_sysbench_is_the_engines(there: Place, tmp_path: Path) -> None:
    with hostile(partial(mysql.talk, ASKS["mysql"]), "plain") as server:
        login = (
            f"--mysql-user={USER}",
            f"--mysql-password={PASSWORD}",
            f"--mysql-port={server.port}",
        )
        done = there.dyno("sysbench", "oltp_point_select", "--mysql-host=127.0.0.1", *login, "run")
    assert done.returncode == 1
    assert ENDED in done.stdout + done.stderr
    assert not server.learned.password
