"""Whether packets can be lost here is known before a trial, and said with what to do."""

from __future__ import annotations

import errno
import socket

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Target
from dbdyno.experiment.values.faults import (
    Fault,
    Line,
)
from dbdyno.faults import FAULTS
from dbdyno.hosts import filters
from needed import missing

TARGET = Target("db", "mariadb")
CUT = Fault(1.0, "partition", ("db",), "db", peers=("clients",))


def test_a_kernel_that_refuses_filters_is_an_error_with_a_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(probe: socket.socket) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(filters, "attach", refuse)
    with pytest.raises(DynoError, match="`partition` is not possible here") as caught:
        FAULTS["partition"].check(CUT, TARGET)
    assert "NET_ADMIN" in caught.value.cause and "`delay`" in caught.value.fix
    lossy = Fault(1.0, "link", ("db",), "db", peers=("clients",), line=Line(loss=0.1))
    with pytest.raises(DynoError, match="`link` with `loss`"):
        FAULTS["link"].check(lossy, TARGET)
    FAULTS["link"].check(Fault(1.0, "link", ("db",), "db", line=Line(delay_s=0.1)), TARGET)
    FAULTS["kill"].check(Fault(1.0, "kill", ("db",), "db"), TARGET)


def test_a_filter_loses_what_arrives() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        try:
            filters.attach(server)
        except PermissionError:
            missing("needs CAP_NET_ADMIN: the kernel refuses socket filters")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.connect(server.getsockname())
