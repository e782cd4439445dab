"""Rules of redaction: what each keeps of SQL, plans, settings and prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from test_share_redact import EXPLAIN

from dbdyno.share.redact import aliases, vocabulary
from dbdyno.share.redact.aliases import Aliases
from dbdyno.share.redact.experiment import experiment as redacted_experiment
from dbdyno.share.redact.texts import Texts


@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        (
            "SELECT a FROM t WHERE b = 'x''y' -- z",
            "SELECT column-1 FROM table-1 WHERE column-2 = ?  ",
        ),
        ("select count(*) from s.t", "select count(*) from schema-1.column-1"),
        ("INSERT INTO t VALUES (1, 0x1F, .5e3)", "INSERT INTO table-1 VALUES (?, ?, ?)"),
        ("SELECT $tag$ text $tag$, $1, ?", "SELECT ?, $1, ?"),
        ("UPDATE `my table` SET x = :who", "UPDATE `table-1` SET column-1 = :parameter-1"),
        ("SELECT c FROM sbtest1 WHERE id = 5", "SELECT c FROM sbtest1 WHERE id = ?"),
        ("SELECT my_func(1)", "SELECT function-1(?)"),
        ("SET SESSION sort_buffer_size = 1024", "SET SESSION sort_buffer_size = 1024"),
        ("SELECT 'never ended", "SELECT ?"),
    ],
)
def test_sql_keeps_its_shape(sql: str, shape: str) -> None:
    assert Texts(Aliases()).sql(sql) == shape


def test_faults_keep_what_they_are_and_lose_what_they_say() -> None:
    text = """
experiment: x
faults:
  - {at: 1s, do: clock, node: db, by: -1h}
  - {at: 2s, do: sql, sql: [SET GLOBAL x = 1, "DELETE FROM ledger WHERE iban = 'DE89'"]}
  - {at: 3s, do: nemesis, for: 9s, every: 1s, of: [kill, partition]}
  - {at: 4s, do: meridian}
  - {at: 5s, do: alter, tool: pt-online-schema-change, table: ledger, change: "ADD INDEX x (iban)"}
  - {at: 6s, do: alter, tool: meridian-osc, table: ledger, change: "ADD INDEX x (iban)"}
"""
    clock, sql, nemesis, unknown, alter, foreign = YAML(typ="safe").load(
        redacted_experiment(Texts(Aliases()), text)
    )["faults"]
    assert (clock["do"], clock["by"]) == ("clock", "-1h")
    assert sql["sql"] == ["SET GLOBAL x = 1", "DELETE FROM table-1 WHERE column-1 = ?"]
    assert nemesis["of"] == ["kill", "partition"]
    assert unknown["do"].startswith("text-")
    assert (alter["do"], alter["tool"]) == ("alter", "pt-online-schema-change")
    assert alter["table"] == "table-1"
    assert "iban" not in alter["change"] and alter["change"].startswith("ADD INDEX ")
    assert foreign["tool"].startswith("text-")


def test_sums_and_lists_name_the_same_parameters_as_their_statement() -> None:
    text = """
groups:
  app:
    kind: mix
    params:
      payee: {uniform: [1, 9]}
      payee_width: {const: 9}
      payee_upto: {sum: [payee, payee_width]}
    statements:
      find:
        sql: "SELECT 1 WHERE x IN (:payee, :payee_upto)"
        lists: [{of: ":payee", lengths: [1, 9]}]
"""
    made = YAML(typ="safe").load(redacted_experiment(Texts(Aliases()), text))
    [group] = made["groups"].values()
    payee, width, upto = group["params"]
    assert "payee" not in str(made)
    assert group["params"][upto] == {"sum": [payee, width]}
    [statement] = group["statements"].values()
    assert f"IN (:{payee}, :{upto})" in statement["sql"]
    assert statement["lists"] == [{"of": f":{payee}", "lengths": [1, 9]}]


def test_plans_keep_what_was_counted() -> None:
    shown = Texts(Aliases()).explain(EXPLAIN)
    assert shown.splitlines()[1:] == [
        "  Index Cond: (column-1 = ?::column-2)",
        "  Filter: (column-3 > ?)",
    ]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("max_connections", "151", True),
        ("shared_buffers", "128MB", True),
        ("binlog_format", "ROW", True),
        ("character_set_database", "utf8mb4", True),
        ("character_sets_dir", "/usr/share/x/", False),
        ("sql_mode", "STRICT_TRANS_TABLES,NO_ZERO_DATE", True),
        ("optimizer_switch", "index_merge=on,mrr=off", True),
        ("hostname", "meridian", False),
        ("bind_address", "192.0.2.1", False),
        ("ssl_ca", "/etc/x.pem", False),
        ("application_name", "Till", False),
        ("log_line_prefix", "%m Zebra", False),
    ],
)
def test_settings_keep_quantities_and_words(name: str, value: str, kept: bool) -> None:
    assert (Texts(Aliases()).setting(name, value) == value) is kept


@pytest.mark.parametrize(
    "text",
    [
        "see 192.0.2.7:3306",
        "at [2001:db8::7]",
        "as bob@db.example.org",
        "in /home/bob/x and ~/.my.cnf",
        "from mysql://bob@db/x?password=y",
        'relation "bills_2024" does not exist',
        "Key (email)=(bob@x.org) already exists",
        "near 'name='bob'' at line 1",
        "id 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_prose_loses_addresses_paths_and_quotes(text: str) -> None:
    shown = Texts(Aliases()).prose(text)
    for part in ("192.0", "2001", "bob", "example", "my.cnf", "bills", "x.org", "123e"):
        assert part not in shown, shown


def test_own_sentences_stay() -> None:
    text = "generator-bound (CPU): a load thread was busy for 91% of a second; faster than measured"
    assert Texts(Aliases()).prose(text) == text


@given(st.text(max_size=60), st.sampled_from(["sql", "explain", "prose", "label"]))
def test_rules_take_any_text_and_are_stable(text: str, rule: str) -> None:
    texts = Texts(Aliases())
    first = getattr(texts, rule)(text)
    assert getattr(texts, rule)(text) == first


@given(st.from_regex(r"[a-z]{4,12}[0-9]{2}", fullmatch=True), st.sampled_from(aliases.NAMES))
def test_a_known_name_goes_from_any_sentence(name: str, kind: str) -> None:
    texts = Texts(Aliases())
    if vocabulary.is_public(name):
        return
    alias = texts.name(kind, name)
    for text in (f"see {name}.", f"({name.upper()})", f"x_{name}_y", f"a {name}-b"):
        assert name not in texts.label(text).casefold()
        assert alias in texts.label(text)


@given(st.lists(st.text("abAB-1", min_size=1, max_size=6), max_size=20))
def test_aliases_are_one_to_one(names: list[str]) -> None:
    table = Aliases(reserved={"host-1", "HOST-3"})
    given_ = {name.casefold(): table.of("host", name) for name in names}
    assert len(set(given_.values())) == len(given_)
    assert not {"host-1", "host-3"} & set(given_.values())
    again = Aliases(known=table.table())
    assert {name: again.of("host", name) for name in given_} == given_
