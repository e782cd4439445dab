"""What is written down before a server is touched, and how it is undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.servers import undo
from dbdyno.execute.servers.ledger import FILE, Ledger
from dbdyno.systems.external.server import Mark

URL = "mysql://app@db1/shop"


class Fake:
    """A server with settings and schemas; `deny` names settings that it refuses to change."""

    place = "db1:3306"

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.schemas: dict[str, Mark] = {}
        self.deny: set[str] = set()

    def current_setting(self, name: str) -> Any:
        return self.settings[name]

    def restore_setting(self, name: str, old: Any) -> None:
        if name in self.deny:
            raise DynoError("it may not be set", cause="no privilege")
        self.settings[name] = old

    def marked(self) -> dict[str, Mark]:
        return self.schemas

    def drop_schema(self, schema: str, run: str) -> None:
        assert self.schemas[schema].run == run
        del self.schemas[schema]


def put_back(server: Fake, ledger: Ledger, said: list[str] | None = None, **keep: Any) -> list[str]:
    say = [].append if said is None else said.append
    return undo.settings(server, ledger, URL, say, **keep)  # type: ignore[arg-type]


def test_a_ledger_is_there_while_something_is_to_be_undone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "ab12")
    ledger.will_create(URL, "dbdyno_ab12_1")
    ledger.will_set(URL, "a", 1)
    ledger.will_set(URL, "a", 99)  # the first is the one to bring back
    ledger.has_set(URL, "a", 2)
    again = Ledger(tmp_path, "other")
    assert again.run == "ab12" and again.urls() == [URL]
    assert again.settings(URL) == {"a": {"old": 1, "new": 2}}
    assert again.schemas(URL) == ["dbdyno_ab12_1"]
    again.is_restored(URL, "a")
    assert (tmp_path / FILE).exists()
    again.is_dropped(URL, "dbdyno_ab12_1")
    assert not (tmp_path / FILE).exists() and again.urls() == []


def test_a_damaged_ledger_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    for text in ("", "[]", '{"run": "x", "servers": {"u": {}}}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(DynoError, match="cannot be read"):
            Ledger(tmp_path, "x")


def test_old_values_come_back_and_others_are_kept(tmp_path: Path) -> None:
    server, ledger = Fake(a=2, b=20), Ledger(tmp_path, "r")
    for name, old, new in (("a", 1, 2), ("b", 10, 20)):
        ledger.will_set(URL, name, old)
        ledger.has_set(URL, name, new)
    assert put_back(server, ledger, keep={"b"}) == []
    assert server.settings == {"a": 1, "b": 20} and list(ledger.settings(URL)) == ["b"]
    assert put_back(server, ledger) == []
    assert server.settings == {"a": 1, "b": 10} and not ledger.urls()


def test_what_somebody_else_has_set_meanwhile_is_left_and_said(tmp_path: Path) -> None:
    server, ledger, said = Fake(a=7), Ledger(tmp_path, "r"), list[str]()
    ledger.will_set(URL, "a", 1)
    ledger.has_set(URL, "a", 2)
    assert put_back(server, ledger, said) == []
    assert server.settings == {"a": 7} and "is 7 by now" in said[0] and not ledger.urls()


def test_a_kill_between_writing_down_and_setting_is_undone(tmp_path: Path) -> None:
    server, ledger = Fake(a=5), Ledger(tmp_path, "r")
    ledger.will_set(URL, "a", 1)
    assert put_back(server, ledger) == [] and server.settings == {"a": 1}


def test_a_kill_between_writing_down_and_setting_again_is_undone(tmp_path: Path) -> None:
    server, ledger, said = Fake(a=3), Ledger(tmp_path, "r"), list[str]()
    ledger.will_set(URL, "a", 1)
    ledger.has_set(URL, "a", 2)
    ledger.will_set(URL, "a", 2)  # for another combination; it was set to 3, and then the kill
    assert put_back(server, Ledger(tmp_path, "r"), said) == [] and not said
    assert server.settings == {"a": 1}


def test_what_cannot_be_put_back_stays_written_down_and_stops_nothing_else(tmp_path: Path) -> None:
    server, ledger = Fake(a=2, b=2, c={"value": "2"}), Ledger(tmp_path, "r")
    server.deny = {"a"}
    for name in ("a", "gone", "b"):
        ledger.will_set(URL, name, 1)
        ledger.has_set(URL, name, 2)
    problems = put_back(server, ledger)
    assert len(problems) == 2 and "`a` could not be restored to 1" in problems[0]
    assert server.settings["b"] == 1 and set(ledger.settings(URL)) == {"a", "gone"}


def test_only_marked_schemas_of_the_run_are_dropped(tmp_path: Path) -> None:
    server, ledger = Fake(), Ledger(tmp_path, "r")
    server.schemas = {"dbdyno_r_1": Mark("r", "x", ""), "dbdyno_s_1": Mark("s", "x", "")}
    for schema in ("dbdyno_r_1", "dbdyno_never_made"):
        ledger.will_create(URL, schema)
    assert undo.schemas(server, ledger, URL) == []  # type: ignore[arg-type]
    assert set(server.schemas) == {"dbdyno_s_1"} and not ledger.urls()
    ledger.will_create(URL, "dbdyno_s_1")  # another run's, whatever the ledger says
    problems = undo.schemas(server, ledger, URL)  # type: ignore[arg-type]
    assert "could not be dropped" in problems[0] and set(server.schemas) == {"dbdyno_s_1"}
