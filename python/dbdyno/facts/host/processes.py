"""Processes of a server, the account of each, and what confines it.

Sources: proc(5): `status`, `cwd`, `attr/current`; kernel documentation, "LSM": a process without a
profile of AppArmor is `unconfined`, in SELinux its domain says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "mysql": ("mysqld", "mariadbd"),
    "mariadb": ("mysqld", "mariadbd"),
    "postgres": ("postgres",),
    "redis": ("redis-server", "valkey-server", "redis-sentinel"),
    "mongodb": ("mongod", "mongos"),
}
_MODULES = ("apparmor", "selinux")


def of(engine: str, data: Path | None, root: Path) -> tuple[list[dict[str, object]], int]:
    """Rows (pid, program, uid, label, place) of servers of that data directory, of all if it is not
    known, without their children; and how many programs of the kind hide where they work."""
    rows, unseen, parents = [], 0, dict[int, int]()
    places = {data, data and Path(os.path.realpath(root / data.relative_to("/")))}
    for process in sorted(root.glob("proc/[0-9]*"), key=lambda one: int(one.name)):
        status = _status(process)
        if status.get("Name") not in PROGRAMS[engine] or status.get("PPid") is None:
            continue
        try:
            works_in = (process / "cwd").readlink()
        except PermissionError:
            unseen += data is not None
            continue
        except OSError:  # it has ended
            continue
        if data is None or works_in in places:
            parents[int(process.name)] = int(status["PPid"])
            rows.append(
                {
                    "pid": int(process.name),
                    "program": status["Name"],
                    "uid": int(status["Uid"].split()[1]),
                    "label": _text(process / "attr" / "current"),
                    "place": f"/proc/{process.name}",
                }
            )
    return [row for row in rows if parents[int(str(row["pid"]))] not in parents], unseen


def module(root: Path) -> str | None:
    """`apparmor`, `selinux`, or empty; None if the kernel does not say."""
    text = _text(root / "sys/kernel/security/lsm")
    if not text:
        return None
    return next((one for one in _MODULES if one in text.split(",")), "")


def _status(process: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in _text(process / "status").splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip("\0\n ")
    except OSError:
        return ""
