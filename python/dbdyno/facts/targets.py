"""What a target of `dyno check` is, and its facts: a URL, a file of a known form, a data directory
or a bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.facts import document, live
from dbdyno.facts.fact import ENGINES, HOST, Fact, Facts, Version, version_of
from dbdyno.facts.files import (
    datadir,
    ddl,
    digest,
    logs,
    manifest,
    mongodconf,
    optionfile,
    postgresql,
    redisconf,
    text,
    vschema,
)
from dbdyno.facts.gathered import Gathered
from dbdyno.store.text import json

FORMS: Mapping[str, ModuleType] = {
    "digest": digest,
    "ddl": ddl,
    "log": logs,
    "manifest": manifest,
    "mongod.conf": mongodconf,
    "my.cnf": optionfile,
    "postgresql.conf": postgresql,
    "redis.conf": redisconf,
    "vschema": vschema,
}
"""What a file may be, in the order in which it is asked for."""
HAS_MEMORY = ("server", "file")  # sources of facts of a server with a host
BUNDLE_BYTES_MAX = 256 << 20
_ENGINE = re.compile(r"([a-z]+)(?:[-: ]?v?(\d+(?:\.\d+)*))?", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What was typed with the targets. `form`: of files; `engine` and `version`: of files that do
    not say it; `memory_bytes`: of servers' hosts; `for_s`: how long counters are watched;
    `server`: the program that is asked about an option file; `this_host`: whether the machine that
    this runs on is the server's; `packs`: those of the rules that are asked for, on which it
    depends what is read of a directory's files, and `progress`: how far that is; `statements`:
    whether statement classes are read of a server."""

    credentials: Credentials
    tls: str | None = None
    form: str | None = None
    engine: str = ""
    version: Version = ()
    memory_bytes: int | None = None
    for_s: float = 0.0
    server: str | None = None
    statements: bool = True
    this_host: bool = False
    packs: Collection[str] = datadir.PACKS
    progress: Callable[[int, int | None], None] | None = None


def read(target: str, asked: Asked) -> list[Facts]:
    """Facts of a target; of a bundle, of all its subjects. DynoError if it cannot be read."""
    return [completed(one, asked) for one in _read(target, asked)]


def is_directory(target: str) -> bool:
    """Whether it is a data directory."""
    return not server_url.is_url(target) and Path(target).is_dir()


def is_file(target: str) -> bool:
    """Whether it is parsed: neither a server nor a directory."""
    return not server_url.is_url(target) and not is_directory(target)


def read_late(read: Sequence[tuple[str, Sequence[Facts]]], asked: Asked) -> list[Facts]:
    """Facts of all targets. Sources go on while their replicas are read: if one of several servers
    is a replica, they tell once more what they have executed by now, or it would seem ahead."""
    servers = [target for target, _ in read if server_url.is_url(target)]
    every = [one for _, several in read for one in several]
    if len(servers) < 2 or not any(one.is_replica for one in every):
        return every
    return [
        live.read_late(target, asked.credentials, asked.tls, one) if target in servers else one
        for target, several in read
        for one in several
    ]


def _read(target: str, asked: Asked) -> list[Facts]:
    if server_url.is_url(target):
        return [
            live.read(
                target,
                asked.credentials,
                asked.tls,
                for_s=asked.for_s,
                statements=asked.statements,
            )
        ]
    path = Path(target)
    if path.is_dir():
        read = datadir.read(path, Gathered(), packs=asked.packs, progress=asked.progress)
        return [read]
    content, _ = text.head(path, BUNDLE_BYTES_MAX)  # logs may be longer
    if content.lstrip()[:1] == "{" and document.FORMAT in content[:200]:
        return document.parse(json.loads(text.read(path, BUNDLE_BYTES_MAX).encode()), target)
    return [_reader(path, content, asked.form)(path, Gathered())]


def _reader(path: Path, content: str, form: str | None) -> Callable[[Path, Gathered], Facts]:
    for name, reader in FORMS.items():
        if name == form or (form is None and reader.detect(path, content)):
            read: Callable[[Path, Gathered], Facts] = reader.read
            return read
    raise DynoError(
        f"{path}: it is not clear what this file is",
        cause="it has no line that only one kind of file has",
        fix=f"say it: --as {', '.join(FORMS)}",
    )


def completed(facts: Facts, asked: Asked) -> Facts:
    """With what only the user knows."""
    if asked.engine in facts.engine.split("|") and not facts.is_server:
        facts = replace(facts, engine=asked.engine, version=asked.version or facts.version)
    key = f"{HOST}.memory_bytes"
    if asked.memory_bytes is not None and facts.source in HAS_MEMORY:
        fact = Fact(key, asked.memory_bytes, "--memory", "bytes")
        facts = replace(facts, facts={**facts.facts, key: fact})
    return facts


def engine_of(named: str) -> tuple[str, Version]:
    """`mariadb-10.11` -> ("mariadb", (10, 11)). DynoError if it is none."""
    found = _ENGINE.fullmatch(named.strip())
    engine = found[1].lower() if found else ""
    if found is None or engine not in ENGINES:
        raise DynoError(
            f"`--engine {named}` is no engine with a version",
            fix=f"such as mariadb-10.11, mysql-8.4; engines are {', '.join(ENGINES)}",
        )
    return engine, version_of(found[2]) if found[2] else ()
