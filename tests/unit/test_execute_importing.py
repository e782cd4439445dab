"""Files of SQL on their way to a client program that takes its time."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.execute.control import Control, Interrupted
from dbdyno.execute.servers.sql_files import import_file
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems.sql_files import ClientImporter, Importer, Program


class Server:
    """Its client program is a line of shell."""

    def __init__(self, client: str) -> None:
        self.client = client

    def importer(self, database: str, host: Host) -> Importer:
        command = ["/bin/sh", "-c", self.client]
        failure = re.compile(r"^at (?P<line>\d+): (?P<what>.*)", re.MULTILINE)
        return ClientImporter(host, Program(command, {"PATH": os.defpath}, "", failure))


def sent(tmp_path: Path, client: str, control: Control) -> None:
    path = tmp_path / "a.sql"
    path.write_text("SELECT 1;\n" * 50_000)  # more than a pipe holds
    server: Any = Server(client)
    import_file(path, server, "ours", LOCAL, lambda text: None, control)


@pytest.mark.parametrize("client", ["exec sleep 600", "cat >&2; exec sleep 600"])
def test_a_signal_ends_an_import_that_waits_for_the_server(tmp_path: Path, client: str) -> None:
    with Control(lambda text: None) as control:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        with pytest.raises(Interrupted):
            sent(tmp_path, client, control)
        timer.join()


def test_a_refusal_names_its_line(tmp_path: Path) -> None:
    client = "cat > /dev/null; echo 'at 7: no such table' >&2; exit 1"
    with pytest.raises(DynoError, match="no such table") as caught:
        sent(tmp_path, client, Control(lambda text: None))
    assert caught.value.where is not None and caught.value.where.line == 7
