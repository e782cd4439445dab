"""Nodes before they are audited: what servers still work on of a load that has ended. No server
runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.execute.servers.audits import nodes
from dbdyno.systems.process.managed import Managed


class Working:
    """A managed server with so many sessions at work, each time it is asked."""

    def __init__(self, *sessions: int | Exception) -> None:
        self.sessions = list(sessions)

    def sessions_at_work(self) -> int:
        found = self.sessions.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


Managed.register(Working)


def waited(monkeypatch: pytest.MonkeyPatch, *servers: Any) -> int:
    """How often was looked again."""
    looks: list[None] = []
    clock = SimpleNamespace(now_s=0.0)

    def sleep(seconds: float) -> None:
        clock.now_s += seconds

    time = SimpleNamespace(monotonic=lambda: clock.now_s, sleep=sleep)
    monkeypatch.setattr(nodes, "time", time)
    deployment: Any = SimpleNamespace(servers=dict(enumerate(servers)))
    nodes.wait_until_carried_out(deployment, lambda: looks.append(None))
    return len(looks)


def test_statements_that_are_under_way_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Working(2, 1, 0, 0), Working(1, 0)
    assert waited(monkeypatch, first, second) == 3
    assert first.sessions == second.sessions == []


def test_a_server_that_cannot_be_asked_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, Working(OSError("it is down")), object()) == 0


def test_a_statement_that_hangs_is_waited_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = waited(monkeypatch, Working(*[1] * 1000))
    assert 0.9 < looks * 0.05 / nodes.CARRIED_OUT_S < 1.1
