"""`dyno` without what only measurements wait for: no test asserts timing.

It does not wait until the disk is quiet, measures what else runs for a moment only, kills servers
of MySQL's family whose files nobody needs any more, and copies an empty data directory that was
made before, by its own code. Tests that execute the installed program (`Place.start`: kills,
terminals) do all of it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from dbdyno import systems
from dbdyno.execute.servers.pool import ServerPool, stop_all
from dbdyno.hosts import LOCAL
from dbdyno.rules import machine
from dbdyno.systems.base import Binaries, Resolved, Server
from dbdyno.systems.mysql.managed import MysqlServer
from dbdyno.systems.process.account import account_for, check_reachable, private_directory
from dbdyno.systems.process.managed import KILL_TIMEOUT_S, Managed, ManagedSystem

TEMPLATES = "TEST_TEMPLATES"  # in the environment: where data directories are kept
KINDS = ("mariadb", "mysql", "postgres")  # whose data directories take long to make
LOOK_S = 0.1

Prepare = Callable[[Binaries, Path, Resolved], None]


def begin() -> None:
    """Has this process hurry, where its environment says where to keep data directories."""
    if named := os.environ.pop(TEMPLATES, None):
        hurry(Path(named))


def hurry(templates: Path) -> None:
    """Has this process hurry; it cannot be undone. Data directories are kept in `templates`."""
    ServerPool._settle = lambda self: None
    machine.sample = functools.partial(machine.sample, seconds=LOOK_S)
    MysqlServer.stop = _quick(MysqlServer.stop)
    for kind in KINDS:
        system = systems.load(kind)
        system.prepare = functools.partial(_prepare, system, system.prepare, templates)


def drop(servers: Collection[Server]) -> None:
    """Ends servers whose files nobody needs any more."""
    for server in servers:
        if isinstance(server, Managed):
            server.process.kill(KILL_TIMEOUT_S)
    stop_all(servers)


def _quick(stop: Callable[..., bool]) -> Callable[..., bool]:
    """`Managed.stop`, at once where the files are not needed: a clean end takes a second."""

    def quick(server: Managed, *, discard: bool = False) -> bool:
        if discard:
            server.process.kill(KILL_TIMEOUT_S)
        return stop(server, discard=discard)

    return quick


def _prepare(
    system: ManagedSystem,
    make: Prepare,
    templates: Path,
    binaries: Binaries,
    directory: Path,
    resolved: Resolved,
) -> None:
    """`System.prepare` by a copy of a directory that it has made once with the same settings; where
    that cannot be, such as on a disk that is too small, as ever."""
    account = account_for(system.account)
    directory.parent.mkdir(parents=True, exist_ok=True)
    if binaries.host is not LOCAL or templates.stat().st_dev != directory.parent.stat().st_dev:
        make(binaries, directory, resolved)
        return
    facts = [system.kind, binaries.version, str(binaries.paths), system.initial_settings(resolved)]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    template = templates / f"{system.kind}-{digest[:16]}"
    if not template.exists():
        _keep(lambda fresh: make(binaries, fresh, resolved), template)
    private_directory(directory, account)
    check_reachable(directory / "data", account)
    if not _copied(f"{template}/.", directory):
        shutil.rmtree(directory / "data", ignore_errors=True)
        make(binaries, directory, resolved)


def _keep(make: Callable[[Path], None], template: Path) -> None:
    """Makes a template, unless another process is faster."""
    fresh = template.with_name(f"{template.name}.{os.getpid()}")
    try:
        make(fresh)
        with suppress(OSError):
            fresh.rename(template)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _copied(source: str, target: Path) -> bool:
    command = ["cp", "-a", "--reflink=auto", "--sparse=auto", "--", source, target]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
