"""A wrong clock: the wall clock of a server is put forward or back, as by an operator, a virtual
machine that was asleep, or a time server that lies. The clocks of other servers and of clients are
right.

A server whose clock is set back sees the same times twice; so does one whose clock was set forward
once that is undone. Timeouts go by another clock, and stay as long as they were
(`systems.preloaded.clock`).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import suppress

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.preloaded import clock


class Clock(Fleeting):
    """See the module."""

    name = "clock"
    about = (
        "puts the server's wall clock forward (`by: 5s`) or back (`by: -5s`), and no other clock;"
        " undone by putting it right; needs libfaketime"
    )
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        assert node.clock is not None, "servers of such a cell are started with one"
        assert node.server.pid is not None
        if not clock.is_skewable(node.server.pid):
            raise DynoError(
                f"the clock of `{node.name}` cannot be put forward or back",
                cause="its program does not take part in LD_PRELOAD: it is linked statically",
                fix="use a dynamically linked server, such as a package's",
            )
        node.clock.skew(fault.clock_s)
        return f"{fault.clock_s:+g} s"

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        assert node.clock is not None, "servers of such a cell are started with one"
        node.clock.unskew(fault.clock_s)
        return ""

    def recover(self) -> None:
        for path in clock.abandoned(set(_owners())):
            with suppress(OSError):
                path.unlink()

    def check(self, fault: Fault, target: TargetPlan) -> None:
        clock.library()


def _owners() -> Iterator[int]:
    """Whom servers run as."""
    yield os.geteuid()
    if os.geteuid() == 0:
        for system in systems.registry():
            with suppress(KeyError):
                yield pwd.getpwnam(getattr(system, "account", "")).pw_uid


FAULT = Clock()
