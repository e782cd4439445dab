"""A server that is called `valkey-server` serves kind redis: where it is looked for, and that it is
started. Debian 12 has no Valkey: the name is a link to a real Redis, of which Valkey is a fork."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hurried import drop
from private_servers import binaries, running

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Target
from dbdyno.systems import versions
from dbdyno.systems.redis.control import version_in
from dbdyno.systems.redis.system import SYSTEM

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]


@pytest.fixture
def prefix() -> Iterator[Path]:
    """A prefix that the account of servers can reach, with nothing but a `bin/valkey-server`."""
    real = binaries("redis").paths["server"]
    path = Path(tempfile.mkdtemp(prefix="dv", dir="/tmp"))
    path.chmod(0o755)
    (path / "bin").mkdir(mode=0o755)
    (path / "bin" / "valkey-server").symlink_to(real.resolve())
    yield path
    shutil.rmtree(path)


def test_a_valkey_server_is_found_and_started(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = prefix / "bin" / "valkey-server"
    for basedir in (prefix, program):
        assert SYSTEM.find(str(basedir)).paths["server"] == program
    assert versions.find(Target("db", "redis", basedir=str(prefix))).paths["server"] == program
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    found = SYSTEM.find(None)
    assert found.paths["server"] == program
    assert found.version.startswith("Redis ")  # as the program says itself
    monkeypatch.undo()
    with running("redis") as (made, server):
        drop([server])
        made.binaries = found
        again = made.start()
        try:
            assert Path(f"/proc/{again.pid}/cmdline").read_bytes().startswith(bytes(program))
            assert again.alive()
        finally:
            drop([again])


def test_a_prefix_without_either_is_said(prefix: Path) -> None:
    (prefix / "bin" / "valkey-server").unlink()
    with pytest.raises(DynoError, match="no Redis or Valkey server found under"):
        SYSTEM.find(str(prefix))


def test_the_version_is_valkeys_own_and_not_that_it_is_compatible_with() -> None:
    info = {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1"}
    assert version_in(info) == "8.1.1-Valkey"
    assert versions.matches("Valkey 8.1.1", "8.1")
    assert version_in({"redis_version": "7.0.15"}) == "7.0.15"
