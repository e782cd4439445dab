"""Galera's arbitrator, garbd: a member of a cluster that has a vote and no data. It receives all
that the nodes send each other, and discards it.

It is a process of its own, under a guardian, in a private directory that is gone with it. Faults
strike it as they do servers. Its directory outlives a crash, as that of a service does: garbd finds
the identity there by which the others know it again (`gvwstate.dat`). It does not wait for a quorum
in vain and give up (`pc.wait_prim`), since a service would start it once more.

Sources: garbd(8); Galera's documentation on the Galera Arbitrator and on Galera parameters
(`base_dir`, `gmcast.listen_addr`, `pc.recovery`, `pc.wait_prim`); garb/ and gcomm/ in its source
for which parameters garbd takes. garbd is a program of its own under the GPL, that users install;
nothing of it is in here.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Binaries
from dbdyno.systems.process.account import Account
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LINES, LogTail
from dbdyno.systems.process.managed import ENVIRONMENT, PORT_WAIT_S
from dbdyno.systems.process.paths import LOOPBACK, program, socket_directory
from dbdyno.systems.process.starting import TRIES, PortTaken

PROGRAM = "garbd"
READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
KILL_TIMEOUT_S = 10.0
PROBE_S = 2.0
POLL_S = 0.05
LOG = "garbd.log"
TAKEN = "address already in use"  # in its log, in small letters
# Of a provider's options, those that garbd knows: it refuses others. A weight is each node's own.
KNOWN = ("evs.", "gmcast.", "pc.", "socket.")
NOT_ITS = ("pc.weight", "pc.bootstrap")


def find(binaries: Binaries) -> Path:
    """The program, next to the server's first. DynoError with the command that installs it."""
    base = binaries.paths["server"].parent.parent
    found = program(PROGRAM, [base / "bin", base / "sbin", Path("/usr/bin")])
    if found is None:
        raise DynoError(
            f"there is no `{PROGRAM}`, Galera's arbitrator (`topology: {{arbitrator: true}}`)",
            cause="it is not installed",
            fix="run `make servers`, or `apt-get install galera-arbitrator-4`",
        )
    return found


def options(written: str, port: int, directory: Path) -> str:
    """Its options: those of the nodes' provider that it knows, its own port and directory."""
    pairs = (pair.partition("=") for pair in written.split(";") if "=" in pair)
    given = {name.strip(): value.strip() for name, _, value in pairs}
    own = {
        **{k: v for k, v in given.items() if k.startswith(KNOWN) and k not in NOT_ITS},
        "base_port": str(port),
        "gmcast.listen_addr": f"tcp://{LOOPBACK}:{port}",
        "base_dir": str(directory),
        "pc.wait_prim": "no",
    }
    return ";".join(f"{name}={value}" for name, value in own.items())


@dataclass(frozen=True)
class Setting:
    """What an arbitrator is started with."""

    name: str
    program: Path
    host: Host
    account: Account
    group: str  # the cluster's name
    addresses: str  # of the nodes, as a cluster's address has them
    port: int
    options: str = ""  # of the nodes' provider, as written
    environment: Mapping[str, str] = field(default_factory=dict)
    cpus: Sequence[int] = ()
    check: Callable[[], None] = lambda: None


class Arbitrator:
    """A running arbitrator. `close` ends it."""

    def __init__(self, setting: Setting) -> None:
        """Returns once it listens: the nodes say when it has joined them. DynoError, with the end
        of its log, if it does not start."""
        self.name = setting.name
        self.port = setting.port
        self._setting = setting
        self._directory = socket_directory(setting.account)
        self._guard = Guarded(host=setting.host, account=setting.account, make=[self._directory])
        self._log = LogTail(self._directory / LOG)
        self.process = Guarded(host=setting.host, account=setting.account)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """Of its process; None once that has ended."""
        return self.process.pid if self.process.alive() else None

    @property
    def log_path(self) -> Path:
        """The file that it logs to."""
        return self._log.path

    def alive(self) -> bool:
        """Whether its process runs."""
        return self.process.alive()

    def log_tail(self, lines: int = LINES) -> str:
        """The last lines that it logged since this start, indented."""
        return self._log.text(lines)

    # ---- what faults do to it

    def kill(self) -> None:
        """Ends it at once. DynoError if it does not die."""
        if not self.process.kill(KILL_TIMEOUT_S):
            raise DynoError(
                f"{self.name} did not die within {KILL_TIMEOUT_S:.0f} s of SIGKILL",
                cause="the machine is very busy",
                fix="run again on a machine that is not",
            )

    def pause(self) -> None:
        """Freezes it until `resume`: connections stay, and nothing answers."""
        self.process.pause()

    def resume(self) -> None:
        """Ends a pause; no harm if there is none."""
        self.process.resume()

    def stop(self, *, discard: bool = False) -> bool:
        """Has it leave the cluster and end. True if it did so by itself."""
        return not self.process.stop(STOP_TIMEOUT_S)

    def start_again(self) -> None:
        """Starts it once it has ended, on the same port; returns once it listens there. Whether it
        has joined the nodes is another matter: they may be down. DynoError, with the end of its
        log, if it does not come back."""
        self.process.stop(0)  # ends its guardian, which has cleaned up
        self._log = LogTail(self._log.path)
        self.process = Guarded(host=self._setting.host, account=self._setting.account)
        self._start()

    def close(self) -> None:
        """Ends it, and removes its files."""
        self.process.resume()  # a frozen one does not hear that it should end
        self.process.stop(0)  # who ends the cluster waits for no view of it
        self._guard.stop(STOP_TIMEOUT_S)

    def _start(self) -> None:
        """On its port, which another process may have for a moment."""
        for attempt in range(1, TRIES + 1):
            self._launch()
            try:
                self._wait_until_it_listens()
            except PortTaken:
                if attempt == TRIES:
                    raise
                self.process.stop(0)
                time.sleep(PORT_WAIT_S)
                self._log = LogTail(self._log.path)
                self.process = Guarded(host=self._setting.host, account=self._setting.account)
            else:
                return

    def _launch(self) -> None:
        setting = self._setting
        given = options(setting.options, setting.port, self._directory)
        self.process.launch(
            [
                *(setting.program, "--name", setting.name, "--group", setting.group),
                *("--address", f"gcomm://{setting.addresses}", "--options", given),
            ],
            environment={
                **ENVIRONMENT,
                "HOME": str(self._directory),
                **setting.environment,
            },
            log=self._log.path,
            cpus=setting.cpus,
            stop_timeout_s=STOP_TIMEOUT_S,
        )

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            self._setting.check()
            if not self.process.alive():
                raise self.ended()
            with socket.socket() as probe:
                probe.settimeout(PROBE_S)
                if probe.connect_ex((LOOPBACK, self.port)) == 0:
                    return
            time.sleep(POLL_S)
        raise DynoError(
            f"{self.name} does not listen {READY_TIMEOUT_S:.0f} s after its start",
            cause="a very busy machine",
            fix=f"its log ends:\n{self.log_tail()}",
        )

    def ended(self) -> DynoError:
        """Says that it has, with the end of its log."""
        said = self.log_tail()
        kind = PortTaken if TAKEN in said.lower() else DynoError
        return kind(
            f"{self.name} has ended; its log ends:\n{said}",
            cause="an option of `wsrep_provider_options` that it refuses, or a port that is in use",
            fix="see the end of its log, then run again",
        )
