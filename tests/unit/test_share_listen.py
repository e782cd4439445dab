"""The endpoint for Prometheus: on loopback, bounded, impatient, gone with the run."""

from __future__ import annotations

import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from dbdyno.errors import DynoError
from dbdyno.share import exposition, listen
from dbdyno.share.listen import Endpoint

# An address of loopback for this process alone: nobody else takes its ports.
ALONE = f"127.9.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(listen.LOOPBACK, 0) as made:
        made.serve(lambda open_metrics: "open\n" if open_metrics else "plain\n")
        yield made


def connected(endpoint: Endpoint) -> socket.socket:
    host, _, port = endpoint.url.removeprefix("http://").removesuffix("/metrics").partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def test_the_format_is_the_one_asked_for(endpoint: Endpoint) -> None:
    with urllib.request.urlopen(endpoint.url, timeout=60) as answer:
        assert answer.read() == b"plain\n"
        assert answer.headers["Content-Type"] == exposition.PROMETHEUS
    asked = urllib.request.Request(
        endpoint.url, headers={"Accept": "application/openmetrics-text;version=1.0.0,text/plain"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert answer.read() == b"open\n"
        assert answer.headers["Content-Type"] == exposition.OPENMETRICS


def test_other_paths_and_methods_are_refused(endpoint: Endpoint) -> None:
    for url, data, status in ((endpoint.url[:-1], None, 404), (endpoint.url, b"x", 501)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url, data=data, timeout=60)
        assert caught.value.code == status


def test_nothing_but_loopback_unless_asked(endpoint: Endpoint) -> None:
    assert endpoint.url.startswith("http://127.0.0.1:")


def test_clients_that_hang_hold_up_nobody(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "TIMEOUT_S", 0.3)
    hanging = [connected(endpoint) for _ in range(listen.SCRAPES_MAX)]
    codes: set[int] = set()
    answered = False
    deadline = time.monotonic() + 120
    while not answered and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(endpoint.url, timeout=60) as answer:
                answered = answer.read() == b"plain\n"
        except urllib.error.HTTPError as error:
            codes.add(error.code)
            time.sleep(0.02)
        except OSError:  # refused before our request was read
            time.sleep(0.02)
    assert answered
    assert codes <= {503}
    for client in hanging:
        assert client.recv(100) == b""  # closed by the server
        client.close()


def test_a_dripping_client_has_one_deadline(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "TIMEOUT_S", 0.3)

    def drip(client: socket.socket) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            client.sendall(b"G")
            time.sleep(0.05)

    with connected(endpoint) as client, pytest.raises(ConnectionError):
        drip(client)


def test_it_is_gone_afterwards_and_the_port_is_free_again() -> None:
    before = threading.active_count()
    with Endpoint(ALONE, 0) as made:
        made.serve(lambda _: "")
        idle = connected(made)
        port = int(made.url.rpartition(":")[2].partition("/")[0])
    with pytest.raises(ConnectionError):
        connected(made)
    idle.close()
    with Endpoint(ALONE, port):
        pass
    deadline = time.monotonic() + 120
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_port_in_use_is_an_error_before_anything_begins() -> None:
    with Endpoint(listen.LOOPBACK, 0) as made:
        port = int(made.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(DynoError, match="Address already in use") as caught:
            Endpoint(listen.LOOPBACK, port)
        assert "--metrics-listen" in caught.value.fix


def test_a_host_that_is_not_ours_is_an_error() -> None:
    with pytest.raises(DynoError, match=r"192\.0\.2\.1:0"):
        Endpoint("192.0.2.1", 0)
    with pytest.raises(DynoError, match=r"no-such-host\.invalid"):
        Endpoint("no-such-host.invalid", 0)
