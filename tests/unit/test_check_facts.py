"""Facts: how files are read, with places; what is hidden; which engines a rule is for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.facts import applies, document, keyleaks
from dbdyno.facts.fact import Fact, Facts, Missing, version_of
from dbdyno.facts.files import (
    logs,
    mongodconf,
    optionfile,
    postgresql,
    redisconf,
    redisusers,
    text,
)
from dbdyno.facts.gathered import Gathered
from dbdyno.facts.secret import HIDDEN, looks_secret, told
from dbdyno.facts.targets import FORMS
from fixtures.rules import file, server


def test_an_option_file_is_read_with_what_it_includes(tmp_path: Path) -> None:
    main, more = tmp_path / "my.cnf", tmp_path / "conf.d"
    more.mkdir()
    main.write_text(
        "[client]\nport=1\n[mysqld]\nmax-connections = 100  # all\nskip-name-resolve\n"
        "!includedir conf.d\n!include absent.cnf\n[mysqldump]\nquick\n"
    )
    (more / "b.cnf").write_text("[mysqld]\n  loose_Max_Connections='200'\n")
    (more / "a.cnf").write_text("[mysqld]\nmax_connections=150\n")
    (more / "ignored.txt").write_text("[mysqld]\nmax_connections=1\n")
    facts = optionfile.read(main, Gathered())
    assert facts.setting("max_connections").value == "200"
    assert facts.setting("max_connections").place == f"{more}/b.cnf:2:3"
    assert facts.setting("skip_name_resolve").on
    with pytest.raises(Missing, match="default holds"):
        facts.setting("port")
    groups = [row["group"] for row in facts.table("options").rows]
    assert groups == ["client", "mysqld", "mysqld", "mysqld", "mysqld", "mysqldump"]
    assert any("absent.cnf" in key for key in facts.missing)


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    main = tmp_path / "my.cnf"
    main.write_text("[mysqld]\n!include my.cnf\n")
    with pytest.raises(Exception, match="levels"):
        optionfile.read(main, Gathered())


def test_postgresql_conf(tmp_path: Path) -> None:
    main = tmp_path / "postgresql.conf"
    main.write_text(
        "shared_buffers = 1GB # memory\n#work_mem = 1MB\nlisten_addresses = 'a, b''c'\n"
        "work_mem 64MB\ninclude_if_exists = 'absent.conf'\ninclude 'more.conf'\n"
    )
    (tmp_path / "more.conf").write_text("shared_buffers = '2GB'\n")
    facts = postgresql.read(main, Gathered())
    assert facts.setting("shared_buffers").number == 2 << 30
    assert facts.setting("listen_addresses").value == "a, b'c"
    assert facts.setting("work_mem").place.endswith("postgresql.conf:4:1")


def test_redis_conf_joins_what_repeats(tmp_path: Path) -> None:
    path = tmp_path / "redis.conf"
    path.write_text("save 900 1\nsave 300 10\nmaxmemory 2gb\nuser app on >geheim ~* +@all\n")
    facts = redisconf.read(path, Gathered())
    assert facts.setting("save").value == "900 1 300 10"
    assert facts.setting("maxmemory").number == 2 << 30
    assert "geheim" not in json.dumps(document.document([facts]))


def test_passwords_of_sentinel_are_hidden_and_its_names_are_not(tmp_path: Path) -> None:
    path = tmp_path / "sentinel.conf"
    path.write_text(
        "sentinel monitor shop 10.0.0.1 6379 2\nsentinel auth-pass shop geheim\n"
        "sentinel sentinel-pass geheim\nsentinel rename-command shop CONFIG geheim\n"
    )
    assert redisconf.detect(path, path.read_text())
    facts = redisconf.read(path, Gathered())
    assert "geheim" not in json.dumps(document.document([facts]))
    assert "auth-pass shop (hidden)" in [row["value"] for row in facts.table("options").rows]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("user a on >geheim ~* +@all", {"enabled": True, "clear": 1, "all_commands": True}),
        ("user a on nopass >geheim", {"nopass": False, "clear": 1}),
        ("user a on >geheim nopass off", {"nopass": True, "clear": 0, "enabled": False}),
        ("user a on #ab #cd resetpass reset", {"hashes": 0, "enabled": False}),
        ("user a on #ab +@admin -config +acl|whoami", {"administers": "@admin", "takes_away": 1}),
        ("user a on #ab -@all (+config ~x)", {"administers": "config", "takes_away": 0}),
        ("user a on #ab +config -config", {"administers": ""}),
    ],
)
def test_a_user_of_redis_is_read_from_left_to_right(line: str, says: dict[str, object]) -> None:
    read = redisusers.user(line)
    assert {name: read[name] for name in says} == says
    assert "geheim" not in str(read)


@pytest.mark.parametrize("text", ["storage:\n  dbPath: /x\n", "dbpath = /x\n"])
def test_mongod_conf_has_two_forms(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.conf"
    path.write_text(text)
    assert mongodconf.detect(path, text)
    names = [row["name"] for row in mongodconf.read(path, Gathered()).table("options").rows]
    assert names in (["storage.dbPath"], ["dbpath"])


def test_a_manifest_has_several_documents() -> None:
    facts = file(
        "manifest",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {p: Z2VoZWlt}\n---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  volumes:\n  - emptyDir: {}\n",
    )
    assert [row["kind"] for row in facts.table("objects").rows] == ["Secret", "Pod"]
    assert "Z2VoZWlt" not in json.dumps(document.document([facts]))
    fields = {row["path"]: row for row in facts.table("fields").rows}
    assert fields["spec.volumes[0].emptyDir"]["place"].endswith("manifest.yaml:11:5")


def test_variables_arguments_and_files_of_a_manifest_are_hidden() -> None:
    facts = file(
        "manifest",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {a: geheim}}\nspec:\n"
        "  containers:\n  - name: c\n    env: [{name: MYSQL_ROOT_PASSWORD, value: geheim}]\n"
        "    args: [--pass, geheim]\n    image: mysql:8.4\n  configuration: |\n    [client]\n"
        "    password=geheim\n---\napiVersion: v1\nkind: ConfigMap\ndata: {x: geheim}\n",
    )
    text = json.dumps(document.document([facts]))
    assert "geheim" not in text and "mysql:8.4" in text


SAMPLES = {
    "log": "2026-01-01T00:00:00 0 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1: 11\n",
    "manifest": "apiVersion: v1\nkind: Pod\n",
    "mongod.conf": "storage:\n  dbPath: /data/db\n",
    "my.cnf": "[mysqld]\nport=3306\n",
    "postgresql.conf": "shared_buffers = 1GB\n",
    "redis.conf": "maxmemory 1gb\n",
    "digest": '{"classes_total": 1, "classes": [{"fingerprint": "select ?"}]}',
    "ddl": "CREATE TABLE t (a INT);\n",
    "vschema": '{"sharded": true, "tables": {"t": {"column_vindexes": []}}}',
}


def test_each_form_is_found_out_and_by_no_other() -> None:
    for form, content in SAMPLES.items():
        first = next(n for n, reader in FORMS.items() if reader.detect(Path("x"), content))
        assert first == form
    assert {*SAMPLES} == {*FORMS}


@pytest.mark.parametrize(
    "name",
    ["password", "requirepass", "masterauth", "wsrep_sst_auth", "primary_conninfo",
     "ssl_passphrase_command", "authentication_string", "vault.token", "master-password",
     "tls-key-file-pass"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)
    assert told(name, "geheim") == HIDDEN
    assert told(name, "") == ""  # that none is set is no secret


@pytest.mark.parametrize(
    "name",
    ["validate_password.length", "default_password_lifetime", "password_encryption",
     "key_buffer_size", "old_passwords", "caching_sha2_password_digest_rounds", "user",
     "disconnect_on_expired_password", "foreign_key_checks", "authentication_policy"],
)  # fmt: skip
def test_names_of_settings_about_secrets(name: str) -> None:
    assert told(name, "8") == "8"


def test_addresses_with_passwords_are_hidden() -> None:
    assert told("wsrep_provider_options", "a=1;password=geheim") == HIDDEN
    assert told("url", "http://u:geheim@h/") == HIDDEN
    assert told("wsrep_cluster_address", "gcomm://10.0.0.1,10.0.0.2") != HIDDEN


@pytest.mark.parametrize(
    ("text", "version"),
    [("5.5.5-10.11.6-MariaDB-1", (10, 11, 6)), ("9.1.0", (9, 1, 0)), ("15.6 (Debian)", (15, 6)),
     ("17", (17,)), ("", ())],
)  # fmt: skip
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version


def test_engines_and_ranges() -> None:
    def one(engine: str, *version: int) -> Facts:
        return Facts("x", "file", engine, version)

    ranges = ("mysql >=8.0.13 <9.0", "mariadb")
    assert applies.matches(ranges, one("mysql", 8, 0, 13))
    assert not applies.matches(ranges, one("mysql", 8, 0, 12))
    assert not applies.matches(ranges, one("mysql", 9, 0, 0))
    assert applies.matches(ranges, one("mariadb"))
    assert not applies.matches(ranges, one("postgres", 15))
    for unknown in (one("mysql"), one("mysql|mariadb")):
        with pytest.raises(Missing, match="--engine"):
            applies.matches(ranges, unknown)
    assert applies.matches(("mysql", "mariadb"), one("mysql|mariadb"))


def test_a_value_that_is_no_switch_or_number_is_missing() -> None:
    assert Fact("x", "ON", "p").on and not Fact("x", "0", "p").on
    assert Fact("x", "1.5G", "p").number == 1.5 * (1 << 30)
    for ask in (lambda: Fact("x", "DEMAND", "p").on, lambda: Fact("x", "auto", "p").number):
        with pytest.raises(Missing):
            ask()


def test_a_bundle_is_read_as_it_was_written() -> None:
    facts = server("mariadb", "10.11.6", {"port": "3306"}, tables={"plugins": [{"name": "x"}]})
    whole = json.loads(json.dumps(document.document([facts])))
    assert document.parse(whole, "b") == [facts]


@pytest.mark.parametrize(
    "damage",
    [{"subjects": [{}]}, {"subjects": 3}, {"schema_version": 9}, {"subjects": [{"facts": None}]}],
)
def test_a_damaged_bundle_is_an_error(damage: dict[str, object]) -> None:
    whole = document.document([server("mysql", "9.1.0")]) | damage
    with pytest.raises(Exception, match="bundle"):
        document.parse(whole, "b")


def test_what_gzip_has_packed_is_read_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "slow.log.1.gz"
    path.write_bytes(gzip.compress(b"first\n") + gzip.compress(b"second\n"))
    assert text.read(path) == "first\nsecond\n"
    assert text.head(path, 6) == ("first\n", False)
    with pytest.raises(DynoError, match="larger"):
        text.read(path, 6)
    path.write_bytes(gzip.compress(b"first\n")[:-3])
    with pytest.raises(DynoError, match="cannot be unpacked"):
        text.read(path)
    path.write_bytes(b"\x28\xb5\x2f\xfd\0")
    with pytest.raises(DynoError, match="packed by zstd") as raised:
        text.head(path, 6)
    assert "zstd -d" in raised.value.fix


CSV = (
    '2026-11-02 10:00:00.000 UTC,"app","shop",7,"[local]",6b.7,1,"SELECT",2026-11-02 10:00:00 UTC,'
    '3/4,0,LOG,00000,"duration: 9 ms  execute <unnamed>: SELECT ""a"", hmac(b, $1, $2) FROM t",'
    '"parameters: $1 = \'{0}\', $2 = \'sha256\'",,,,,,,,"app","client backend",,0\n'
)
JSON = (
    '{{"timestamp":"2026-11-02 10:00:00.000 UTC","user":"app","pid":7,"error_severity":"LOG",'
    '"message":"duration: 9 ms  execute <unnamed>: SELECT \\"a\\",\\nhmac(b, $1, $2) FROM t",'
    "\"detail\":\"parameters: $1 = '{0}', $2 = 'sha256'\"}}\n"
)


@pytest.mark.parametrize(("line", "form"), [(CSV, logs.CSV), (JSON, logs.JSON)])
def test_keys_among_the_parameters_of_a_statement_are_found(
    line: str, form: str, tmp_path: Path
) -> None:
    """PostgreSQL logs them as the statement's detail."""
    path = tmp_path / "log"
    path.write_text(line.format("key-4711"))
    facts = logs.read(path, Gathered())
    assert facts.fact(logs.FORM).value == form
    assert [dict(row) for row in facts.table(keyleaks.TABLE).rows] == [
        {"sort": "the key of HMAC", "place": f"{path}:1:1"}
    ]
    path.write_text(line.format("key-4711").replace("$1 = 'key-4711', ", ""))
    assert logs.read(path, Gathered()).table(keyleaks.TABLE).rows == ()
