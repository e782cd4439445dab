"""MariaDB Galera nodes on this machine's loopback: start, leave, crash, pause, write.

Clients reach a node through its socket only (`skip-networking`); the group itself needs ports.
Options: https://mariadb.com/docs/galera-cluster/reference/wsrep-variable-details/wsrep_provider_options
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pymysql
from tools.proof.galera.line import Line

from dbdyno.systems.process.account import Account, account_for
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.scratch import Scratch

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
PROGRAMS = ("mariadbd", "mariadb-install-db", "rsync")
READY_S = 180.0
ANSWER_S = 20.0
JOINS = 3  # times that a node is started until it has joined
NAMES = ("n1", "n2", "n3")

CONFIG = """[mariadbd]
datadir={data}
socket={data}/sock
pid-file={data}/pid
log-error={data}/log.err
tmpdir={data}
skip-networking
skip-name-resolve
binlog_format=ROW
innodb_autoinc_lock_mode=2
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_flush_log_at_trx_commit=0
performance_schema=OFF
wsrep_on={on}
wsrep_provider={provider}
wsrep_cluster_name=dbdyno
wsrep_cluster_address=gcomm://{members}
wsrep_node_name={name}
wsrep_node_address={host}
wsrep_sst_method=rsync
wsrep_sst_receive_address={host}:{sst}
wsrep_retry_autocommit=0
wsrep_provider_options="{options}"
"""


def missing() -> str:
    """What is not installed of what nodes need; "" if all is there."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    lacking += [] if PROVIDER.exists() else [PROVIDER.name]
    return ", ".join(lacking)


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/bin"


def free_ports(count: int) -> list[int]:
    """Unused ports of loopback."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


@dataclass
class Node:
    """One server; `process` is None while it does not run."""

    name: str
    data: Path
    ports: tuple[int, int, int]  # group, incremental and full state transfer
    account: Account
    host: str = "127.0.0.1"
    wrap: tuple[str, ...] = ()
    process: Guarded | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Where the group listens."""
        return f"{self.host}:{self.ports[0]}"

    def configure(self, members: Sequence[Node], options: Mapping[str, object]) -> None:
        """Writes its configuration."""
        group, incremental, full = self.ports
        given = {
            "base_port": group,
            "gmcast.listen_addr": f"tcp://{self.host}:{group}",
            "ist.recv_addr": f"{self.host}:{incremental}",
            "gcache.size": "32M",
            **options,
        }
        text = CONFIG.format(
            data=self.data,
            on="ON",
            provider=PROVIDER,
            members=",".join(each.address for each in members),
            name=self.name,
            host=self.host,
            sst=full,
            options=";".join(f"{key}={value}" for key, value in given.items()),
        )
        file = self.data.with_suffix(".cnf")
        file.write_text(text)
        file.chmod(0o644)

    def start(self, *, new_cluster: bool = False) -> None:
        """Starts it; `synced` says when it takes writes."""
        assert self.process is None
        program = shutil.which("mariadbd", path=_path())
        assert program
        command = [*self.wrap, program, f"--defaults-file={self.data.with_suffix('.cnf')}"]
        command += ["--wsrep-new-cluster"] if new_cluster else []
        self.process = Guarded(
            command,
            # What enters a namespace is root, and becomes the account by itself.
            account=replace(self.account, switch=False) if self.wrap else self.account,
            directory=self.data,
            environment={"PATH": _path(), "HOME": str(self.data)},
            log=self.data / "out",
            data=self.data,
        )

    def connect(self, timeout_s: float = ANSWER_S) -> pymysql.connections.Connection:
        """A session as root, through the socket."""
        return pymysql.connect(
            unix_socket=str(self.data / "sock"),
            ssl_disabled=True,
            user="root",
            autocommit=True,
            connect_timeout=timeout_s,
            read_timeout=timeout_s,
            write_timeout=timeout_s,
        )

    def ask(self, statement: str, timeout_s: float = ANSWER_S) -> list[tuple[Any, ...]]:
        """Rows of one statement, in a session of its own."""
        with self.connect(timeout_s) as session, session.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def status(self) -> dict[str, str]:
        """Its `wsrep_` status variables."""
        return dict(self.ask("SHOW GLOBAL STATUS LIKE 'wsrep_%'"))

    def synced(self) -> bool:
        """Whether it is a full member of the primary component."""
        try:
            return self.status().get("wsrep_local_state_comment") == "Synced"
        except (pymysql.MySQLError, OSError):
            return False

    def await_synced(self) -> None:
        """RuntimeError, with the end of its log, if it does not get there."""

        def settled() -> bool:
            return self.synced() or self.process is None or not self.process.alive()

        if not until(settled, READY_S) or not self.synced():
            files = [self.data / "out", self.data / "log.err"]
            said = "".join(file.read_text(errors="replace") for file in files if file.exists())
            raise RuntimeError(f"{self.name} is not synced after {READY_S:g} s:\n{said[-3000:]}")

    def join(self) -> None:
        """Starts it, again where it gives up, as its service would: one whose CPU is taken while it
        asks for the data loses the others."""
        for _ in range(JOINS - 1):
            self.start()
            try:
                self.await_synced()
            except RuntimeError:
                self.crash()
            else:
                return
        self.start()
        self.await_synced()

    def crash(self) -> None:
        """SIGKILL: the kernel closes its connections, without a goodbye."""
        assert self.process is not None
        if self.process.alive():
            self.send(signal.SIGKILL)
            self.process.wait(10.0)
        self.process.stop(0.0)
        self.process = None

    def leave(self) -> None:
        """A clean shutdown, which notifies the others."""
        assert self.process is not None
        self.process.stop(30.0)
        self.process = None

    def pause(self) -> None:
        """SIGSTOP: its connections stay open and silent."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.send(signal.SIGCONT)

    def set_option(self, option: str, value: object) -> None:
        """Sets a provider option at run time."""
        self.ask(f"SET GLOBAL wsrep_provider_options='{option}={value}'", 20.0)

    def options(self) -> dict[str, str]:
        """`wsrep_provider_options` as the provider says they are."""
        ((text,),) = self.ask("SELECT @@GLOBAL.wsrep_provider_options")
        pairs = (one.partition("=") for one in text.split(";") if "=" in one)
        return {key.strip(): value.strip() for key, _, value in pairs}

    def send(self, number: signal.Signals) -> None:
        """A signal to the server's process."""
        assert self.process is not None
        os.kill(self.process.pid, number)


def until(condition: Callable[[], object], timeout_s: float, pause_s: float = 0.05) -> bool:
    """Whether it became true in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause_s)
    return bool(condition())


class Nodes:
    """Three nodes in a scratch directory, on loopback or with a line between; a context manager
    that leaves nothing behind."""

    def __init__(self, options: Mapping[str, object], line: Line | None = None) -> None:
        self.options = dict(options)
        self.scratch = Scratch()
        account = account_for("mysql")
        ports = free_ports(3 * len(NAMES))
        self.nodes = {
            name: Node(name, self.scratch.path / name, tuple(ports[3 * i : 3 * i + 3]), account)  # type: ignore[arg-type]
            for i, name in enumerate(NAMES)
        }
        if line is None:
            return
        for name, node in self.nodes.items():
            node.host = line.hosts[name]
            node.wrap = line.inside(name, account.uid, account.gid)

    def __enter__(self) -> Nodes:
        try:
            self._initialise()
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def _initialise(self) -> None:
        """One empty data directory, and copies of it."""
        first, *others = self.nodes.values()
        for node in self.nodes.values():
            node.configure(list(self.nodes.values()), self.options)
        os.umask(0o022)
        first.data.mkdir()
        shutil.chown(first.data, first.account.uid, first.account.gid)
        command = ["mariadb-install-db", f"--defaults-file={first.data.with_suffix('.cnf')}"]
        command += ["--auth-root-authentication-method=normal", "--skip-test-db", "--wsrep-on=OFF"]
        subprocess.run(
            command,
            user=first.account.uid if first.account.switch else None,
            group=first.account.gid if first.account.switch else None,
            extra_groups=[] if first.account.switch else None,
            env={"PATH": _path()},
            cwd="/",
            check=True,
            capture_output=True,
        )
        for node in others:
            subprocess.run(["cp", "-a", first.data, node.data], check=True)

    def begin(self) -> None:
        """The first node makes the cluster, the others join one after the other."""
        first, *others = self.nodes.values()
        first.start(new_cluster=True)
        first.await_synced()
        for node in others:
            node.join()

    def running(self) -> list[Node]:
        """Those with a process."""
        return [node for node in self.nodes.values() if node.process is not None]

    def close(self) -> None:
        """Kills what runs and removes everything."""
        for node in self.running():
            node.crash()  # SIGKILL ends a paused process too
        self.scratch.close()
