"""External targets: URLs, what may be written with them, and passwords that may not."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Target

SECRET = "s3cr3t"
FILE = """experiment: x
targets:
  db: {target}
workload: {{kind: oltp, preset: point_select}}
"""


def target(text: str, *overrides: str) -> Target:
    return load(FILE.format(target=text), overrides).cells[0].targets[0]


@pytest.mark.parametrize(
    ("url", "kind", "tls"),
    [
        ("mysql://app@db1.example.com:3306/shop", "mysql", "verify"),
        ("mariadb://app@127.0.0.1/shop", "mariadb", "prefer"),
        ("mariadb://app@[::1]:3307", "mariadb", "prefer"),
        ("postgres://app@localhost/shop", "postgres", "prefer"),
        ("postgresql://db1/shop", "postgres", "verify"),
        ("mysql:///shop?socket=/run/mysqld.sock", "mysql", "prefer"),
        ("postgres://%2Fvar%2Frun%2Fpostgresql/shop", "postgres", "prefer"),
    ],
)
def test_a_url_says_kind_and_tls(url: str, kind: str, tls: str) -> None:
    found = target(f'{{url: "{url}"}}')
    assert (found.kind, found.tls, found.url) == (kind, tls, url)


def test_what_a_server_may_have_of_the_password() -> None:
    found = target("{url: mysql://h, cleartext_password: yes, server_public_key: key.pem}")
    assert (found.credentials.cleartext, found.credentials.server_public_key) == (True, "key.pem")
    nothing = target("{url: mysql://h}").credentials
    assert (nothing.cleartext, nothing.server_public_key) == (False, None)


def test_the_parts_of_a_url() -> None:
    found = server_url.parse("postgres://a%40b@db1:5433/shop")
    assert (found.user, found.host, found.port, found.schema) == ("a@b", "db1", 5433, "shop")
    assert found.place == "db1:5433"
    socket = server_url.parse("postgres://%2Fvar%2Frun%2FPG/shop")
    assert (socket.host, socket.socket) == (None, "/var/run/PG")


@given(st.text())
def test_any_text_is_a_url_or_a_refusal(text: str) -> None:
    for scheme in ("", "mysql://", "postgres://u@h/"):
        with contextlib.suppress(ValueError):
            found = server_url.parse(scheme + text)
            assert found.kinds and found.place


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://app:{SECRET}@db1/shop",
        f"mariadb://app:{SECRET}/x@db1/shop",
        f"postgres://:{SECRET}#1@db1/shop",
        f"postgresql://app@db1/shop?password={SECRET}",
        f"MySQL://app:{SECRET}@db1",
        f"mysql://app%3A{SECRET}@db1/shop",
        f"postgres://app%3a{SECRET}@db1/shop",
        f"mysql://app%253A{SECRET}@db1/shop",
    ],
)
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    texts = [
        (FILE.format(target=f'{{url: "{url}"}}'), ()),
        (FILE.format(target=f'{{nodes: {{write: mysql://a/x, read: ["{url}"]}}}}'), ()),
        (FILE.format(target=f'{{url: "{url}", urrl: 1}}'), ()),
        (FILE.format(target=f'{{url: ["{url}"]}}'), ()),
        (FILE.format(target="{kind: mysql}") + f'factors: {{db.url: ["{url}", mysql://b/x]}}', ()),
        (FILE.format(target="{kind: mysql}"), (f"db.url={url}",)),
        (FILE.format(target="{kind: mysql}"), (url,)),
    ]
    for text, overrides in texts:
        with pytest.raises(DynoError) as raised:
            load(text, overrides)
        assert "contains a password" in raised.value.what
        assert SECRET not in str(raised.value)
        assert raised.value.where is not None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{url: http://h/x}", "must begin with one of mysql://"),
        ("{url: postgres://h}", "names no database"),
        ("{url: mysql://h:0/x}", "names port 0"),
        ("{url: mysql://h:x/y}", "check its host and port"),
        ("{url: mysql://h/x?ssl=1}", "a parameter other than"),
        ("{kind: mysql, url: mariadb://h/x}", "its URL is one of mariadb"),
        ("{kind: sqlite, url: mysql://h/x}", "is not reached by a URL"),
        ("{url: mysql://h/x, memory: 1Gi}", "`memory` cannot be set"),
        ("{url: mysql://h/x, basedir: /opt}", "`basedir` cannot be set"),
        ('{url: mysql://h/x, version: "8.0"}', "`version` cannot be set"),
        ("{url: mysql://h/x, durability: full}", "`durability` cannot be set"),
        ("{url: mysql://h/x, instances: 2}", "`instances` cannot be set"),
        ("{url: mysql://h/x, config: {a: 1}}", "not dbdyno's to change"),
        ("{kind: mariadb, may: {write: yes}}", "`may` means nothing"),
        ("{kind: mariadb, data: {existing: x}}", "`data` means nothing"),
        ("{kind: mariadb, password_env: X}", "`password_env` means nothing"),
        ("{url: mysql://h, password_env: A, password_file: B}", "two sources"),
        ("{url: postgres://h/x, defaults_group: a}", "PostgreSQL does not have"),
        ("{kind: mysql, cleartext_password: yes}", "`cleartext_password` means nothing"),
        ("{kind: mysql, server_public_key: get}", "`server_public_key` means nothing"),
        ("{url: postgres://h/x, server_public_key: get}", "PostgreSQL does not have"),
        ("{url: mysql://h, cleartext_password: maybe}", "must be true or false"),
        ("{url: mysql://h/x, data: {existing: y}}", "ends in another"),
        ("{url: mysql://h, nodes: {write: mysql://h}}", "both `url` and `nodes`"),
        ("{url: mysql://h, may: {write: maybe}}", "must be true or false"),
        ("{url: postgres://h/x, setup: {sql: [/etc/passwd]}}", "`setup.sql` cannot be used"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(written: str, message: str) -> None:
    with pytest.raises(DynoError) as raised:
        target(written)
    assert re.search(re.escape(message), str(raised.value)), raised.value
    assert raised.value.where is not None and raised.value.where.line == 3


def test_permissions_are_refusals_by_default_and_can_be_patched() -> None:
    found = target("{url: mysql://h/x}")
    assert (found.may.restart, found.may.set_global, found.may.write) == (False, False, False)
    assert found.may.create_schema
    found = target("{url: mysql://h/x, may: {set_global: yes}}", "db.may.restart=yes")
    assert found.may.set_global and found.may.restart


def test_groups_read_from_replicas_only_where_there_are_some() -> None:
    text = FILE.format(target="{nodes: {write: mysql://a/x, read: [mysql://b/x]}}")
    text = text.replace("point_select}", "point_select, node: read}")
    assert load(text).cells[0].groups[0].node == "read"
    with pytest.raises(DynoError, match="has none"):
        load(text.replace(", read: [mysql://b/x]", ""))
