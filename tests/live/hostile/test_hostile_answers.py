"""Servers that let anybody in and answer with anything, asked all that control connections ask."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from refusals import plain_words
from tools.attack.servers import mysql, mysql_answers, postgres, postgres_answers
from tools.attack.servers.listening import PASSWORD, USER, Peer, hostile

from dbdyno.digest.servers import sources
from dbdyno.digest.workload.schema import reading
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external import reach
from dbdyno.systems.logins import bounded
from dbdyno.systems.logins import mysql as mysql_login
from dbdyno.systems.logins import postgres as postgres_login
from dbdyno.systems.mysql import control as mysqlcontrol
from dbdyno.systems.postgres import control as postgrescontrol

pytestmark = pytest.mark.live

BYTES = 2 << 20  # a bound that is soon met

# What is asked of an external server, and with which arguments.
QUESTIONS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("settings", ()),
    ("counters", ()),
    ("gauges", ()),
    ("cycles", ({},)),
    ("sessions_by_state", ()),
    ("schemas", ()),
    ("marked", ()),
    ("uptime_s", ()),
    ("sees_all_sessions", ()),
    ("lag_s", ()),
    ("highest_id", ("shop", "sbtest1")),
    ("current_setting", ("max_connections",)),
    ("has_token", ("shop", "x")),
    ("explain", ("shop", "SELECT 1")),
    ("settle", ("shop",)),
    ("alive", ()),
)
CASES = [
    *(pytest.param("mysql", each, id=f"mysql {each.__name__}") for each in mysql_answers.ANSWERS),
    *(
        pytest.param("postgres", each, id=f"postgres {each.__name__}")
        for each in postgres_answers.ANSWERS
    ),
]
SLOW = [
    *(pytest.param("mysql", each, id=f"mysql {each.__name__}") for each in mysql_answers.SLOW),
    *(
        pytest.param("postgres", each, id=f"postgres {each.__name__}")
        for each in postgres_answers.SLOW
    ),
]


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No login of this machine's user; small bounds, so that the end of them is near."""
    monkeypatch.setenv("HOSTILE_PASSWORD", PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(bounded, "ANSWER_BYTES_MAX", BYTES)
    monkeypatch.setattr(bounded, "ANSWER_ROWS_MAX", 2000)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for each answer."""
    for module in (mysql_login, postgres_login, mysqlcontrol, postgrescontrol):
        monkeypatch.setattr(module, "CONTROL_TIMEOUT_S", 1)


def talk(protocol: str, answer: Any, first: bool) -> Callable[[Peer], None]:
    if protocol == "mysql":
        return lambda peer: mysql_answers.talk(answer, mysql.Line(peer), first=first)
    return lambda peer: postgres_answers.talk(answer, postgres.Line(peer), first=first)


def ask(protocol: str, port: int, questions: tuple[tuple[str, tuple[Any, ...]], ...]) -> list[str]:
    """Everything; its report. Whatever else is raised fails the test."""
    login = Credentials(env="HOSTILE_PASSWORD")
    url = f"{protocol}://{USER}@127.0.0.1:{port}/shop"
    target = TargetPlan(name="db", kind=protocol, url=url, credentials=login, tls="prefer")
    said = []
    try:
        server = reach.connect(target, url)
    except DynoError as error:
        return [_checked(error)]
    errors = mysqlcontrol.ERRORS if protocol == "mysql" else postgrescontrol.ERRORS
    for name, arguments in questions:
        try:
            getattr(server, name)(*arguments)
        except DynoError as error:
            said.append(_checked(error))
        except errors as error:
            said.append(str(error))
    with suppress(DynoError):
        server.stop()
    return said


def _checked(error: DynoError) -> str:
    plain_words(str(error))
    assert "defect" not in str(error)
    return str(error)


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
@pytest.mark.parametrize(("protocol", "answer"), CASES)
def test_whatever_is_answered_is_an_answer_or_an_error(
    protocol: str, answer: Any, first: bool
) -> None:
    with hostile(talk(protocol, answer, first), "plain") as server:
        said = ask(protocol, server.port, QUESTIONS)
    assert not server.learned.password
    assert b"root:" not in server.learned.heard
    for text in said:
        assert PASSWORD not in text


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(("protocol", "answer"), CASES)
def test_whatever_a_schema_is_said_to_be_is_a_schema_or_an_error(
    protocol: str, answer: Any
) -> None:
    with hostile(talk(protocol, answer, False), "plain") as server:
        url = f"{protocol}://{USER}@127.0.0.1:{server.port}/shop"
        with suppress(DynoError):
            there = sources.open_server(url, Credentials(env="HOSTILE_PASSWORD"), None)
            for question in (
                lambda: reading.read(there, "shop", ["t"]),
                lambda: there.refusals("shop", [], ["SELECT a FROM t"]),
            ):
                try:
                    question()
                except DynoError as error:
                    _checked(error)
            there.stop()


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(("protocol", "answer"), SLOW)
def test_an_answer_has_its_time_in_all(protocol: str, answer: Any) -> None:
    with hostile(talk(protocol, answer, True), "plain") as server:
        [said] = ask(protocol, server.port, QUESTIONS)
    assert f"127.0.0.1:{server.port}" in said


def test_that_the_time_is_over_is_said_in_words() -> None:
    with pytest.raises(TimeoutError) as raised:
        bounded.Bounds("127.0.0.1:3306", 0.0).seconds()
    plain_words(str(raised.value))
    assert "no whole answer" in str(raised.value)


ENDLESS = [
    *(
        pytest.param("mysql", each, id=f"mysql {each.__name__}")
        for each in mysql_answers.ANSWERS
        if "without_end" in each.__name__ and "numbers" not in each.__name__
    ),
    *(
        pytest.param("postgres", each, id=f"postgres {each.__name__}")
        for each in postgres_answers.ANSWERS
        if "without_end" in each.__name__ and "numbers" not in each.__name__
    ),
]


@pytest.mark.parametrize("way", ["plain", "tls"])
@pytest.mark.parametrize(("protocol", "answer"), ENDLESS)
def test_an_answer_without_end_is_not_heard_to_it(protocol: str, answer: Any, way: Any) -> None:
    sent = 0

    def counting(peer: Peer) -> None:
        send = peer.send

        def counted(data: bytes) -> None:
            nonlocal sent
            send(data)
            sent += len(data)

        peer.send = counted  # type: ignore[method-assign]
        talk(protocol, answer, True)(peer)

    with hostile(counting, way) as server:
        [said] = ask(protocol, server.port, QUESTIONS)
    assert "answers with more than" in said
    assert sent < 40 * BYTES, "and what is on the way"


def test_a_large_answer_that_is_not_too_large_is_heard() -> None:
    values = [[b"x" * 1000, b"%d" % number] for number in range(1900)]
    answer = partial(_large, values)
    with hostile(talk("mysql", answer, False), "plain") as server:
        login = Credentials(env="HOSTILE_PASSWORD")
        url = f"mysql://{USER}@127.0.0.1:{server.port}/shop"
        target = TargetPlan(name="db", kind="mysql", url=url, credentials=login, tls="prefer")
        found = reach.connect(target, url)
        assert found.rows("SELECT a, b FROM t") == [
            (row[0].decode(), row[1].decode()) for row in values
        ]
        assert found.rows("SELECT a, b FROM t"), "each statement has the whole bound"
        found.stop()


def _large(values: list[list[bytes]], line: mysql.Line) -> None:
    mysql_answers.rows(line, values)
