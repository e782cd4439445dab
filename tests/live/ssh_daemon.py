"""A private sshd on loopback with keys of its own, and an `ssh` on PATH that knows them.

The user's configuration is neither read nor changed: the `ssh` is a script that names another one.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from running import wait_for

from needed import missing

SSHD, SSH = Path("/usr/sbin/sshd"), Path("/usr/bin/ssh")


@dataclass
class Daemon:
    """A running sshd. `bin` goes in front of PATH."""

    address: str  # ssh://user@127.0.0.1:port
    bin: Path
    process: subprocess.Popen[bytes]

    def sessions(self) -> list[int]:
        """Processes that serve connections."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and _parent(int(entry.name)) == self.process.pid:
                    found.append(int(entry.name))
        return found

    def drop(self) -> None:
        """Kills all connections, not the daemon."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def daemon() -> Iterator[Daemon]:
    """Starts one, and removes all of it."""
    if not SSHD.exists() or not SSH.exists():
        missing("openssh-server is not installed")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd's own, which its service would have made
    directory = Path(tempfile.mkdtemp(prefix="ds", dir="/var/tmp"))
    process = None
    try:
        for name in ("host", "user"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name]
            subprocess.run(key, check=True)
        port = _free_port()
        (directory / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1:{port}\nHostKey {directory}/host\nUsePAM no\n"
            f"AuthorizedKeysFile {directory}/user.pub\nStrictModes no\nPidFile none\n"
            "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
        )
        key = (directory / "host.pub").read_text()
        (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {key}")
        (directory / "ssh_config").write_text(
            f"IdentityFile {directory}/user\nIdentitiesOnly yes\nIdentityAgent none\n"
            f"UserKnownHostsFile {directory}/known_hosts\nStrictHostKeyChecking yes\n"
        )
        (directory / "bin").mkdir()
        program = directory / "bin" / "ssh"
        program.write_text(f'#!/bin/sh\nexec {SSH} -F {directory}/ssh_config "$@"\n')
        program.chmod(0o755)
        process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", directory / "sshd_config"], stderr=subprocess.DEVNULL
        )
        assert wait_for(lambda: _listens(port)), "sshd does not start"
        user = getpass.getuser()
        yield Daemon(f"ssh://{user}@127.0.0.1:{port}", directory / "bin", process)
    finally:
        if process is not None:
            process.terminate()
            process.wait(10)
        shutil.rmtree(directory, ignore_errors=True)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
