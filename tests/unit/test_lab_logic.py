"""Labs without servers: what they are asked to be, where they are, which node a word means."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from dbdyno.cli.labs import shell, shown
from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.experiment.types import Router, Topology
from dbdyno.faults.base import Node
from dbdyno.lab import asking, clients, listening, nodes, registry, wanted
from dbdyno.lab.listening import Ear
from dbdyno.lab.registry import Record
from dbdyno.lab.servers import LabServers
from dbdyno.lab.wanted import Wanted
from dbdyno.plan.machine import Machine
from dbdyno.systems.process.owner import Owner

MACHINE = Machine(cores=2, memory_bytes=8 << 30, kernel="", cpu_model="")
PASSWORD = "not-for-your-eyes"
NOBODY = (1 << 22) + 1  # no process: Linux's numbers end at 2^22


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


# ---- what is asked


def target(what: str, **given: Any) -> Any:
    return wanted.target(Wanted(what, **given), MACHINE)


def test_a_topology_is_that_of_an_experiment_and_nodes_are_called_after_the_lab() -> None:
    made = target("galera", nodes=3, target={"memory": "1Gi", "durability": "full"})
    assert (made.kind, made.topology, made.memory_bytes) == (
        "mariadb",
        Topology("galera", 3),
        1 << 30,
    )
    assert [node.name for node in made.nodes] == ["galera", "galera.2", "galera.3"]
    two = target("replicas", kind="postgres", nodes=2, wait_for_replicas=1, name="pair")
    assert (two.kind, two.topology) == ("postgres", Topology("replicas", 2, 1))
    by_rows = target("replicas", kind="postgres", nodes=2, replication="logical")
    assert by_rows.topology == Topology("replicas", 2, logical=True)
    routed = target("replicas", kind="postgres", nodes=2, router="haproxy")
    assert routed.router == Router("haproxy", check_s=1.0)
    voting = target("galera", nodes=2, arbitrator=True, sst="mariabackup")
    assert voting.topology == Topology("galera", 2, arbitrator=True, sst="mariabackup")
    assert [node.name for node in two.nodes] == ["pair", "pair.2"]
    several = target("group", primaries="all")
    assert several.topology == Topology("group", 3, multi_primary=True)


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres", "redis"])
def test_a_kind_is_a_single_server(kind: str) -> None:
    made = target(kind)
    assert (made.kind, made.topology, made.server_count) == (kind, None, 1)


@pytest.mark.parametrize(
    ("what", "given", "words"),
    [
        ("galerra", {}, ("`galerra`", "did you mean `galera`?")),
        ("sqlite", {}, ("`sqlite`", "no server of its own")),
        ("replicas", {"nodes": 2}, ("--kind", "mariadb, mysql, postgres")),
        ("replicas", {"kind": "redis"}, ("Redis has no topology `replicas`",)),
        ("group", {"kind": "postgres"}, ("PostgreSQL has no topology `group`", "use replicas")),
        ("galera", {"kind": "oracle"}, ("--kind oracle", "mariadb")),
        ("galera", {"nodes": 8}, ("7 nodes at most",)),
        ("galera", {"nodes": 0}, ("`nodes` must be at least 1",)),
        ("galera", {"wait_for_replicas": 1}, ("means nothing to `galera`",)),
        ("galera", {"replication": "logical"}, ("means nothing to `galera`",)),
        ("postgres", {"replication": "logical"}, ("--replication", "single server")),
        ("galera", {"primaries": "all"}, ("`primaries` means nothing to `galera`",)),
        ("mysql", {"primaries": "all"}, ("--primaries", "single server", "replicas, group")),
        ("group", {"router": "mysqlrouter"}, ("not tested here", "MySQL Shell", "use haproxy")),
        ("mariadb", {"nodes": 2}, ("--nodes", "single server", "galera, replicas")),
        ("redis", {"wait_for_replicas": 1}, ("--wait-for-replicas", "sentinel, cluster")),
        ("mariadb", {"kind": "mysql"}, ("--kind says mysql",)),
        ("galera", {"nodes": 3, "target": {"memory": "3Gi"}}, ("3 x 3 GiB", "8 GiB")),
        ("mariadb", {"target": {"memory": "much"}}, ("must be a size",)),
        ("mariadb", {"target": {"durability": "some"}}, ("full",)),
        ("galera", {"target": {"config": {"port": "3306"}}}, ("cannot share the port",)),
        ("mariadb", {"name": "a b"}, ("'a b'", "another --name")),
        ("mariadb", {"name": "a.2"}, ("'a.2'",)),
        ("mariadb", {"name": "primary"}, ("'primary'",)),
        ("mariadb", {"router": "haproxy"}, ("--router", "single server")),
        ("mariadb", {"arbitrator": True}, ("--arbitrator", "single server")),
        ("galera", {"sst": "ftp"}, ("sst", "mariabackup")),
        ("replicas", {"kind": "mariadb", "sst": "rsync"}, ("`sst` means nothing to `replicas`",)),
        ("mariadb", {"name": "arbitrator"}, ("'arbitrator'",)),
        ("galera", {"router": "pgpool"}, ("pgpool does not speak to MariaDB", "use haproxy")),
        ("mariadb", {"for_s": 0.0}, ("--for",)),
        ("mariadb", {"for_s": 1e9}, ("30 days at most",)),
    ],
)
def test_what_cannot_be_is_an_error_that_says_what_can(
    what: str, given: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(DynoError) as caught:
        target(what, **given)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.where is None, "nobody wrote a file"
    assert "`db`" not in str(caught.value) and "targets." not in str(caught.value)


def test_what_is_wanted_reaches_the_owner_whole() -> None:
    asked = Wanted("galera", "a", 60.0, "mariadb", 3, 0, "/mnt", {"config": {"x": "1"}})
    assert wanted.read(asked.as_json()) == asked
    assert "\n" not in asked.as_json()


# ---- where labs are found


def record(name: str, count: int = 2, **facts: Any) -> Record:
    names = [name, *(f"{name}.{number}" for number in range(2, count + 1))]
    given = [{"name": each, "port": 4000 + number} for number, each in enumerate(names)]
    return Record(Path("/none"), {"name": name, "pid": 1, "nodes": given, **facts})


def kept(name: str, number: int) -> tuple[Path, Owner]:
    """A lab's directory whose owner lives."""
    directory = registry.made() / f"dyno-{number:010x}"
    directory.mkdir(mode=0o700)
    owner = Owner(directory)
    registry.write(directory, {"name": name, "pid": os.getpid(), "nodes": []})
    return directory, owner


def test_labs_are_listed_by_name_and_a_name_is_taken_once() -> None:
    assert registry.listed() == []
    kept("b", 1), kept("a", 2)
    (registry.root() / "dyno-0000000003").mkdir()
    (registry.root() / "dyno-0000000003" / "lab.json").write_text("{broken")
    assert [one.name for one in registry.listed()] == ["a", "b"]
    registry.refuse_taken("c")
    with pytest.raises(DynoError, match=r"`a` is up[\s\S]*dyno lab down a"):
        registry.refuse_taken("a")


def test_what_a_power_cut_left_is_removed_with_the_servers_files(state: Path) -> None:
    live, _owner = kept("live", 1)
    dead, owner = kept("dead", 2)
    scratch = state / "scratch"
    files = scratch / "dyno-00000000aa"
    files.mkdir(parents=True)
    Owner(files).release()
    registry.write(dead, {"name": "dead", "pid": 1, "scratch": str(scratch)})
    owner.release()
    with registry.claiming():
        assert [one.name for one in registry.listed()] == ["live"]
    assert live.exists() and not dead.exists() and not files.exists()
    assert registry.clear() == []


def test_clearing_says_which_labs_are_gone() -> None:
    _, owner = kept("dead", 2)
    owner.release()
    assert registry.clear() == ["dead"]


def test_a_directory_that_others_may_use_is_refused() -> None:
    registry.made().chmod(0o755)
    with pytest.raises(DynoError, match="others may use it"):
        registry.made()


# ---- which node a word means


@pytest.mark.parametrize(
    ("word", "expected"),
    [("a", "a"), ("a.2", "a.2"), ("a.1", "a"), ("1", "a"), ("2", "a.2"), ("primary", "primary"),
     ("a.replica", "replica")],
)  # fmt: skip
def test_words_for_nodes_of_the_only_lab(word: str, expected: str) -> None:
    one = record("a")
    assert nodes.found([one], word) == (one, expected)


def test_with_several_labs_numbers_and_roles_need_the_labs_name() -> None:
    labs = [record("a"), record("b", 3)]
    assert nodes.found(labs, "b.3") == (labs[1], "b.3")
    assert nodes.found(labs, "b.primary") == (labs[1], "primary")
    for word in ("2", "primary"):
        with pytest.raises(DynoError, match=rf"2 labs are up: a, b[\s\S]*a\.{word}"):
            nodes.found(labs, word)
    with pytest.raises(DynoError, match="2 labs are up"):
        nodes.lab(labs, None)
    assert nodes.lab(labs, "b") == labs[1]


@pytest.mark.parametrize("word", ["a.3", "3", "a.first", "c", "c.2"])
def test_a_node_that_is_not_there_is_an_error_with_those_that_are(word: str) -> None:
    with pytest.raises(DynoError, match=r"no[\s\S]*node `[\s\S]*a\.2"):
        nodes.found([record("a")], word)


def test_without_a_lab_the_next_step_is_to_start_one() -> None:
    for ask in (
        lambda: nodes.lab([], None),
        lambda: nodes.found([], "a"),
        lambda: nodes.lab([], "a"),
    ):
        with pytest.raises(DynoError, match="dyno lab up"):
            ask()
    with pytest.raises(DynoError, match="did you mean `alpha`"):
        nodes.lab([record("alpha")], "alpa")


def roles(*found: str) -> list[dict[str, str]]:
    return [{"name": f"n{number}", "role": role} for number, role in enumerate(found, 1)]


@pytest.mark.parametrize(
    ("word", "found", "expected"),
    [
        ("primary", roles("primary", "replica"), "n1"),
        ("primary", roles("down", "primary", "replica"), "n2"),
        ("replica", roles("primary", "down", "replica"), "n3"),
        ("primary", roles("down", "member", "member"), "n2"),
        ("replica", roles("member", "member"), "n2"),
    ],
)
def test_a_role_is_that_of_now(word: str, found: list[dict[str, str]], expected: str) -> None:
    assert nodes.by_role("a", word, found) == expected


def test_a_router_is_one_while_it_is_down() -> None:
    routed = [*roles("primary", "replica"), {"name": "a.router", "role": "down"}]
    assert nodes.by_role("a", "router", routed) == "a.router"
    with pytest.raises(DynoError, match="no router now"):
        nodes.by_role("a", "router", roles("member", "member"))


def test_an_arbitrator_is_one_while_it_is_down_and_no_numbered_node() -> None:
    voting = [*roles("member", "member"), {"name": "a.arbitrator", "role": "down"}]
    assert nodes.by_role("a", "arbitrator", voting) == "a.arbitrator"
    assert nodes.by_role("a", "primary", voting) == "n1"
    with pytest.raises(DynoError, match="no arbitrator now"):
        nodes.by_role("a", "arbitrator", roles("member", "member"))
    given = [*record("a").nodes, {"name": "a.arbitrator", "port": 4002}]
    one = record("a", nodes=given)
    assert nodes.found([one], "arbitrator") == (one, "arbitrator")
    assert nodes.found([one], "a.arbitrator") == (one, "a.arbitrator")
    with pytest.raises(DynoError, match="no node `3`"):
        nodes.found([one], "3")


def test_a_role_that_no_node_has_lists_those_that_they_have() -> None:
    with pytest.raises(DynoError, match=r"no replica now[\s\S]*n1 is primary, n2 is down"):
        nodes.by_role("a", "replica", roles("primary", "down"))


# ---- how clients log in

NODE = {"name": "a.2", "url": "x://dyno@127.0.0.1:4001/lab", "host": "127.0.0.1", "port": 4001,
        "user": "dyno", "database": "lab", "socket": "/tmp/it's/s"}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "program", "variable"),
    [
        ("mariadb", "mariadb", "MYSQL_PWD"),
        ("mysql", "mysql", "MYSQL_PWD"),
        ("postgres", "psql", "PGPASSWORD"),
        ("redis", "redis-cli", "REDISCLI_HISTFILE"),
    ],
)
def test_clients_get_the_password_by_a_file_and_no_variable_of_the_users(
    kind: str, program: str, variable: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / program).write_text("")
    (state / program).chmod(0o755)
    monkeypatch.setenv(variable, "another")
    clients.write_secrets(state, kind, PASSWORD, [NODE])
    words, environment = clients.command(kind, state, NODE, [str(state)], ["-e", "x"])
    assert words[0] == str(state / program)
    assert words[-2:] == ["-e", "x"]
    assert PASSWORD not in " ".join(words)
    assert variable not in environment
    lines = clients.exports(kind, state, NODE)
    assert PASSWORD not in "".join(lines)
    assert all(line.startswith("export ") for line in lines)
    assert any(NODE["url"] in line for line in lines)
    secret = [path for path in state.iterdir() if path.is_file() and PASSWORD in path.read_text()]
    assert state / "password" in secret
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in secret)


def test_no_client_logs_in_at_an_arbitrator(state: Path) -> None:
    running: Any = SimpleNamespace(name="a.arbitrator", port=4002, log_path=state / "garbd.log")
    made = clients.of_arbitrator(running, NODE)
    assert made.keys() == NODE.keys() | {"log"}
    assert (made["name"], made["port"], made["url"]) == ("a.arbitrator", 4002, "")
    assert clients.has_clients(NODE) and not clients.has_clients(made)
    clients.write_secrets(state, "mariadb", PASSWORD, [NODE, made])
    assert [path.name for path in state.glob("*.cnf")] == ["a.2.cnf"]


def test_a_client_that_is_not_installed_is_named(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(state))
    with pytest.raises(DynoError, match=r"`psql` is not here[\s\S]*postgresql-client"):
        clients.command("postgres", state, NODE, [], [])


# ---- asking an owner


def answering(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if request["do"] == "status":
        return {"state": "up", "said": "x" * 100_000}
    if request["do"] == "kill":
        raise DynoError("no", cause="why", fix="how")
    raise ValueError("a defect")


@pytest.fixture
def owned(state: Path) -> Record:
    """A lab whose socket has a path that is too long for one."""
    directory = state / ("long" * 30)
    directory.mkdir()
    Ear(directory / registry.SOCKET, answering)
    return replace(record("a"), directory=directory)


def test_requests_are_answered_and_errors_cross_the_socket(owned: Record) -> None:
    assert asking.status(owned)["state"] == "up"
    with pytest.raises(DynoError) as caught:
        asking.act(owned, "kill", "a")
    assert (caught.value.what, caught.value.cause, caught.value.fix) == ("no", "why", "how")
    with pytest.raises(DynoError, match="ValueError: a defect"):
        asking.act(owned, "stop", "a")


@pytest.mark.parametrize("sent", [b"", b"{", b"[1]\n", b"nonsense\n", b"x" * 200_000])
def test_whatever_is_sent_the_owner_answers_the_next_one(owned: Record, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection, listening.named(owned.socket) as name:
        connection.connect(name)
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
        except OSError:
            pass  # it is refused before all of it is read
    assert asking.status(owned)["state"] == "up"


def test_who_waits_too_long_is_told_to_look_before_ending_the_lab(state: Path) -> None:
    over = threading.Event()

    def slow(request: Mapping[str, Any]) -> Mapping[str, Any]:
        over.wait(60)
        return {}

    Ear(state / registry.SOCKET, slow)
    try:
        with pytest.raises(DynoError, match="did not answer within 0 s") as caught:
            asking.ask(replace(record("a"), directory=state), {"do": "start"}, 0.1)
    finally:
        over.set()
    assert "still starting or stopping" in caught.value.cause
    assert caught.value.fix.startswith("see `dyno lab status a`")


def test_a_lab_that_ends_starts_no_node() -> None:
    servers = object.__new__(LabServers)
    deployment: Any = SimpleNamespace(
        servers={}, target=target("redis", name="cache"), stop_router=lambda: None
    )
    node: Any = None
    servers.deployment, servers._struck = deployment, {"cache": Node("cache", node, "")}
    servers.stop()
    with pytest.raises(DynoError, match="lab `cache` ends just now"):
        servers.act("kill", "cache")


def test_a_client_has_the_signals_that_a_shell_would_give_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {"kind": "redis", "client_places": [], "topology": None}
    monkeypatch.setattr(shell, "login", lambda name: (record("a", **facts), {}))
    monkeypatch.setattr(clients, "command", lambda *_: (["/none"], {}))
    before = {number: signal.getsignal(number) for number in shell.IGNORED}
    try:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        with pytest.raises(DynoError, match="cannot run /none"):
            shell.shell([])
        assert {signal.getsignal(number) for number in before} == {signal.SIG_DFL}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_lab_that_has_ended_is_an_error_with_a_next_step(state: Path) -> None:
    with pytest.raises(DynoError, match=r"`a` has just ended[\s\S]*dyno lab up"):
        asking.status(replace(record("a"), directory=state))
    with pytest.raises(DynoError, match="has just ended"):
        asking.status(replace(record("a"), directory=state / "gone"))
    asking.down(replace(record("a"), directory=state / "gone"))  # it has what it wants


def test_what_is_left_of_a_lab_names_its_owner_only_while_that_lives(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "DOWN_S", -1.0)
    monkeypatch.setattr(asking, "ask_down", lambda record: None)
    for pid, said in ((os.getpid(), f"`kill -9 {os.getpid()}`"), (NOBODY, "remove the")):
        with pytest.raises(DynoError) as caught:
            asking.down(replace(record("a", pid=pid), directory=state))
        assert said in caught.value.fix
        assert ("kill -9" in caught.value.fix) == (pid == os.getpid())


# ---- what people see

FACTS: dict[str, Any] = {
    "name": "pair", "kind": "mariadb", "version": "10.11.14-MariaDB", "topology": "replicas",
    "node_count": 2, "wait_for_replicas": 1, "state": "up", "doing": "", "since_unix_s": 0.0,
    "until_unix_s": 4e9,
    "nodes": [
        {"name": "pair", "role": "primary", "state": "running", "port": 4000, "pid": 7,
         "rss_bytes": 100 << 20, "lag_s": None, "since_unix_s": 0.0},
        {"name": "pair.2", "role": "down", "state": "paused", "port": 4001, "pid": 8,
         "rss_bytes": 50 << 20, "lag_s": None, "since_unix_s": 0.0},
        {"name": "pair.3", "role": "down", "state": "down", "port": 4002, "pid": None,
         "rss_bytes": None, "lag_s": None, "since_unix_s": None},
    ],
}  # fmt: skip


def test_a_lab_is_a_line_and_a_table() -> None:
    head, titles, *rows = shown.lab(FACTS).splitlines()
    assert head.startswith(
        "pair: MariaDB 10.11.14, replicas of 2 nodes, commits wait for 1 replica; up for "
    )
    assert titles.split() == ["node", "role", "port", "pid", "memory", "lag", "for"]
    assert [row.split()[:4] for row in rows] == [
        ["pair", "primary", "4000", "7"],
        ["pair.2", "paused", "4001", "8"],
        ["pair.3", "down", "4002", "-"],
    ]
    assert "100 MiB" in rows[0]
    [apart] = shown.lab(
        {**FACTS, "nodes": [{**FACTS["nodes"][1], "state": "running"}]}
    ).splitlines()[2:]
    assert "not ready" in apart
    coming = {**FACTS, "state": "starting", "doing": "starting pair.2", "nodes": []}
    assert "; starting (starting pair.2) for " in shown.lab(coming)
    group = {**FACTS, "topology": "group", "wait_for_replicas": 0, "multi_primary": True}
    assert ", group of 2 nodes, all of them primaries; up for " in shown.lab(group)


def offered(*words: str) -> list[str]:
    complete = ShellComplete(dyno, {}, "dyno", "_DYNO_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_tab_offers_labs_nodes_and_what_can_be_started() -> None:
    assert {"galera", "replicas", "group", "mariadb", "redis"} <= set(offered("lab", "up", ""))
    assert "sqlite" not in offered("lab", "up", "")
    assert {"up", "status", "kill", "resume"} <= set(offered("lab", ""))
    assert offered("lab", "shell", "") == []
    directory, _owner = kept("a", 1)
    registry.write(directory, dict(record("a").facts))
    assert offered("lab", "down", "") == ["a"]
    assert offered("lab", "kill", "") == ["a", "a.2", "primary", "replica"]
    second, _second = kept("b", 2)
    registry.write(second, dict(record("b").facts))
    assert offered("lab", "url", "b.") == ["b.2", "b.primary", "b.replica"]


def test_the_record_of_a_lab_is_for_its_owners_eyes() -> None:
    directory, _owner = kept("a", 1)
    assert (directory / registry.RECORD).stat().st_mode & 0o777 == 0o600
    assert json.loads((directory / registry.RECORD).read_text())["name"] == "a"
