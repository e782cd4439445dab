"""`dyno model --from`: files, and the variables of live servers, which are only read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials, Target
from dbdyno.models import Model, origins
from dbdyno.systems.external import reach
from dbdyno.systems.mysql.control import ERRORS
from dbdyno.systems.mysql.external import MysqlRemote
from dbdyno.systems.server_errors import understanding


def read(model: Model, sources: Sequence[str], login: Credentials, tls: str | None) -> origins.Read:
    """Inputs from all sources; of two that say the same the first counts."""
    found: origins.Read = {}
    for source in sources:
        scheme, url, _ = source.partition("://")
        if url and scheme.lower() in kinds.SCHEMES:
            one = _from_server(model, source, login, tls)
        else:
            one = origins.read_file(model, Path(source))
        found = {**one, **found}
    return found


def _from_server(model: Model, text: str, login: Credentials, tls: str | None) -> origins.Read:
    try:
        url = server_url.parse(text)
    except ValueError as error:
        raise DynoError(f"--from: the server's URL {error}", fix=server_url.FORM) from None
    options: dict[str, Any] = {} if tls is None else {"tls": tls}
    target = Target(name=url.place, kind=url.kinds[0], url=text, credentials=login, **options)
    server = reach.connect(target, text)
    try:
        if not isinstance(server, MysqlRemote):
            raise DynoError(
                f"--from {url.place}: {model.name} takes nothing from a server of this kind",
                fix="MySQL and MariaDB are read; give NAME=VALUE",
            )
        with understanding(url.place, "its variables"):
            variables = {str(name).lower(): str(value) for name, value in
                         server.rows("SHOW GLOBAL VARIABLES")}  # fmt: skip
            status = {str(name).lower(): str(value) for name, value in
                      server.rows("SHOW GLOBAL STATUS LIKE 'wsrep\\_%'")}  # fmt: skip
    except ERRORS as error:
        raise server.unanswered(error) from error
    finally:
        server.stop()
    found = origins.from_variables(model, {**status, **variables}.get, url.place)
    if not found:
        raise DynoError(
            f"--from {url.place}: {model.name} takes none of its inputs from a server",
            fix="give NAME=VALUE; `--about` lists the inputs",
        )
    return found
