"""Facts of a running mongod, mongos or FerretDB, by the names that mongod.conf has for them.

Sources: the MongoDB manual, "getCmdLineOpts", "getParameter", "serverStatus", "usersInfo",
"rolesInfo"; FerretDB's documentation, "Supported commands". No command reads a collection, and none
asks for credentials. Passwords among options are mongod's own `<password>`, and hidden here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.facts.fact import SESSION, STATUS, Facts, version_of
from dbdyno.facts.gathered import Gathered
from dbdyno.systems.mongodb.client import ERRORS
from dbdyno.systems.mongodb.external import MongoRemote

OPTIONS, PARAMETERS, STATE, USERS, ROLES = (
    "getCmdLineOpts",
    "getParameter",
    "serverStatus",
    "usersInfo",
    "rolesInfo",
)
COMMANDS = ("hello", "buildInfo", OPTIONS, PARAMETERS, STATE, USERS, ROLES)
"""All that a server is sent besides a login, each with a limit of time; `OPTIONS` once more by a
connection without a login."""
SECTIONS = ("connections", "mem", "network", "storageEngine", "transportSecurity")
_BELOW = ("postgresql", "documentdb")  # of the section of FerretDB, on what it stands
_LEFT_OUT = {"metrics": 0, "locks": 0, "repl": 0, "wiredTiger": 0, "tcmalloc": 0}  # long, not used
_PARAMETERS = "setParameter"
_NAMED = {"quiet": "systemLog.quiet"}  # parameters that are options of other names
_VERBOSITY, _COMPONENT, _INHERITED = "logComponentVerbosity", "systemLog.component", -1


def read(server: MongoRemote, found: Gathered) -> Facts:
    """All facts; what the account may not ask for is missing."""
    found.add(f"{STATUS}.build", server.title, "buildInfo")
    found.add(f"{STATUS}.process", _process(server), "hello")
    _session(server, found)
    _options(server, found)
    _parameters(server, found)
    _state(server, found)
    _users(server, found)
    _roles(server, found)
    return found.facts(server.place, "server", server.engine, version_of(server.version))


def _process(server: MongoRemote) -> str:
    return "mongos" if server.hello.get("msg") == "isdbgrid" else "mongod"


def _session(server: MongoRemote, found: Gathered) -> None:
    """What our own connection is, and whether one without a login would do."""
    found.add(f"{SESSION}.tls", server.session_tls or "off", "this connection")
    found.add(f"{SESSION}.address", server.address, "this connection")
    try:
        demanded = server.demands_login(OPTIONS)
        found.add(f"{SESSION}.login_demanded", demanded, f"{OPTIONS} without a login")
    except ERRORS as error:
        found.lacks(f"{SESSION}.login_demanded", str(error))


def _options(server: MongoRemote, found: Gathered) -> None:
    """Those of its command line and its file, as mongod has joined them."""
    if server.engine != "mongodb":
        found.lacks("options", "FerretDB does not tell with which options it was started")
        return
    try:
        parsed = server.ask(OPTIONS)["parsed"]
    except ERRORS as error:
        found.lacks("options", str(error))
        return
    rows = [
        {"name": name, "spelled": name, "value": value, "place": OPTIONS, "form": "yaml"}
        for name, value in _leaves(parsed)
    ]
    for row in rows:
        found.setting(row["name"], row["value"], OPTIONS)
        if row["name"] == "config":
            found.add(f"{STATUS}.config_file", row["value"], OPTIONS)
    found.table("options", rows, OPTIONS)


def _parameters(server: MongoRemote, found: Gathered) -> None:
    """All parameters by their values now, which win over those of the start."""
    if server.engine != "mongodb":
        return  # a few constants, which say nothing of it
    try:
        answer = server.ask(PARAMETERS, "*")
    except ERRORS as error:
        found.lacks(_PARAMETERS, str(error))
        return
    for name, value in _leaves(_without_state(answer)):
        if name.startswith(f"{_VERBOSITY}."):
            name = name.replace(_VERBOSITY, _COMPONENT).replace(
                f"{_COMPONENT}.verbosity", "systemLog.verbosity"
            )
            if value != _INHERITED:
                found.setting(name, value, PARAMETERS)
        else:
            found.setting(_NAMED.get(name, f"{_PARAMETERS}.{name}"), value, PARAMETERS)


def _state(server: MongoRemote, found: Gathered) -> None:
    """Counters, of some sections."""
    try:
        answer = server.ask(STATE, 1, **_LEFT_OUT)
    except ERRORS as error:
        found.lacks(STATUS, str(error))
        return
    if isinstance(answer.get("uptime"), int | float):
        found.add(f"{STATUS}.uptime", int(answer["uptime"]), STATE, "s")
    kept = {section: answer[section] for section in SECTIONS if section in answer}
    own = answer.get("ferretdb", {})
    kept |= {"ferretdb": {name: own[name] for name in _BELOW if name in own}}
    for name, value in _leaves(kept):
        found.add(f"{STATUS}.{name}", value, STATE)
    engine = kept.get("storageEngine")
    if isinstance(engine, Mapping) and "name" in engine:
        found.setting("storage.engine", str(engine["name"]), STATE)


def _users(server: MongoRemote, found: Gathered) -> None:
    """Who they are and what they may; no credentials, and none of what others have noted there."""
    try:
        answer = server.ask(USERS, {"forAllDBs": True})
        rows = [
            {
                "user": str(one["user"]),
                "db": str(one["db"]),
                "roles": _roles_of(one, "roles"),
                "mechanisms": ", ".join(map(str, one.get("mechanisms") or ())),
            }
            for one in answer.get("users", ())  # FerretDB has no such field without users
        ]
        found.table("users", rows, USERS)
    except ERRORS as error:
        found.lacks("users", str(error))


def _roles(server: MongoRemote, found: Gathered) -> None:
    """Roles of the database `admin` that somebody has made, with what they inherit."""
    if server.engine != "mongodb":
        return  # it has no roles but its own
    try:
        answer = server.ask(ROLES, 1)
        rows = [
            {
                "role": str(one["role"]),
                "db": str(one["db"]),
                "inherited": _roles_of(one, "inheritedRoles"),
            }
            for one in answer.get("roles", ())
        ]
        found.table("roles", rows, ROLES)
    except ERRORS as error:
        found.lacks("roles", str(error))


def _roles_of(one: Mapping[str, Any], field: str) -> str:
    """`root@admin, readWrite@shop`."""
    return ", ".join(f"{each['role']}@{each['db']}" for each in one.get(field) or ())


def _without_state(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without what all answers have."""
    usual = ("ok", "$clusterTime", "operationTime", "lastCommittedOpTime")
    return {name: value for name, value in answer.items() if name not in usual}


def _leaves(document: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values as mongod.conf would have them."""
    for name, value in document.items():
        path = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, _value(value)


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(str(_value(one)) for one in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) or value is None else str(value)
