"""Redis without a server: words as settings, URLs, passwords, and replies of any kind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.external import credentials
from dbdyno.systems.logins.policy import LoginRules
from dbdyno.systems.redis import settings
from dbdyno.systems.redis.client import Client, NotRedis, RedisError


def target(**words: object) -> TargetPlan:
    return TargetPlan("db", "redis", **words)  # type: ignore[arg-type]


# ---- words


@pytest.mark.parametrize(
    ("durability", "appendonly", "appendfsync"),
    [("full", "yes", "always"), ("os_crash_unsafe", "yes", "no"), ("none", "no", None)],
)
def test_durability_is_the_append_only_file(
    durability: str, appendonly: str, appendfsync: str | None
) -> None:
    resolved = systems.load("redis").resolve(target(durability=durability))
    assert resolved.settings["appendonly"] == appendonly
    assert resolved.settings.get("appendfsync") == appendfsync
    assert resolved.data_settings == {"appendonly": appendonly}, "which file a start reads"
    assert resolved.load_settings["appendfsync"] == "no"


def test_memory_is_maxmemory_and_config_may_not_contradict_it() -> None:
    resolved = systems.load("redis").resolve(target(memory_bytes=64 << 20))
    assert resolved.settings == {"maxmemory": str(64 << 20)}
    with pytest.raises(DynoError, match="contradicts"):
        systems.load("redis").resolve(target(memory_bytes=64 << 20, config={"maxmemory": "1gb"}))


@pytest.mark.parametrize(
    "words", [{"isolation": "serializable"}, {"session": ("SET a = 1",)}, {"protocol": "text"}]
)
def test_words_of_sql_are_refused(words: dict[str, object]) -> None:
    with pytest.raises(DynoError, match="means nothing to Redis"):
        systems.load("redis").resolve(target(**words))


def test_a_configuration_has_every_value_in_quotes() -> None:
    text = settings.configuration(
        {"maxmemory_policy": "noeviction", "save": "900 1", "dir": '/a "b" c', "appendonly": "yes"}
    )
    assert text.splitlines()[1:] == [
        'maxmemory-policy "noeviction"',
        'save "900" "1"',
        'dir "/a \\"b\\" c"',
        'appendonly "yes"',
    ]


@pytest.mark.parametrize(
    ("written", "bytes_"), [("64mb", "67108864"), ("64M", "64000000"), ("1g", "1000000000")]
)
def test_sizes_are_read_as_redis_reads_them(written: str, bytes_: str) -> None:
    assert settings.plain(written) == bytes_
    assert settings.plain("allkeys-lru") == "allkeys-lru"


# ---- URLs


def test_a_url_names_a_database_by_its_number_and_says_whether_it_is_encrypted() -> None:
    plain = server_url.parse("redis://app@db1.example.com/3")
    assert (plain.kinds, plain.user, plain.schema, plain.tls) == (("redis",), "app", "3", False)
    assert plain.place == "db1.example.com:6379"
    assert server_url.parse("rediss://db1.example.com:7000").tls is True
    assert server_url.parse("mysql://db1.example.com").tls is None
    with pytest.raises(ValueError, match="no number"):
        server_url.parse("redis://db1.example.com/shop")
    for url in ("redis://:secret@host", "rediss://app:secret@host/0"):
        with pytest.raises(ValueError, match="password"):
            server_url.parse(url)


EXPERIMENT = """
experiment: e
targets: {{db: {{url: "{url}"{more}}}}}
workload: {{kind: kv, preset: {preset}}}
factors: {{workload.sessions: [1, 2]}}
"""


def of(url: str, more: str = "", preset: str = "a") -> TargetPlan:
    return load(EXPERIMENT.format(url=url, more=more, preset=preset)).cells[0].targets[0]


@pytest.mark.parametrize(
    ("url", "more", "tls"),
    [
        ("redis://db1", "", "off"),
        ("rediss://db1", "", "verify"),
        ("rediss://127.0.0.1", "", "require"),
        ("rediss://db1", ", tls: require", "require"),
    ],
)
def test_the_scheme_decides_about_tls(url: str, more: str, tls: str) -> None:
    assert of(url, more).tls == tls


@pytest.mark.parametrize(
    ("url", "more", "what"),
    [
        ("redis://db1", ", tls: require", "is not what its URL says"),
        ("rediss://db1", ", tls: off", "is not what its URL says"),
        ("redis://db1", ", data: {existing: x}", "no schemas that exist already"),
        ("redis://db1", ", setup: {after: [SELECT 1]}", "there are no tables in Redis"),
        ("redis://db1", ", defaults_group: x", "which Redis does not have"),
        ("redis://db1", ", server_public_key: get", "which Redis does not have"),
    ],
)
def test_what_redis_does_not_have_is_refused_where_it_stands(
    url: str, more: str, what: str
) -> None:
    with pytest.raises(DynoError) as caught:
        of(url, more)
    assert what in caught.value.what
    assert caught.value.where is not None and caught.value.where.line == 3


def test_scans_need_keys_in_order() -> None:
    with pytest.raises(DynoError, match="`key_ranges` for scans") as caught:
        of("redis://db1", preset="e")
    assert caught.value.where is not None and caught.value.where.line == 4


# ---- logins


def test_the_password_is_found_as_redis_cli_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".my.cnf").write_text("[client]\nuser=root\npassword=of-mysql\n")
    url = server_url.parse("redis://db1")
    nothing = credentials.find(url, "redis", Credentials(), 6379)
    assert (nothing.user, nothing.password) == ("", "")
    monkeypatch.setenv("REDISCLI_AUTH", "pw")
    found = credentials.find(url, "redis", Credentials(), 6379)
    assert (found.password, found.source) == ("pw", "REDISCLI_AUTH")
    monkeypatch.setenv("OWN", "other")
    assert credentials.find(url, "redis", Credentials(env="OWN"), 6379).password == "other"


def test_the_password_leaves_the_machine_encrypted_or_by_the_users_word() -> None:
    with pytest.raises(DynoError, match="takes the password itself, over a connection without"):
        LoginRules("db1:6379", "app").check("redis", "AUTH", private=False)
    LoginRules("db1:6379", "app").check("redis", "AUTH", private=True)
    LoginRules("db1:6379", "app", cleartext=True).check("redis", "AUTH", private=False)


# ---- replies


@contextmanager
def server(tmp_path: Path, reply: bytes) -> Iterator[Client]:
    """A client of a server that answers one command with these bytes, and closes."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.recv(4096)
                stream.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        client = Client(path, timeout_s=60)
        try:
            yield client
        finally:
            client.close()
            thread.join()


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (b"+OK\r\n", "OK"),
        (b":-7\r\n", -7),
        (b"$5\r\na\r\nb!\r\n", "a\r\nb!"),
        (b"$-1\r\n", None),
        (b"*-1\r\n", None),
        (b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n:1\r\n", ["0", ["a", 1]]),
    ],
)
def test_replies_are_values(tmp_path: Path, reply: bytes, value: object) -> None:
    with server(tmp_path, reply) as client:
        assert client.call("GET", "a") == value


def test_a_refusal_has_a_code(tmp_path: Path) -> None:
    with server(tmp_path, b"-NOAUTH Authentication required.\r\n") as client:
        with pytest.raises(RedisError) as caught:
            client.call("GET", "a")
        assert caught.value.code == "NOAUTH"


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"+OK\n",
        b"+" + b"x" * 20_000,
        b"$99999999999\r\n",
        b"$-2\r\n",
        b"*99999999999\r\n",
        b"*1\r\n" * 20,
        b":one\r\n",
        b"$2\r\nabcd\r\n",
        b"$5\r\nab",
        b"",
    ],
)
def test_what_is_no_reply_ends_the_connection_and_fills_no_memory(
    tmp_path: Path, reply: bytes
) -> None:
    with server(tmp_path, reply) as client, pytest.raises((NotRedis, ConnectionError)):
        client.call("GET", "a")
