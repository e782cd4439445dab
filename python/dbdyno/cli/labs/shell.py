"""`dyno lab shell`: becomes the system's own client."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from dbdyno.cli.labs.reaching import login
from dbdyno.errors import DynoError
from dbdyno.lab import clients

# By dyno, and by Python from its start on: ignored signals stay so beyond an exec.
IGNORED = (signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)


def shell(words: Sequence[str]) -> int:
    """Becomes the client; `words` are a node, if the first one begins with no `-`, and what is
    handed on. Does not return."""
    named = words[:1] if words and not words[0].startswith("-") else ()
    record, node = login(named[0] if named else None)
    command, environment = clients.command(
        record.facts["kind"],
        record.directory,
        node,
        record.facts["client_places"],
        words[len(named) :],
        record.facts["topology"],
    )
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(command[0], command, environment)
    except OSError as error:
        raise DynoError(
            f"cannot run {command[0]}: {error.strerror}",
            cause="the program is broken, or not for this machine",
            fix="install the client again",
        ) from None
