"""Logins that must fail: wrong passwords, certificates, encryption that is not there, addresses
where no such server is. The real engine against real servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from private_servers import CORE, running
from running import has
from spoiling_proxy import listener, proxy

pytestmark = pytest.mark.live

Target = dict[str, Any]


@pytest.fixture(scope="module", params=CORE)
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, Target]]:
    """A kind and a loaded server of it, as the engine reaches it over TCP without TLS."""
    with running(request.param, tls="off") as (bench, server):
        server.create_schema("dbdyno")
        target = server.engine_target(bench.target, bench.resolved, "dbdyno")
        loaded = engine_jobs.run(engine_jobs.plan(bench.directory.parent, target, "load"))
        assert loaded.last["event"] == "loaded", loaded.last
        yield request.param, target


def attempt(directory: Path, target: Target, **group: Any) -> engine_jobs.Said:
    return engine_jobs.run(engine_jobs.plan(directory, target, **group), until=has(1))


def test_the_right_password_is_let_in(served: tuple[str, Target], tmp_path: Path) -> None:
    said = attempt(tmp_path, served[1])
    assert (said.code, said.total["errors"]) == (0, {})
    assert said.total["transactions"] > 0
    assert served[1]["password"] not in said.text


@pytest.mark.parametrize("tls", ["off", "require"])
def test_a_wrong_password_is_an_error_that_shows_no_password(
    served: tuple[str, Target], tmp_path: Path, tls: str
) -> None:
    said = attempt(tmp_path, {**served[1], "password": "not-the-password", "tls": tls})
    said.failure("authentication", "dyno", "password")
    assert "not-the-password" not in said.text


def test_an_unknown_user_is_an_error(served: tuple[str, Target], tmp_path: Path) -> None:
    attempt(tmp_path, {**served[1], "user": "nobody_here"}).failure("authentication", "nobody_here")


def test_an_unknown_schema_is_an_error(served: tuple[str, Target], tmp_path: Path) -> None:
    said = attempt(tmp_path, {**served[1], "database": "no_such_schema"})
    assert (said.code, said.last["event"]) == (2, "failed")
    assert "no_such_schema" in said.last["what"]
    assert said.last["hint"]


def test_a_certificate_that_nobody_signed_is_an_error(
    served: tuple[str, Target], tmp_path: Path
) -> None:
    said = attempt(tmp_path, {**served[1], "tls": "verify"})
    said.failure("authentication", "certificate", "tls: require")


def test_a_file_of_authorities_that_is_missing_or_none_is_named(
    served: tuple[str, Target], tmp_path: Path
) -> None:
    missing, empty = tmp_path / "missing.pem", tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    for file in (missing, empty):
        said = attempt(tmp_path, {**served[1], "tls": {"ca": str(file)}})
        said.failure("authentication", str(file), "PEM")


def test_encryption_that_the_server_does_not_have_is_an_error(
    served: tuple[str, Target], tmp_path: Path
) -> None:
    target = served[1]
    with proxy(target, tls=False) as between:
        for tls in ("require", "verify"):
            said = attempt(tmp_path, between.target(target, tls=tls))
            said.failure("authentication", "TLS", "tls")
        said = attempt(tmp_path, between.target(target, tls="prefer"))
        assert said.code == 0, said.last


def test_an_address_without_a_server_is_an_error(
    served: tuple[str, Target], tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound and not listening: no other process takes it
        port = probe.getsockname()[1]
        address = {"tcp": {"host": "127.0.0.1", "port": port}}
        attempt(tmp_path, {**served[1], "address": address}).failure(
            "connection", f"127.0.0.1:{port}", "refused"
        )
    missing = {"unix": str(tmp_path / "s")}
    attempt(tmp_path, {**served[1], "address": missing}).failure("connection", str(tmp_path / "s"))
    unknown = {"tcp": {"host": "no-such-host.invalid", "port": 1}}
    attempt(tmp_path, {**served[1], "address": unknown}).failure(
        "connection", "no-such-host.invalid", "DNS"
    )


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 4096, b""])
def test_a_server_of_another_protocol_is_an_error(
    served: tuple[str, Target], tmp_path: Path, answer: bytes
) -> None:
    with listener(answer) as port:
        target = {**served[1], "address": {"tcp": {"host": "127.0.0.1", "port": port}}}
        said = attempt(tmp_path, target)
        assert (said.code, said.last["event"]) == (2, "failed"), said.last
        assert said.last["kind"] in ("protocol", "connection")
        assert f"127.0.0.1:{port}" in said.last["what"], said.last
        assert said.last["hint"]


def test_a_server_of_the_other_system_is_an_error(
    served: tuple[str, Target], tmp_path: Path
) -> None:
    kind, target = served
    other = "postgres" if kind == "mariadb" else "mysql"
    said = attempt(tmp_path, {**target, "driver": other})
    assert (said.code, said.last["event"]) == (2, "failed"), said.last
    assert said.last["kind"] in ("protocol", "connection"), said.last
    assert said.last["hint"], said.last
