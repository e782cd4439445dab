"""Statements during the load: a DDL in mid-load, a setting, a backup. One session sends them in
turn, so that what one of them sets for the session holds for those after it. What they change in
the data is gone with the next trial, which starts from restored data."""

from __future__ import annotations

import threading

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node, Stopped

POLL_S = 0.05


class Sql(Fleeting):
    """See the module."""

    name = "sql"
    about = (
        "sends a statement (`sql: ...`), or a list of them in one session, in the schema of the"
        " load, and waits for their end"
    )
    exclusive = False  # the server may be killed while it runs

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        errors: list[DynoError] = []

        def send() -> None:
            try:
                node.server.run(node.database, [fault.sql, *fault.more_sql])
            except DynoError as error:  # of a thread: raised where it is heard
                errors.append(error)
            except Exception as error:  # no connection: each client library says it in its own way
                errors.append(DynoError(f"`{node.name}` gave no answer: {error}"))

        # In a thread of its own, which is left behind if the user does not want to wait.
        thread = threading.Thread(target=send, name="sql", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(POLL_S)
            if node.stopped():
                raise Stopped
        if errors:
            raise errors[0]
        return ""


FAULT = Sql()
