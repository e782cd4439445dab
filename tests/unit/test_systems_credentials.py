"""Where a password comes from, in which order, and that no message repeats one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.systems.external import credentials
from dbdyno.systems.external.credentials import Login

SECRET = "s3cr3t: #1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGPASSFILE", raising=False)
    return tmp_path


def login(url: str = "mysql://app@db1/shop", **source: Any) -> Login:
    parsed = server_url.parse(url)
    kind = parsed.kinds[0]
    return credentials.find(parsed, kind, Credentials(**source), kinds.of(kind).port)


def private(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", SECRET)
    found = login(env="PW")
    assert found.password == SECRET and "PW" in found.source
    assert SECRET not in repr(found)
    monkeypatch.setenv("PW", "")
    with pytest.raises(DynoError, match="holds no password"):
        login(env="PW")


def test_a_file_of_which_the_first_line_counts(home: Path) -> None:
    path = private(home / "pw", f"{SECRET}\nmore\n")
    assert login(file=str(path)).password == SECRET
    assert login(file="~/pw").password == SECRET
    path.chmod(0o644)
    assert "chmod 600" in login(file=str(path)).warning
    private(path, "")
    with pytest.raises(DynoError, match="is empty"):
        login(file=str(path))
    with pytest.raises(DynoError, match="cannot be read"):
        login(file=str(home / "none"))
    private(path, "x" * 5000)
    with pytest.raises(DynoError, match="not a password") as raised:
        login(file=str(path))
    assert "xxx" not in str(raised.value)


def test_a_command_of_which_the_first_line_counts(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert login(command=f"echo '{SECRET}'; echo more").password == SECRET
    for command, message in (
        ("exit 3", "status 3"),
        ("true", "printed nothing"),
        ("yes", "prints without end"),
    ):
        with pytest.raises(DynoError, match=message):
            login(command=command)
    with monkeypatch.context() as patch:
        patch.setattr(credentials, "COMMAND_TIMEOUT_S", 0.2)
        with pytest.raises(DynoError, match="did not end within"):
            login(command="sleep 60 & sleep 60")
    counter = home / "counter"
    for _ in range(2):
        assert login(command=f"echo x >> {counter}; echo pw").password == "pw"
    assert counter.read_text() == "x\n", "asked once a process"


def test_option_files_give_what_the_url_does_not_say(home: Path) -> None:
    private(
        home / ".my.cnf",
        "# mine\n[client]\nuser = me\npassword = 'a#b'   # quoted\nport=3307\nhost=db9\n"
        "[other]\npassword=p\\sq\nssl-mode=REQUIRED\nssl_ca=~/ca.pem\n!include x\n",
    )
    found = login("mysql:///shop")
    assert (found.user, found.password, found.host, found.port) == ("me", "a#b", "db9", 3307)
    found = login("mysql://app@db1:3306/shop", defaults_group="other")
    assert (found.user, found.password, found.host, found.port) == ("app", "p q", "db1", 3306)
    assert credentials.tls_of("prefer", found) == "require"
    assert credentials.tls_of("verify", found) == f"ca:{home}/ca.pem"
    with pytest.raises(DynoError, match=r"no group \[none\]"):
        login(defaults_group="none")


def test_a_file_that_anybody_could_have_written_is_not_read(home: Path) -> None:
    private(home / ".my.cnf", "[client]\npassword=x\n", mode=0o666)
    assert login().password == ""


@pytest.mark.parametrize(
    ("line", "matches"),
    [
        ("db1:5432:shop:app:{}", True),
        ("*:*:*:*:{}", True),
        ("db2:5432:shop:app:{}", False),
        ("db1:5433:*:app:{}", False),
        ("db1:*:other:app:{}", False),
        ("db1:*:*:you:{}", False),
        ("#db1:*:*:app:{}", False),
        ("too:short", False),
    ],
)
def test_pgpass_lines(home: Path, line: str, matches: bool) -> None:
    private(home / ".pgpass", f"\n{line.format(SECRET.replace(':', chr(92) + ':'))}\n*:1:*:*:no\n")
    assert login("postgres://app@db1/shop").password == (SECRET if matches else "")


def test_pgpass_must_be_private(home: Path) -> None:
    path = private(home / ".pgpass", f"*:*:*:*:{SECRET}\n", mode=0o640)
    with pytest.raises(DynoError, match="others may read it") as raised:
        login("postgres://app@db1/shop")
    assert SECRET not in str(raised.value) and f"chmod 600 {path}" in str(raised.value)
    # A file without a line for this server is ignored.
    assert private(path, "other:*:*:*:x\n", 0o640)
    assert login("postgres://app@db1/shop").password == ""


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("asked")

    monkeypatch.setattr("getpass.getpass", refuse)
    assert credentials.ask(login(), "db1") is None


def test_an_answer_is_kept_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: SECRET)
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{name}.isatty", lambda: True, raising=False)
    monkeypatch.setattr(credentials, "_asked", {})
    asked = credentials.ask(login(), "db1")
    assert asked is not None and asked.password == SECRET
    assert login().password == SECRET


def public_key(kind: Any) -> bytes:
    return kind.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_server_may_have_nothing_that_nobody_named(home: Path) -> None:
    assert login().rules("db1").engine() == {}
    private(home / ".my.cnf", "[client]\nenable-cleartext-plugin\nget-server-public-key=1\n")
    allowed = {"cleartext_password": True, "server_public_key": "get"}
    assert login().rules("db1").engine() == {"login": allowed}
    private(home / ".my.cnf", "[client]\nenable-cleartext-plugin=0\nget-server-public-key=OFF\n")
    assert login().rules("db1").engine() == {}
    assert login(server_public_key="get").server_key == "get"


def test_a_key_is_read_from_its_file(home: Path) -> None:
    pem = public_key(rsa.generate_private_key(65537, 2048))
    (home / "key.pem").write_bytes(pem)
    for found in (
        login(server_public_key="~/key.pem"),
        login(server_public_key=str(home / "key.pem"), cleartext=True),
    ):
        allowed = found.rules("db1").engine()["login"]
        assert allowed["server_public_key"] == {"pem": pem.decode()}
    private(home / ".my.cnf", f"[client]\nserver-public-key-path={home}/key.pem\n")
    assert login().server_key == pem.decode()


def test_a_file_that_holds_no_rsa_key_is_an_error(home: Path) -> None:
    (home / "text").write_text("no key\n")
    (home / "binary").write_bytes(bytes(range(256)))
    (home / "elliptic").write_bytes(public_key(ec.generate_private_key(ec.SECP256R1())))
    for name in ("text", "binary", "elliptic", "missing"):
        with pytest.raises(DynoError, match="cannot be used") as raised:
            login(server_public_key=str(home / name))
        assert name in raised.value.what and "public_key.pem" in raised.value.fix
