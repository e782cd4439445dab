"""A name server of a topology's own: BIND 9 on loopback, for one zone, whose records are changed as
a new machine changes its own at boot: by a signed update (TSIG).

Sources: BIND 9.18's Administrator Reference Manual (`zone`, `update-policy`, `session-keyfile`,
`pid-file`), named(8), nsupdate(1); RFC 2136, RFC 8945. BIND is a program of its own under the MPL,
that users install; nothing of it is in here.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.process.account import Account, account_for, private_file, run_as
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.managed import ENVIRONMENT
from dbdyno.systems.process.paths import LOOPBACK, free_port, program, socket_directory
from dbdyno.systems.process.starting import TRIES, PortTaken

ZONE = "dyno.test"  # RFC 6761: `test` is reserved
KEY = "dyno"
SBIN = (Path("/usr/sbin"), Path("/usr/local/sbin"))  # not in everybody's PATH
PACKAGES = {"named": "bind9", "nsupdate": "bind9-dnsutils"}
READY_TIMEOUT_S = 20.0
UPDATE_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 2.0
POLL_S = 0.05
TAKEN = "address in use"

_CONFIG = """\
include "{directory}/key";
controls {{ }};
options {{
    directory "{directory}";
    listen-on port {port} {{ {loopback}; }};
    listen-on-v6 {{ none; }};
    pid-file none;
    session-keyfile none;
    lock-file none;
    recursion no;
    dnssec-validation no;
    notify no;
    allow-transfer {{ none; }};
    check-names primary ignore;
}};
zone "{zone}" {{
    type primary;
    file "zone.db";
    update-policy {{ grant {key} zonesub A; }};
}};
"""
_ZONE = """\
$TTL 1
@ IN SOA ns.{zone}. hostmaster.{zone}. 1 3600 600 86400 1
@ IN NS ns.{zone}.
ns IN A {loopback}
"""


def name_of(node: str) -> str:
    """The name of a node, or of an address that follows a role: of `db.2` `db-2.dyno.test`."""
    return f"{node.replace('.', '-')}.{ZONE}"


def find(name: str) -> Path:
    """One of BIND's programs. DynoError with the command that installs it."""
    found = program(name, SBIN)
    if found is None:
        raise DynoError(
            f"there is no `{name}`, which nodes get their names by (`topology: {{dns: ...}}`)",
            cause="BIND 9 is not installed",
            fix=f"apt-get install --no-install-recommends {' '.join(PACKAGES.values())}",
        )
    return found


def check_installed() -> None:
    """DynoError where one of its programs is missing."""
    for name in PACKAGES:
        find(name)


class NameServer:
    """A running name server. `set` may be called from any thread; `stop` ends it."""

    def __init__(self, host: Host, account: Account, ttl_s: int) -> None:
        """Returns once it answers. `ttl_s`: of all records. DynoError, with the end of its log, if
        it does not start."""
        self._host = host
        self._account = account
        self._ttl_s = ttl_s
        self._updates = 0
        for attempt in range(1, TRIES + 1):
            self.port = free_port()
            self._directory = socket_directory(account)
            self._guard = Guarded(host=host, account=account, make=[self._directory])
            self._log = LogTail(self._directory / "named.log")
            try:
                self._process = self._started()
                self._wait()
            except PortTaken:
                self.stop()
                if attempt == TRIES:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return

    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process.alive()

    def set(self, addresses: Mapping[str, str]) -> None:
        """Has each of these nodes be found at an address. Returns once the name server says so.
        DynoError if it refuses."""
        if said := self._update(addresses):
            raise DynoError(
                f"the name server does not take a record: {said}",
                cause="it has ended, or is very busy",
                fix=f"see the end of its log:\n{self._log.text()}",
            )

    def stop(self) -> None:
        """Ends it, and removes its files."""
        process = getattr(self, "_process", None)
        if process is not None:
            process.stop(STOP_TIMEOUT_S)
        self._guard.stop(STOP_TIMEOUT_S)

    def _started(self) -> Guarded:
        directory, secret = self._directory, base64.b64encode(secrets.token_bytes(32)).decode()
        names = {"zone": ZONE, "key": KEY, "loopback": LOOPBACK}
        for file, text in (
            ("key", f'key "{KEY}" {{ algorithm hmac-sha256; secret "{secret}"; }};\n'),
            ("named.conf", _CONFIG.format(directory=directory, port=self.port, **names)),
            ("zone.db", _ZONE.format(**names)),
        ):
            private_file(directory / file, text, self._account)
        return Guarded(
            [find("named"), "-g", "-n", "1", "-c", directory / "named.conf"],
            host=self._host,
            account=self._account,
            environment={**ENVIRONMENT, "HOME": str(directory)},
            log=self._log.path,
            stop_timeout_s=STOP_TIMEOUT_S,
        )

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while said := self._update({"ready": LOOPBACK}):
            log = self._log.text()
            if TAKEN in log:
                raise PortTaken(f"the name server cannot listen on port {self.port}")
            if not self._process.alive() or time.monotonic() > deadline:
                raise DynoError(
                    f"the name server did not start: {said}",
                    cause="a version of BIND that does not know its configuration",
                    fix=f"its log ends:\n{log}",
                )
            time.sleep(POLL_S)

    def _update(self, addresses: Mapping[str, str]) -> str:
        """Why an update failed; empty if it did not."""
        lines = [f"server {LOOPBACK} {self.port}", f"zone {ZONE}"]
        for node, address in addresses.items():
            name = name_of(node)
            lines.append(f"update delete {name}. A")
            lines.append(f"update add {name}. {self._ttl_s} A {address}")
        self._updates += 1
        file = self._directory / f"update-{self._updates}"
        private_file(file, "\n".join([*lines, "send", ""]), self._account)
        command: list[str | Path] = [find("nsupdate"), "-k", self._directory / "key"]
        done = run_as(
            self._host,
            self._account,
            [*command, "-t", f"{UPDATE_TIMEOUT_S:.0f}", file],
            ENVIRONMENT,
            2 * UPDATE_TIMEOUT_S,
        )
        file.unlink(missing_ok=True)
        said = " ".join((done.stderr + done.stdout).split())
        return "" if done.returncode == 0 else said or f"nsupdate ended with {done.returncode}"


def start(host: Host, account: str, ttl_s: float) -> NameServer:
    """The name server of a topology, under the account of its servers."""
    return NameServer(host, account_for(account), round(ttl_s))
