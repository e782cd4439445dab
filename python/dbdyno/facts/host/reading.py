"""All facts of this machine about one server."""

from __future__ import annotations

from pathlib import Path

from dbdyno.facts.fact import HOST, Facts
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.host import accounts, paths, processes

SOURCE, ENGINE = "host", "linux"
OF = ("server", "file", "directory")  # sources of the facts that have a host
FILES, ACCOUNT, PROCESSES, CLIENTS = "host_files", "host_account", "host_processes", "client_files"


def read(facts: Facts, root: Path = Path("/")) -> Facts:
    """Tables of `facts`' server: `host_files`, `host_account` (its own, one row), `host_processes`
    and `client_files` (those that every account may read). `root` stands for /."""
    found = Gathered()
    known = accounts.all_of(root)
    names = {one.uid: one.name for one in reversed(known)}
    rows = _files(facts, root, names, found)
    data = next((Path(str(row["path"])) for row in rows if row["role"] == paths.DATA), None)
    running = _processes(facts, data, root, names, found)
    owners = [row["owner"] for row in rows if row["role"] == paths.DATA]
    owners = [row["account"] for row in running] or owners
    own = next((one for one in known if owners and one.name == owners[0]), None)
    if own is None:
        found.lacks(ACCOUNT, "neither a process nor an owner of the data directory is seen")
    else:
        _account(own, root, found)
    _clients(known, root, found)
    return found.facts(f"host of {facts.subject}", SOURCE, ENGINE)


def _files(
    facts: Facts, root: Path, names: dict[int, str], found: Gathered
) -> list[dict[str, object]]:
    rows, hidden = [], 0
    for named in paths.of(facts, root):
        try:
            row = paths.seen(named, root, names)
        except PermissionError:
            hidden += 1
            continue
        if row is not None:
            rows.append(row)
    if hidden:
        found.lacks(FILES, f"{hidden} files of the server are not seen: see as root")
    elif rows:
        found.table(FILES, rows, "stat(2)")
    else:
        found.lacks(FILES, "nothing names a file of the server that is on this machine")
    return rows


def _processes(
    facts: Facts, data: Path | None, root: Path, names: dict[int, str], found: Gathered
) -> list[dict[str, object]]:
    engine = facts.engine.split("|")[0]
    if engine not in processes.PROGRAMS:
        return []
    rows, unseen = processes.of(engine, data, root)
    told = [{**row, "account": names.get(int(str(row["uid"])), str(row["uid"]))} for row in rows]
    if unseen and not told:
        found.lacks(PROCESSES, f"{unseen} processes do not show where they work: see as root")
    elif not told:
        found.lacks(PROCESSES, "no process of it runs")
    else:
        found.table(PROCESSES, told, "/proc")
    module = processes.module(root)
    if module is None:
        found.lacks(f"{HOST}.module", "/sys/kernel/security/lsm cannot be read")
    else:
        found.add(f"{HOST}.module", module, "/sys/kernel/security/lsm")
    return told


def _account(own: accounts.Account, root: Path, found: Gathered) -> None:
    row = {
        "account": own.name,
        "uid": own.uid,
        "shell": own.shell,
        "groups": " ".join(accounts.administrating(own, root)),
        "place": own.place,
    }
    try:
        row["sudoers"] = " ".join(accounts.sudo_lines(own, root))
    except OSError:
        found.lacks("sudoers", "/etc/sudoers cannot be read: see as root")
    found.table(ACCOUNT, [row], f"/{accounts.PASSWD}")


def _clients(known: list[accounts.Account], root: Path, found: Gathered) -> None:
    if not known:
        found.lacks(CLIENTS, f"/{accounts.PASSWD} cannot be read")
        return
    rows = []
    for account, path in accounts.client_files(known):
        try:
            letters = paths.others(paths.under(root, path), root)
        except OSError:  # none there, or in a home that others may not enter
            continue
        if letters:
            row = {"account": account.name, "path": str(path), "others": letters}
            rows.append({**row, "place": f"stat {path}"})
    found.table(CLIENTS, rows, "stat(2)")
