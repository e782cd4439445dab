"""What replicas are asked when one of them takes over, and for how long. Nothing starts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Node
from dbdyno.topology.base import LOOK_TIMEOUT_S
from dbdyno.topology.replicas import mysql, postgres

NODE: Any = SimpleNamespace(name="db.2")


class Server:
    """Answers by the statement's first words; has no control connection to wait for."""

    def __init__(self, **answers: object) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers = answers

    def look(self, sql: str, timeout_s: int) -> Sequence[Sequence[Any]]:
        self.asked.append((sql, timeout_s))
        found = next(value for name, value in self._answers.items() if name in sql)
        if isinstance(found, Exception):
            raise found
        return [[found]]


def of(server: Server) -> Any:
    """The members of a topology, of which one counts."""

    def server_of(node: Node) -> Server:
        return server

    return SimpleNamespace(server=server_of)


def test_a_standby_is_waited_for_as_long_as_its_promotion_may_take() -> None:
    server = Server(pg_is_in_recovery=True, pg_promote=True)
    postgres.Standbys().promote(of(server), NODE)
    [_, (sql, patience_s)] = server.asked
    assert sql == f"SELECT pg_promote(true, {postgres.PROMOTE_TIMEOUT_S})"
    assert patience_s > postgres.PROMOTE_TIMEOUT_S


def test_a_standby_that_was_promoted_by_an_earlier_try_is_one() -> None:
    server = Server(pg_is_in_recovery=False, pg_promote=DynoError("recovery is not in progress"))
    postgres.Standbys().promote(of(server), NODE)
    assert len(server.asked) == 1


def test_a_standby_that_takes_too_long_is_named() -> None:
    server = Server(pg_is_in_recovery=True, pg_promote=False)
    with pytest.raises(DynoError, match=r"db\.2 was not promoted within 60 s"):
        postgres.Standbys().promote(of(server), NODE)


def test_a_replica_of_mysql_that_hangs_is_not_asked_over_its_control_connection() -> None:
    server = Server(SELECT=TimeoutError())
    with pytest.raises(TimeoutError):  # and no `replica_status`
        mysql.Gtids().position(server)
    assert [timeout_s for _, timeout_s in server.asked] == [LOOK_TIMEOUT_S]
