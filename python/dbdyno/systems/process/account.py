"""The account a server runs under, and directories it can reach.

Servers run unprivileged: as root, under the package's own account (`mysql`, `postgres`); otherwise
as ourselves. A directory is private to that account (mode 0700); its parents must let it through.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Completed, Host, Ids, TimedOut


@dataclass(frozen=True)
class Account:
    """Who a server runs as."""

    name: str
    uid: int
    gid: int
    switch: bool  # whether we must change to it (we are root)

    @property
    def ids(self) -> Ids | None:
        """Of what runs under it; None: our own."""
        return (self.uid, self.gid) if self.switch else None


def account_for(name: str) -> Account:
    """The package's account if we are root, else our own."""
    if os.geteuid() != 0:
        me = os.geteuid()
        try:
            own = pwd.getpwuid(me).pw_name
        except KeyError:  # a container may run under a number without a name
            own = str(me)
        return Account(own, me, os.getegid(), switch=False)
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise DynoError(
            f"there is no account {name!r} to run the server under",
            cause="servers never run as root, and the package that makes the account is missing",
            fix=f"run `make servers`, or `useradd -r -M -s /usr/sbin/nologin {name}`",
        ) from None
    return Account(name, entry.pw_uid, entry.pw_gid, switch=True)


def private_directory(path: Path, account: Account) -> Path:
    """Makes `path` (if missing) a directory that only the account can use."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account.switch:
        os.chown(path, account.uid, account.gid)
    path.chmod(0o700)
    return path


def private_file(path: Path, text: str, account: Account) -> Path:
    """Writes a file that only the account (and root) can read; replaces an existing one."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if account.switch:
            os.fchown(descriptor, account.uid, account.gid)
        file.write(text)
    return path


def check_reachable(path: Path, account: Account) -> None:
    """Raises DynoError if the account cannot get to `path`, naming the directory in the way."""
    if not account.switch:
        return
    for parent in reversed(path.absolute().parents):
        info = parent.stat()
        if info.st_uid == account.uid:
            passes = bool(info.st_mode & stat.S_IXUSR)
        elif info.st_gid == account.gid:
            passes = bool(info.st_mode & stat.S_IXGRP)
        else:
            passes = bool(info.st_mode & stat.S_IXOTH)
        if not passes:
            raise DynoError(
                f"account {account.name!r} cannot reach {path}",
                cause=f"{parent} has mode {stat.S_IMODE(info.st_mode):04o}, "
                "and servers are never run as root",
                fix="choose a directory outside it (set DYNO_SCRATCH), or run dyno as another user",
            )


def version_of(host: Host, server: Path, account: str, pattern: str, *options: str) -> str:
    """What `pattern` finds in what a server's program prints of itself; DynoError if it does not
    run."""
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    done = run_as(host, account_for(account), [server, *options, "--version"], environment, 20.0)
    found = re.search(pattern, done.stdout)
    if done.returncode != 0 or not found:
        raise DynoError(
            f"{server} does not run: {(done.stderr or done.stdout).strip()[-300:]}",
            cause=f"a library is missing, or the account {account} cannot reach it",
            fix="run `make servers`, or set `basedir:`",
        )
    return found[1]


def run_as(
    host: Host,
    account: Account,
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    timeout_s: float,
) -> Completed:
    """Runs a set-up program under the account and returns its output; DynoError on a timeout.

    `TMPDIR` and the like must come in `environment`: dyno's own is not passed on.
    """
    words = [str(word) for word in command]
    try:
        return host.run(
            words, environment=environment, cwd="/", ids=account.ids, timeout_s=timeout_s
        )
    except TimedOut:
        raise DynoError(
            f"{words[0]} did not finish within {timeout_s:.0f} s",
            cause="a very slow or full disk",
            fix="look at the disk with `df` and `iostat`, then run again",
        ) from None
    except OSError as error:
        raise DynoError(
            f"cannot run {words[0]}: {error.strerror}",
            cause="the binary is broken or not for this machine",
            fix="run `make servers`, or set `basedir:`",
        ) from None
