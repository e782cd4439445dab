"""Real servers, which ask for what the policy allows, are still logged in to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers_there import PASSWORD, There, there

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Credentials
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external import reach

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("APP_PASSWORD", PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(scope="module")
def mysql() -> Iterator[There]:
    with there("mysql") as found:
        yield found


def log_in(found: There, url: str = "", tls: str = "off", **allowed: str | bool) -> str:
    """The server's version, over a control connection."""
    login = Credentials(env="APP_PASSWORD", **allowed)
    url = url or found.url
    target = TargetPlan(name="db", kind=found.kind, url=url, credentials=login, tls=tls)
    server = reach.connect(target, url)
    server.stop()
    return server.version


def test_mysql_needs_a_key_or_tls_until_it_knows_the_proof(mysql: There) -> None:
    key = next(Path(mysql.server.directory).rglob("public_key.pem"))
    for way in ({"tls": "require"}, {"server_public_key": str(key)}, {"server_public_key": "get"}):
        mysql.sql("FLUSH PRIVILEGES")
        with pytest.raises(DynoError, match="full authentication"):
            log_in(mysql)
        assert log_in(mysql, **way)
        assert log_in(mysql), "now it knows the proof"


def test_a_key_of_another_server_is_of_no_use(mysql: There, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    other = rsa.generate_private_key(65537, 2048).public_key()
    key = tmp_path / "other.pem"
    key.write_bytes(other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    mysql.sql("FLUSH PRIVILEGES")
    with pytest.raises(DynoError):
        log_in(mysql, server_public_key=str(key))


def test_mysql_by_its_socket_needs_nothing(mysql: There) -> None:
    mysql.sql(
        f"CREATE USER IF NOT EXISTS app@localhost IDENTIFIED BY '{PASSWORD}'", "FLUSH PRIVILEGES"
    )
    assert log_in(mysql, f"mysql://app@/?socket={mysql.server.socket_path}")


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_others_need_nothing(kind: str) -> None:
    with there(kind) as found:
        for tls in ("off", "prefer", "require"):
            assert log_in(found, tls=tls)
