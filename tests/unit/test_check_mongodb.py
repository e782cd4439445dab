"""`dyno check mongodb://` on a scripted mongod (tests/fixtures/mongod.py: the manual's answers,
not a database), and BSON against MongoDB's own library. tests/live/test_check_ferretdb.py has a
real server.
"""

from __future__ import annotations

import json
import ssl
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bson as reference
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from dbdyno.experiment.targets import server_url
from dbdyno.experiment.types import Credentials
from dbdyno.facts import document, targets
from dbdyno.facts.fact import Facts
from dbdyno.facts.servers import mongodb
from dbdyno.rules.check.packs import RULES
from dbdyno.rules.check.rule import FINE, FOUND, NOT_APPLICABLE, NOT_KNOWN, SEVERITIES
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.mongodb import bson, external
from fixtures.mongod import APP, BOTH, BUILD, DBA, PASSWORD, refusal, serving

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP", PASSWORD)


def read(url: str, tls: str | None = None, env: str | None = "APP") -> Facts:
    [facts] = targets.read(url, targets.Asked(Credentials(env=env), tls))
    return facts


def states(facts: Facts) -> dict[str, str]:
    return {rule.id: rule.look(facts).state for rule in RULES if rule.judge is not None}


def found(facts: Facts, least: str = "info") -> set[str]:
    floor = SEVERITIES.index(least)
    outcomes = [rule.look(facts) for rule in RULES if rule.judge is not None]
    return {
        one.rule
        for outcome in outcomes
        for one in outcome.findings
        if SEVERITIES.index(one.severity) >= floor
    }


# ---- facts


def conf(section: Mapping[str, Any], depth: int = 0) -> str:
    """mongod.conf with these options."""
    lines = ""
    for name, value in section.items():
        inside = isinstance(value, Mapping)
        written = "\n" + conf(value, depth + 1) if inside else f" {json.dumps(value)}\n"
        lines += f"{'  ' * depth}{name}:{written}"
    return lines


WRONG = {
    "net": {
        "bindIpAll": True,
        "tls": {"mode": "preferTLS", "allowInvalidCertificates": True, "disabledProtocols": "none"},
        "unixDomainSocket": {"filePermissions": "0777"},
    },
    "security": {"keyFile": "/etc/key", "clusterAuthMode": "sendX509"},
    "storage": {"dbPath": "/data", "wiredTiger": {"engineConfig": {"cacheSizeGB": 4096}}},
    "systemLog": {"verbosity": 2, "quiet": True},
    "setParameter": {"authenticationMechanisms": "PLAIN,SCRAM-SHA-1", "enableTestCommands": True},
}


def test_a_running_mongod_is_judged_like_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mongod.conf"
    path.write_text(conf(WRONG))
    asked = targets.Asked(Credentials(), engine="mongodb", version=(7, 0, 14), memory_bytes=1 << 34)
    [of_file] = targets.read(str(path), asked)
    with serving(answers={"getCmdLineOpts": {"parsed": WRONG}, "getParameter": {}}) as mongod:
        live = targets.read(mongod.url, targets.Asked(Credentials(env="APP"), memory_bytes=1 << 34))
    names = {fact.key: fact.text for fact in of_file.settings()}
    assert names and names == {key: live[0].facts[key].text for key in names}
    both = {rule.id for rule in RULES if {"server", "file"} <= {*rule.sources}}
    assert found(of_file) & both == found(live[0]) & both
    assert len(found(of_file) & both) >= 9


def test_a_healthy_mongod_has_no_finding_of_medium_severity() -> None:
    with serving() as mongod:
        facts = read(mongod.url)
    assert (facts.engine, facts.version) == ("mongodb", (7, 0, 14))
    assert found(facts, "medium") == set()
    state = states(facts)
    assert state["mongodb-tls-any-certificate"] == FINE  # not set, and the server says so
    assert state["mongodb-localhost-exception-open"] == FINE
    assert state["mongodb-user-superuser"] == FOUND
    assert state["mongodb-scram-sha-1"] == FINE  # a default, which nobody has chosen


def test_parameters_that_were_changed_meanwhile_win() -> None:
    now = {"logComponentVerbosity": {"verbosity": 1, "query": {"verbosity": 2}}, "quiet": True}
    with serving(answers={"getParameter": now}) as mongod:
        facts = read(mongod.url)
    assert facts.setting("systemLog.verbosity").number == 1
    assert facts.setting("systemLog.component.query.verbosity").number == 2
    assert found(facts) >= {"mongodb-log-verbose", "mongodb-log-quiet"}


def test_what_an_account_may_not_ask_is_not_known() -> None:
    denied = ("getCmdLineOpts", "getParameter", "serverStatus", "usersInfo", "rolesInfo")
    with serving(denied=denied) as mongod:
        facts = read(mongod.url)
    of_server = [
        rule for rule in RULES if rule.id.startswith("mongodb-") and "server" in rule.sources
    ]
    state = states(facts)
    fine = {rule.id for rule in of_server if state[rule.id] == FINE}
    assert fine == {"mongodb-authorization-off"}  # the connection without a login was refused
    assert {state[rule.id] for rule in of_server} == {FINE, NOT_KNOWN, NOT_APPLICABLE}


def test_a_server_without_logins_is_found_out_whoever_logs_in() -> None:
    open_ = {"parsed": {"net": {"bindIp": "0.0.0.0"}}}
    with serving(demands_login=False, answers={"getCmdLineOpts": open_}) as mongod:
        for url, env in ((mongod.url, "APP"), (mongod.anonymous, None)):
            severe = found(read(url, env=env), "high")
            assert severe == {"mongodb-authorization-off", "mongodb-listens-everywhere"}
    unknown = {"getCmdLineOpts": refusal("no such command", 59)}
    with serving(demands_login=False, answers=unknown) as mongod:
        state = states(read(mongod.url))
    assert state["mongodb-authorization-off"] == NOT_KNOWN


def test_users_and_what_connections_used() -> None:
    answers = {
        "usersInfo": {"users": [DBA | BOTH, APP | {"roles": DBA["roles"]} | BOTH]},
        "serverStatus": {"transportSecurity": {"1.0": 4, "1.1": 0, "1.2": 1}},
    }
    with serving(answers=answers) as mongod:
        facts = read(mongod.url)
    assert found(facts, "medium") == {"mongodb-user-superuser", "mongodb-tls-old-used"}


def test_ferretdb_is_never_called_mongodb() -> None:
    build = BUILD | {"version": "7.0.77", "ferretdb": {"version": "v2.7.0", "package": "x"}}
    answers = {"buildInfo": build, "getCmdLineOpts": {"parsed": {}}}
    with serving(answers=answers) as server:
        facts = read(server.url)
        said = CliRunner().invoke(dyno, ["check", server.url, "--password-env", "APP"]).output
    assert (facts.engine, facts.version) == ("ferretdb", (2, 7, 0))
    assert "FerretDB/DocumentDB 2.7.0" in said
    state = states(facts)
    assert {state[rule] for rule in state if rule.startswith("mongodb-")} == {NOT_APPLICABLE}
    assert state["ferretdb-authentication-off"] == FINE


def test_what_is_neither_is_refused() -> None:
    with (
        serving(answers={"buildInfo": {"version": "5.0.0"}}) as server,
        pytest.raises(DynoError, match="neither MongoDB nor FerretDB"),
    ):
        read(server.url)


# ---- what is sent, and what is kept


def test_commands_only_read_and_have_a_limit_of_time() -> None:
    with serving() as mongod:
        read(mongod.url)
    names = [next(iter(one)) for one in mongod.heard]
    assert {*names} - {"saslStart", "saslContinue"} == {*mongodb.COMMANDS}
    for one in mongod.heard:
        name = next(iter(one))
        assert one["$db"] == "admin"
        assert one.get("maxTimeMS") == 5000 or name in ("hello", "saslStart", "saslContinue")
        assert "showCredentials" not in one


def test_no_secret_is_sent_or_kept() -> None:
    with serving() as mongod:
        kept = json.dumps(document.document([read(mongod.url)]))
    assert PASSWORD not in repr(mongod.heard)
    for secret in (PASSWORD, "query-Secret:4712", "a-Note:4713"):
        assert secret not in kept
    assert "(hidden)" in kept and "auditor" not in kept


# ---- logins


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-1", "SCRAM-SHA-256"])
def test_both_mechanisms_log_in(mechanism: str) -> None:
    with serving(mechanism=mechanism) as mongod:
        assert "users" in read(mongod.url).tables
    assert next(one for one in mongod.heard if "saslStart" in one)["mechanism"] == mechanism


def test_wrong_passwords_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRONG", "another")
    with serving() as mongod:
        with pytest.raises(DynoError, match="refuses user auditor: Authentication failed"):
            read(mongod.url, env="WRONG")
        with pytest.raises(DynoError, match="refuses user auditor"):
            read(mongod.url, env=None)
        with pytest.raises(DynoError, match="the URL names no user"):
            read(mongod.anonymous)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"iterations": 2_000_000_000}, "2,000,000,000 iterations"),
        ({"iterations": 5}, "with 5 iterations"),
        ({"lies": True}, "SCRAM-SHA-256 failed"),
        ({"mechanism": "PLAIN"}, "the account has only PLAIN"),
    ],
)
def test_a_server_gets_a_proof_that_is_worth_one(about: dict[str, Any], said: str) -> None:
    with serving(**about) as mongod, pytest.raises(DynoError, match=said):
        read(mongod.url)
    assert PASSWORD not in repr(mongod.heard)


BEGUN = struct.pack("<iiii", 1 << 20, 1, 1, 2013)


def dripping() -> Iterator[bytes]:
    """The beginning of an answer, and then a byte now and then."""
    yield BEGUN
    while True:
        time.sleep(0.05)
        yield b"x"


@pytest.mark.parametrize(
    ("noise", "limit_s", "said"),
    [
        (dripping(), 1, r"no whole answer within 1 s|timed out"),
        (iter([struct.pack("<iiii", 2**31 - 1, 1, 1, 2013)]), 60, "not MongoDB's protocol"),
        (iter([b"HTTP/1.1 400 Bad Request\r\n\r\n"]), 60, "not MongoDB's protocol"),
        (iter([struct.pack("<iiii", 30, 1, 1, 2013), bytes(14)]), 60, "an impossible length"),
        (iter([b"x"]), 60, "closed the connection"),
    ],
)
def test_an_answer_without_end_is_not_heard_to_it(
    noise: Iterator[bytes], limit_s: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "CONTROL_TIMEOUT_S", limit_s)
    with serving(noise=noise) as server, pytest.raises(DynoError, match=said):
        read(server.url, "off")


def encrypted(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    made = Certificate.make()
    for name, text in (("ca", made.ca), ("cert", made.cert), ("key", made.key)):
        (tmp_path / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    return context, tmp_path / "ca"


def test_tls_is_used_where_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "PREFERRED_S", 60.0)
    context, ca = encrypted(tmp_path)
    with serving(tls=context) as mongod:
        for tls in (None, "require", f"ca:{ca}"):
            assert read(mongod.url, tls).fact("session.tls").text == "TLSv1.3"
        with pytest.raises(DynoError, match="certificate"):
            read(mongod.url, "verify")
    with serving() as mongod:
        assert read(mongod.url).fact("session.tls").text == "off"
        with pytest.raises(DynoError, match=r"does not answer in TLS|SSL"):
            read(mongod.url, "require")


def test_a_server_that_waits_for_more_than_tls_is_read_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(external, "PREFERRED_S", 0.2)
    with serving(waits_at_tls=True) as mongod:
        assert read(mongod.url).fact("session.tls").text == "off"


# ---- URLs


def test_urls_of_mongodb_are_for_checks_alone() -> None:
    assert server_url.parse("mongodb://a@h/shop", for_check=True).schema == "shop"
    with pytest.raises(ValueError, match="only `dyno check` reads"):
        server_url.parse("mongodb://a@h")
    with pytest.raises(ValueError, match="contains a password"):
        server_url.parse("mongodb://a:b@h", for_check=True)
    with pytest.raises(ValueError, match="several servers"):
        server_url.parse("mongodb://a@h:1,i:2/", for_check=True)
    for command in (["digest", "mongodb://h"], ["try", "oltp", "--on", "mongodb://h"]):
        done = CliRunner().invoke(dyno, command)
        assert "only `dyno check` reads" in f"{done.output}{done.exception}", done.output
    done = CliRunner().invoke(dyno, ["check", "mongodb+srv://cluster.example.com"])
    assert "name one of them" in f"{done.output}{done.exception}"


# ---- BSON


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)
documents = st.dictionaries(names, values, max_size=6)


@given(documents)
def test_bson_is_that_of_mongodbs_library(sent: dict[str, Any]) -> None:
    assert bson.encode(sent) == reference.encode(sent)
    assert bson.decode(reference.encode(sent)) == sent


@given(documents, st.data())
def test_damaged_bson_is_an_error(sent: dict[str, Any], data: st.DataObject) -> None:
    raw = bytearray(reference.encode(sent))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    for one in (bytes(raw), cut):
        try:
            bson.decode(one)
        except bson.NotBson:
            continue


def test_types_that_are_rare_are_passed_over() -> None:
    from bson import Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

    sent = {
        "id": ObjectId("65f0c0ffee00000000000000"),
        "code": Code("f()"),
        "scoped": Code("g()", {"x": 1}),
        "regular": Regex("^a", "i"),
        "time": Timestamp(5, 1),
        "decimal": Decimal128("1.5"),
        "keys": [MinKey(), MaxKey()],
        "long": Int64(7),
        "ref": DBRef("c", 1),
    }
    assert bson.decode(reference.encode(sent)) == {
        "id": "65f0c0ffee00000000000000",
        "code": "f()",
        "scoped": "g()",
        "regular": "^a",
        "time": (5 << 32) + 1,
        "decimal": None,
        "keys": [None, None],
        "long": 7,
        "ref": {"$ref": "c", "$id": 1},
    }


def test_depth_and_number_of_values_have_limits() -> None:
    deep: dict[str, Any] = {}
    for _ in range(bson.DEPTH_MAX + 2):
        deep = {"x": deep}
    with pytest.raises(bson.NotBson):
        bson.decode(bson.encode(deep))
