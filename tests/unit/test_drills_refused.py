"""What drills refuse before they touch a server or its data. Nothing starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_topology_take_over import Server, Wiring, three

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DOWN, MEMBER, Target, Topology
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.drills import backup, detach, replace, restore, upgrade
from dbdyno.faults.drills.base import Steps
from dbdyno.systems import backups, versions
from dbdyno.systems.backups import base
from dbdyno.systems.backups.base import Backup
from dbdyno.systems.base import Binaries, Resolved
from dbdyno.systems.process.managed import Managed
from dbdyno.topology import Cluster


class Recorded:
    """A managed server that writes down what is done to it."""

    def __init__(self, directory: Path, version: str = "10.11.14-MariaDB") -> None:
        self.did: list[str] = []
        self.directory = directory
        self.process = SimpleNamespace(alive=lambda: True)
        self.given = SimpleNamespace(binaries=Binaries(version))
        (directory / "data").mkdir(parents=True)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.did.append(name)


Managed.register(Recorded)


def test_a_primary_is_not_replaced_and_keeps_its_data(tmp_path: Path) -> None:
    cluster, _ = three()
    server: Any = Recorded(tmp_path)
    node, steps = Node("db", server, "dyno", operations=cluster), Steps()
    with pytest.raises(DynoError, match="db leads") as caught:
        replace.FAULT.carry_out(node, Fault(1.0, "replace", ("db",), "db"), steps)
    assert "needs a failover first" in caught.value.fix
    assert (server.did, steps.done, node.is_down) == ([], [], False)
    assert (tmp_path / "data").is_dir()


def test_a_replica_is_not_replaced_while_its_primary_is_down() -> None:
    cluster, servers = three()
    cluster.must_be_replaceable("db.2")
    servers["db"].process = SimpleNamespace(alive=lambda: False)
    with pytest.raises(DynoError, match="db, the primary, is down"):
        cluster.must_be_replaceable("db.2")


def test_a_node_of_galera_is_not_replaced_where_no_other_one_serves() -> None:
    class Joining(Wiring):
        succession: Any = None
        rejoins = True

    servers: dict[str, Any] = {name: Server(MEMBER) for name in ("db", "db.2", "db.3")}
    target = Target("db", "mariadb", topology=Topology("galera", 3))
    wiring: Any = Joining()
    system: Any = None
    cluster = Cluster(wiring, system, target, Binaries(""), Resolved({}, (), ()), servers)
    servers["db.2"].role = DOWN  # no quorum, say
    cluster.must_be_replaceable("db")
    cluster.must_be_replaceable("db.2")
    servers["db.3"].role = DOWN
    with pytest.raises(DynoError, match="no other node serves clients"):
        cluster.must_be_replaceable("db")


UPGRADE = Fault(1.0, "upgrade", ("db",), "db", version="10.11", kind="mariadb", basedir="/mine")


def test_an_upgrade_to_an_older_version_leaves_the_server_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Target] = []

    def find(target: Target) -> Binaries:
        asked.append(target)
        return Binaries("10.11.14-MariaDB")

    monkeypatch.setattr(versions, "find", find)
    server: Any = Recorded(tmp_path, "11.8.6-MariaDB")
    node, steps = Node("db", server, "dyno"), Steps()
    with pytest.raises(DynoError, match=r"runs 11\.8\.6-MariaDB, and 10\.11\.14-MariaDB is older"):
        upgrade.FAULT.carry_out(node, UPGRADE, steps)
    assert (server.did, steps.done, node.is_down) == ([], [], False)
    assert [(one.basedir, one.version) for one in asked] == [("/mine", "10.11")]


def test_an_upgrade_to_an_older_version_is_refused_before_the_first_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {"/mine": "10.11.14-MariaDB", "/theirs": "11.8.6-MariaDB"}
    monkeypatch.setattr(versions, "find", lambda target: Binaries(there[target.basedir]))
    with pytest.raises(DynoError, match=r"`db` runs 11\.8\.6-MariaDB"):
        upgrade.FAULT.check(UPGRADE, Target("db", "mariadb", basedir="/theirs"))
    upgrade.FAULT.check(UPGRADE, Target("db", "mariadb", basedir="/mine"))


@pytest.mark.parametrize(("tool", "refused"), [("mariabackup", True), ("dump", False)])
def test_files_of_the_version_before_an_upgrade_are_not_restored(
    tool: str, refused: bool, tmp_path: Path
) -> None:
    server: Any = Recorded(tmp_path, "11.8.6-MariaDB")
    made = Backup(backups.of("mariadb", tool), tmp_path, 1.0, 1, version="10.11.14-MariaDB")
    node, steps = Node("db", server, "dyno", backups=[made]), Steps()
    if refused:
        with pytest.raises(DynoError, match=r"upgraded to 11\.8\.6-MariaDB since"):
            restore.FAULT.carry_out(node, Fault(5.0, "restore", ("db",), "db"), steps)
        assert (server.did, steps.done, node.is_down) == ([], [], False)
    else:
        restore._must_be_of(made, "11.8.6-MariaDB")


def test_a_drill_whose_programs_are_missing_is_refused_before_the_first_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = Binaries("10.11.14-MariaDB", {"server": Path("/usr/sbin/mariadbd")})
    monkeypatch.setattr(versions, "find", lambda target: there)
    monkeypatch.setattr(base, "program", lambda name, places: None)
    replicas, cluster = (
        Target("db", "mariadb", topology=Topology(kind, 3)) for kind in ("replicas", "galera")
    )
    for kind in (backup.FAULT, replace.FAULT, detach.FAULT):
        fault = Fault(1.0, kind.name, ("db.2",), "db")
        with pytest.raises(DynoError, match="needs `mariadb-backup`, and it is not here") as caught:
            kind.check(fault, replicas)
        assert caught.value.fix.endswith("`apt-get install mariadb-backup`")
    # Its nodes send each other the data.
    replace.FAULT.check(Fault(1.0, "replace", ("db.2",), "db"), cluster)
    monkeypatch.setattr(base, "program", lambda name, places: Path("/usr/bin") / name)
    replace.FAULT.check(Fault(1.0, "replace", ("db.2",), "db"), replicas)
