"""What a target of `dyno check` is, and its facts: a URL, a file of a known form, a data directory
or a bundle."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
    logs,
    manifest,
    mongodconf,
    optionfile,
    postgresql,
    redisconf,
    text,
)
from dbdyno.facts.gathered import Gathered
from dbdyno.store.text import json

FORMS: Mapping[str, ModuleType] = {
    "log": logs,
    "manifest": manifest,
    "mongod.conf": mongodconf,
    "my.cnf": optionfile,
    "postgresql.conf": postgresql,
    "redis.conf": redisconf,
}
"""What a file may be, in the order in which it is asked for."""
BUNDLE_BYTES_MAX = 256 << 20
_ENGINE = re.compile(r"([a-z]+)(?:[-: ]?v?(\d+(?:\.\d+)*))?", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What was typed with the targets. `form`: of files; `engine` and `version`: of files that do
    not say it; `memory_bytes`: of servers' hosts; `for_s`: how long counters are watched."""

    credentials: Credentials
    tls: str | None = None
    form: str | None = None
    engine: str = ""
    version: Version = ()
    memory_bytes: int | None = None
    for_s: float = 0.0


def read_all(targets: Sequence[str], asked: Asked) -> list[Facts]:
    """Facts of each target, in order. DynoError for one that cannot be read."""
    found: list[Facts] = []
    for target in targets:
        found += _read(target, asked)
    if any("replicas" in one.tables and one.tables["replicas"].rows for one in found):
        found = _read_late(targets, asked, found)
    return [_completed(one, asked) for one in found]


def _read_late(targets: Sequence[str], asked: Asked, found: Sequence[Facts]) -> list[Facts]:
    """Sources go on while their replicas are read: servers tell once more what they have executed
    by now, or their replicas would seem to be ahead."""
    urls = [one for one in targets if server_url.is_url(one)]
    if len(urls) < 2:
        return list(found)
    again = iter(urls)
    return [
        live.read_late(next(again), asked.credentials, asked.tls, one) if one.is_server else one
        for one in found
    ]


def _read(target: str, asked: Asked) -> list[Facts]:
    if server_url.is_url(target):
        return [live.read(target, asked.credentials, asked.tls, asked.for_s)]
    path = Path(target)
    if path.is_dir():
        return [datadir.read(path, Gathered())]
    content = text.read(path, BUNDLE_BYTES_MAX)
    if content.lstrip()[:1] == "{" and document.FORMAT in content[:200]:
        return document.parse(json.loads(content.encode()), target)
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


def _completed(facts: Facts, asked: Asked) -> Facts:
    """With what only the user knows."""
    if asked.engine in facts.engine.split("|") and not facts.is_server:
        facts = replace(facts, engine=asked.engine, version=asked.version or facts.version)
    key = f"{HOST}.memory_bytes"
    if asked.memory_bytes is not None and facts.source in ("server", "file"):
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
