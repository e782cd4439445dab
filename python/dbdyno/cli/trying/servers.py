"""`--on`: a kind of server that is started here, perhaps in a version, or the URL of an external
one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.names import did_you_mean
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.kinds.kind import IO, Kind

MEMORY = "256Mi"  # what each server may cache
NO_LOGIN: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Server:
    """A place that is tried. `keys`: of its target, as the file names them."""

    level: str
    kind: Kind
    keys: Mapping[str, Any]
    url: ServerUrl | None = None

    @property
    def is_settable(self) -> bool:
        """Whether dbdyno may say what survives in it, and what it caches."""
        return self.url is None and self.kind.stores_data and IO not in self.kind.capabilities


def read(texts: Sequence[str], login: Mapping[str, Any] = NO_LOGIN) -> tuple[Server, ...]:
    """What `--on` names, each once, with different levels. `login`: keys of targets by URL.
    DynoError for what is no server."""
    found: dict[str, Server] = {}
    for text in dict.fromkeys(texts):
        server = _of_url(text, login) if "://" in text else _of_kind(text)
        numbered = (f"{server.level} ({number})" for number in itertools.count(2))
        level = next(one for one in itertools.chain([server.level], numbered) if one not in found)
        found[level] = replace(server, level=level)
    return tuple(found.values())


def isolation(servers: Sequence[Server]) -> str:
    """One isolation for all that have any, so that they promise the same: their own default where
    that is one, else what all of them have. Empty where dbdyno sets none."""
    managed = [one for one in servers if one.url is None and one.kind.speaks_sql]
    defaults = {one.kind.default_isolation or "serializable" for one in managed}
    if len(defaults) > 1:
        return "serializable" if "serializable" in defaults else "read_committed"
    return defaults.pop() if defaults else ""


def _of_kind(text: str) -> Server:
    name, _, version = text.partition("=")
    if name not in kinds.KINDS:
        raise DynoError(
            f"--on {text}: there is no kind of server called `{name}`",
            cause="a misspelt name",
            fix=f"{did_you_mean(name, kinds.KINDS)}; KIND=VERSION names a version, and a URL an"
            " external server",
        )
    if "=" in text and not version:
        raise DynoError(f"--on {text}: no version follows `=`", fix=f"write {name}=VERSION")
    keys = {"kind": name} | ({"version": version} if version else {})
    return Server(f"{name}-{version}" if version else name, kinds.KINDS[name], keys)


def _of_url(text: str, login: Mapping[str, Any]) -> Server:
    try:
        url = server_url.parse(text)
    except ValueError as error:
        raise DynoError(
            f"--on: the URL {error}",
            fix=f"write {server_url.FORM}; a password has a source of its own: --password-env,"
            " --password-file, --password-command, --defaults-group, ~/.my.cnf, ~/.pgpass or"
            " ~/.config/dbdyno/config.toml",
        ) from None
    level = f"{url.place}/{url.schema}" if url.schema else url.place
    return Server(level, kinds.KINDS[url.kinds[0]], {"url": text, **login}, url)
