"""Places: where binaries are, where sockets may be, which port is free."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterable
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.process.account import Account, check_reachable
from dbdyno.systems.process.owner import new_path

SOCKET_PATH_BYTES_MAX = 107  # sun_path is 108 bytes with its terminating zero: unix(7)
LOOPBACK = "127.0.0.1"
DRILLS = "drills"  # in a server's directory: backups and logs that drills took, no files of its own


def program(name: str, directories: Iterable[Path]) -> Path | None:
    """The first executable of that name in the directories, then in PATH."""
    for directory in directories:
        path = directory / name
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    return Path(found) if found else None


def prefixes() -> list[Path]:
    """Where `make servers` may have put servers: the environment's folder, the checkout's, the
    machine's, the user's."""
    asked = os.environ.get("DYNO_PREFIX")
    return [
        *([Path(asked)] if asked else []),
        Path(__file__).resolve().parents[4] / ".prefix",  # a checkout, installed editable
        Path("/var/lib/dbdyno/prefix"),
        Path.home() / ".cache/dbdyno/prefix",
    ]


def in_prefixes(kind: str) -> list[Path]:
    """Folders KIND and KIND-VERSION of all prefixes, as far as there are any."""
    names = (f"{kind}", f"{kind}-*")
    return [path for root in prefixes() for name in names for path in sorted(root.glob(name))]


def socket_directory(account: Account) -> Path:
    """A short path, not there yet, for a private directory that holds sockets, pid files and what
    is needed at start-up. A guardian makes it, so that it is never left behind."""
    for root in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/run")):
        path = new_path(root)
        # PostgreSQL adds "/.s.PGSQL.65535.lock" (20 bytes).
        if not root.is_dir() or len(os.fsencode(path)) + 21 > SOCKET_PATH_BYTES_MAX:
            continue
        try:
            check_reachable(path, account)
        except DynoError:
            continue
        if os.access(root, os.W_OK | os.X_OK):
            return path
    raise DynoError(
        "there is no directory for a Unix socket",
        cause="a socket's path is limited to 107 bytes, and TMPDIR is longer or closed",
        fix="set TMPDIR to a short directory such as /tmp",
    )


def free_port() -> int:
    """A port on loopback that nothing listens on now (someone may still be faster: retry)."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(port: int, setting: str) -> None:
    """DynoError if something listens on a port that the user asked for."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise DynoError(
                f"cannot listen on {LOOPBACK}:{port} (`{setting}: {port}`): {error.strerror}",
                cause="another server uses the port",
                fix=f"see `ss -ltnp 'sport = :{port}'`; or leave `{setting}` out: "
                "dyno then chooses a free port",
            ) from None
