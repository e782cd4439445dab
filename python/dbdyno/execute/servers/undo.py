"""Restores what a run has changed on an external server, from its ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection

from dbdyno.execute.servers.ledger import Ledger
from dbdyno.systems.external.server import RemoteServer

Say = Callable[[str], None]


def settings(
    server: RemoteServer, ledger: Ledger, url: str, say: Say, keep: Collection[str] = ()
) -> list[str]:
    """Brings back old values, but of those in `keep`; what could not be, in sentences."""
    problems = []
    for name, values in ledger.settings(url).items():
        if name in keep:
            continue
        old = values["old"]
        try:
            now = server.current_setting(name)
            if now != old and "new" in values and now != values["new"]:
                say(
                    f"{server.place}: `{name}` is {_shown(now)} by now, which dyno did not set: "
                    f"it is left so (it was {_shown(old)} before the run)"
                )
            elif now != old or "new" not in values:  # killed in between: whatever it was, undo it
                server.restore_setting(name, old)
            ledger.is_restored(url, name)
        except Exception as error:  # whatever it is, the others must still be restored
            problems.append(
                f"{server.place}: `{name}` could not be restored to {_shown(old)}: {_first(error)}"
            )
    return problems


def schemas(server: RemoteServer, ledger: Ledger, url: str) -> list[str]:
    """Drops the run's schemas; what could not be, in sentences."""
    problems = []
    for schema in ledger.schemas(url):
        try:
            if schema in server.marked():
                server.drop_schema(schema, ledger.run)
            ledger.is_dropped(url, schema)
        except Exception as error:  # as above
            problems.append(
                f"{server.place}: schema {schema}, which dyno made, could not be dropped: "
                f"{_first(error)}"
            )
    return problems


def _shown(value: object) -> str:
    return str(value["value"] if isinstance(value, dict) else value)


def _first(error: Exception) -> str:
    cause = getattr(error, "cause", "")
    text = str(getattr(error, "what", error)).splitlines()
    return "; ".join(filter(None, [text[0] if text else type(error).__name__, str(cause)]))
