"""What somebody else's experiment would do is found, and refused unless it is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import plans
import pytest

from dbdyno.cli.running.before import trusted
from dbdyno.cli.runs.stored import stored
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials, Hook, Hooks, LevelHooks, Setup, Target
from dbdyno.plan.outlook.effects import effects

PLAIN = Target("db", "mariadb", config={"innodb_flush_log_at_trx_commit": 1}, memory_bytes=1 << 30)


def test_a_server_of_ours_with_statements_of_ours_does_nothing_else() -> None:
    assert effects([PLAIN], [("app", "oltp"), ("kv", "kv"), ("shop", "tpcc")], Hooks()) == []


@pytest.mark.parametrize(
    "target",
    [
        Target("db", "mysql", url="mysql://app@db1/shop"),
        Target("db", "mysql", credentials=Credentials(command="cat secret")),
        Target("db", "mysql", host="ssh://root@db1"),
        Target("db", "mysql", host="prometheus:http://db1:9090?instance=a"),
        Target("db", "mysql", basedir="/tmp/theirs"),
        Target("db", "postgres", setup=Setup(after=("copy a to program 'id'",))),
        Target("db", "postgres", session=("select 1",)),
        Target("db", "postgres", config={"archive_command": "id"}),
        Target("db", "postgres", config={"shared_preload_libraries": "theirs"}),
        Target("db", "mariadb", config={"init-file": "x.sql"}),
        Target("db", "mariadb", config={"slow_query_log": "/etc/passwd"}),
    ],
)
def test_what_a_target_asks_for_is_found(target: Target) -> None:
    assert len(effects([target, target], [], Hooks())) == 1


def test_statements_and_commands_are_found() -> None:
    found = effects([PLAIN], [("app", "mix"), ("script", "lua"), ("log", "replay")], Hooks())
    assert len(found) == 3
    level = LevelHooks(apply=(Hook("a"),), undo=(Hook("b", on="ssh://db1"),))
    hooks = Hooks(before_run=(Hook("c"),), after_trial=(Hook("d"),), levels={"f": {"l": level}})
    found = effects([], [], hooks)
    assert found == [
        "the command `c`",
        "the command `d`",
        "the command `a`",
        "the command `b` on ssh://db1",
    ]


def test_a_directory_that_everybody_may_write_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    assert trusted.is_ours(tmp_path)
    tmp_path.chmod(0o777)
    assert not trusted.is_ours(tmp_path)
    with pytest.raises(DynoError, match="belongs to another account, or others may write to it"):
        trusted.refuse_resume(tmp_path, plans.plan(), trust=False)
    trusted.refuse_resume(tmp_path, plans.plan(), trust=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_manifest_of_another_account_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    os.chown(tmp_path / "manifest.json", 12345, 12345)
    assert not trusted.is_ours(tmp_path)


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), MemoryError(), RecursionError(), OverflowError("big"), OSError(5, "EIO")],
)
def test_whatever_a_stored_file_causes_names_it(error: Exception) -> None:
    with pytest.raises(DynoError, match=r"runs/mine") as found, stored("runs/mine"):
        raise error
    assert found.value.cause
    assert found.value.fix
    assert "defect" not in str(found.value)


def test_what_users_can_act_on_passes_through() -> None:
    with pytest.raises(DynoError, match=r"^as it is$"), stored("runs/mine"):
        raise DynoError("as it is")
    with pytest.raises(KeyboardInterrupt), stored("runs/mine"):
        raise KeyboardInterrupt
