"""The matrix of encryption: classes of data, and what is known of each.

A server and its data directory, given together, have one matrix. Files prove; a setting alone does
not, and a value that was found in the clear overrules both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.facts.at_rest import classes
from dbdyno.facts.at_rest.headers import EMPTY, ENCRYPTED, PLAIN
from dbdyno.facts.at_rest.tablespaces import PARTLY
from dbdyno.facts.fact import Fact, Facts, Missing
from dbdyno.rules.check.encryption import layers, sessions
from dbdyno.rules.check.overview import Overview
from dbdyno.wording.plurals import count

COLUMNS = ("data", "the server says", "the files show", "written value", "verdict")
NOTE = (
    "Proved: by headers and content of files, by sessions, or by a written value that was found. A"
    " verdict of the server's word alone is not proved."
)
_BY_CATALOGUE = classes.TABLESPACES
NOTHING = "-"


@dataclass(frozen=True)
class Group:
    """A server, its data directory, or both."""

    server: Facts | None
    directory: Facts | None

    @property
    def title(self) -> str:
        """Of whom the matrix is."""
        named = [one.subject for one in (self.server, self.directory) if one is not None]
        return f"Encryption of {' with '.join(named)}"


def overviews(all_facts: Sequence[Facts]) -> list[Overview]:
    """A matrix for each server and each directory of a server that is not given."""
    return [
        Overview(group.title, COLUMNS, tuple(_rows(group)), NOTE) for group in _groups(all_facts)
    ]


def _groups(all_facts: Sequence[Facts]) -> Iterator[Group]:
    directories = {one.subject.rstrip("/"): one for one in all_facts if one.source == "directory"}
    for one in all_facts:
        if one.is_server and one.engine in ("mysql", "mariadb", "postgres"):
            named = one.get("setting.datadir") or one.get("setting.data_directory")
            yield Group(one, directories.pop(named.text.rstrip("/"), None) if named else None)
    for directory in directories.values():
        yield Group(None, directory)


def _rows(group: Group) -> Iterator[tuple[str, ...]]:
    is_postgres = group.server is not None and group.server.engine == "postgres"
    for kind in () if is_postgres else classes.ALL:
        says, shows, needle = _says(group, kind), _shows(group, kind), _needle(group, kind)
        if (says, shows, needle) != (None, None, NOTHING):
            yield (
                kind,
                says[1] if says else NOTHING,
                shows[1] if shows else NOTHING,
                needle,
                _verdict(says, shows, needle),
            )
    if is_postgres:
        yield ("all files", "PostgreSQL encrypts none of them", NOTHING, NOTHING, "set plain, not"
               " proved")  # fmt: skip
    yield _disk(group)
    yield _connections(group)
    yield ("backups", NOTHING, NOTHING, NOTHING, "not known")


def _says(group: Group, kind: str) -> tuple[str, str] | None:
    """(state, words) of the server's word."""
    if group.server is None:
        return None
    for told in (layers.by_setting, layers.by_catalogue):
        if told is layers.by_catalogue and kind not in _BY_CATALOGUE:
            continue
        try:
            found = told(group.server, kind)
        except Missing:
            continue
        return found.state, "; ".join(map(_named, found.evidence))
    return None


def _named(fact: Fact) -> str:
    return f"{fact.key.removeprefix('setting.')} = {fact.text}" if "." in fact.key else fact.text


def _shows(group: Group, kind: str) -> tuple[str, str] | None:
    """(state, words) of the files of a class. Those that hold nothing do not count."""
    table = group.directory.tables.get("at_rest") if group.directory else None
    rows = [row for row in table.rows if row["class"] == kind] if table else []
    states = [str(row["state"]) for row in rows if row["state"] != EMPTY]
    if not states:
        return (EMPTY, f"{count(len(rows), 'file')}, empty") if rows else None
    parts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    only = states[0] if len({*states}) == 1 else PARTLY
    return only, f"{', '.join(parts)} of {count(len(rows), 'file')}"


def _needle(group: Group, kind: str) -> str:
    table = group.directory.tables.get("needle") if group.directory else None
    if table is None:
        return NOTHING
    found = sum(row["class"] == kind for row in table.rows)
    return f"found in {count(found, 'file')}" if found else "not found"


def _verdict(says: tuple[str, str] | None, shows: tuple[str, str] | None, needle: str) -> str:
    if needle.startswith("found"):
        return "proved plain"
    if shows and shows[0] in (ENCRYPTED, PLAIN):
        return f"proved {shows[0]}"
    if shows and shows[0] == PARTLY:
        return "proved plain in part"
    if says:
        return f"set {says[0]}, not proved"
    return "not known"


def _disk(group: Group) -> tuple[str, ...]:
    fact = group.directory.get("host.disk_encryption") if group.directory else None
    if fact is None:
        return ("disk", NOTHING, NOTHING, NOTHING, "not known")
    if fact.text:
        return ("disk", NOTHING, f"dm-crypt {fact.text}", NOTHING, "proved encrypted")
    return ("disk", NOTHING, "no dm-crypt is seen", NOTHING, "not known")


def _connections(group: Group) -> tuple[str, ...]:
    """Of other hosts, now."""
    if group.server is None:
        return ("connections", NOTHING, NOTHING, NOTHING, "not known")
    try:
        offer = sessions.offered(group.server)
        says = f"TLS is {'offered' if sessions.is_offered(offer) else 'not offered'}"
    except Missing:
        says = NOTHING
    try:
        rows = [row for row in sessions.sessions(group.server).rows if sessions.is_far(row)]
    except Missing as missing:
        return ("connections", says, missing.reason, NOTHING, "not known")
    total = sum(int(row["sessions"]) for row in rows)
    under = sum(int(row["sessions"]) for row in rows if sessions.is_under_tls(row))
    shows = f"{under} of {count(total, 'session')} from other hosts under TLS"
    verdict = "proved encrypted" if under == total else "proved plain"
    if 0 < under < total:
        verdict = "proved plain in part"
    return ("connections", says, shows, NOTHING, verdict if total else "not known")
