"""`dyno prove` without a server: candidates, the experiment that it writes, the answer's words."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbdyno.analysis.types import REFUTED, SUPPORTED, UNDECIDED
from dbdyno.cli.proving.command import prove
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.prove import candidates
from dbdyno.prove.answer import Answer, Judged
from dbdyno.prove.candidates import Candidate
from dbdyno.prove.examining import Examined
from dbdyno.prove.experiment import CLASS, WHOLE, WRITES, Effect
from dbdyno.prove.results import result

SHOP = """\
experiment: shop
targets:
  db:
    kind: mariadb
    setup:
      tables:
        orders: {rows: 100, columns: {id: {type: bigint, sequence: 1, key: primary}}}
      after: ["ANALYZE TABLE orders"]
# The load.
workload:
  kind: mix
  params: {id: {uniform: [1, 100]}, new: {sequence: 1000}}
  statements:
    find: {sql: "SELECT id FROM orders WHERE id = :id", weight: 3}
  transactions:
    order:
      steps:
        - {name: look, sql: "SELECT id FROM orders WHERE id + 0 = :id"}
        - {name: add, sql: "INSERT INTO orders (id) VALUES (:new)"}
blocks: 2
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.yaml").write_text(SHOP)


def asked(*words: str) -> Result:
    return CliRunner().invoke(prove, list(words))


def written(*words: str) -> str:
    done = asked("--workload", "shop.yaml", *words, "--dry-run")
    assert done.exit_code == 0, (done.output, done.exception)
    assert [path.name for path in Path.cwd().iterdir() if path.suffix == ".yaml"] == ["shop.yaml"]
    return done.stdout


@pytest.mark.parametrize(
    ("text", "language", "sql"),
    [
        (
            "orders (customer_id, created)",
            "mysql",
            "CREATE INDEX orders_customer_id_created ON orders (customer_id, created)",
        ),
        ("shop.orders(a)", "mysql", "CREATE INDEX orders_a ON orders (a)"),
        ("public.orders (a)", "postgres", "CREATE INDEX public_orders_a ON public.orders (a)"),
        (
            "t (a) INCLUDE (b) WHERE c IS NULL",
            "postgres",
            "CREATE INDEX t_a_include_b_where_c_is_null ON t (a) INCLUDE (b) WHERE c IS NULL",
        ),
        ("t ((YEAR(c)))", "mysql", "CREATE INDEX t_year_c ON t ((YEAR(c)))"),
        (
            "create unique index concurrently i on t using btree (a);",
            "postgres",
            "CREATE UNIQUE INDEX t_using_btree_a ON t using btree (a)",
        ),
    ],
)
def test_an_index_is_a_table_with_columns_or_a_statement(
    text: str, language: str, sql: str
) -> None:
    assert candidates.index(text, language).after == (sql,)


@pytest.mark.parametrize("text", ["orders", "orders customer_id", "t (a); DROP TABLE t", ""])
def test_what_is_no_index_is_refused(text: str) -> None:
    with pytest.raises(DynoError, match="names no index"):
        candidates.index(text, "mysql")


def test_equal_names_get_numbers_in_their_statements_too() -> None:
    one = candidates.index("t (a)", "mysql")
    first, second = candidates.named_apart([one, one])
    assert first.after == ("CREATE INDEX t_a ON t (a)",)
    assert (second.name, second.index) == ("t_a_2", "t_a_2")
    assert second.after == ("CREATE INDEX t_a_2 ON t (a)",)


def test_the_experiment_has_a_level_for_each_candidate_and_keeps_what_is_set_up() -> None:
    Path("new.sql").write_text("SELECT id FROM orders WHERE id = :id;\n")
    made = written(
        *(
            "--index",
            "orders (id)",
            "--drop-index",
            "orders.x",
            "--set",
            "a=2",
            "--version",
            "10.11",
        ),
        *("--rewrite", "look", "new.sql", "--change", "ALTER TABLE orders ADD y INT"),
    )
    loaded = load(made)
    cells = {cell.levels["candidate"]: cell for cell in loaded.cells}
    setups = {name: cell.targets[0].setup for name, cell in cells.items()}
    after = {name: setup.after for name, setup in setups.items() if setup is not None}
    assert after["today"] == ("ANALYZE TABLE orders",)
    assert after["orders_id"] == (*after["today"], "CREATE INDEX orders_id ON orders (id)")
    assert after["without_x"] == (*after["today"], "DROP INDEX x ON orders")
    assert cells["a_2"].targets[0].config == {"a": "2"}
    assert cells["version_10_11"].targets[0].version == "10.11"
    steps = cells["look_new"].groups[0].options["transactions"]["order"]["steps"]
    assert steps[0]["sql"] == "SELECT id FROM orders WHERE id = :id"
    assert steps[1] == cells["today"].groups[0].options["transactions"]["order"]["steps"][1]
    assert "# The load." not in made  # it stood above a key that is not the reader's any more
    texts = [claim.text for claim in loaded.claims]
    assert "transactions_per_s[orders_id] > transactions_per_s[today]" in texts
    assert "transactions_per_s[without_x] >= 0.97 * transactions_per_s[today]" in texts
    assert "write_ms_mean[today] >= 0.95 * write_ms_mean[orders_id]" in texts


def test_a_statement_alone_is_a_workload() -> None:
    Path("old.sql").write_text("SELECT 1 FROM t WHERE a = :a")
    Path("new.sql").write_text("SELECT 1 FROM u WHERE a = :a")
    Path("d.sql").write_text("")
    done = asked(
        *("--rewrite", "old.sql", "new.sql", "--param", "a=1..9", "--dump", "d.sql"),
        *("--on", "postgres", "--dry-run"),
    )
    assert done.exit_code == 0, (done.output, done.exception)
    today, new = load(done.stdout, file=Path("runs/x.yaml")).cells
    assert today.groups[0].options["statements"]["old"]["sql"] == "SELECT 1 FROM t WHERE a = :a"
    assert new.groups[0].options["statements"]["old"]["sql"] == "SELECT 1 FROM u WHERE a = :a"
    assert today.targets[0].kind == "postgres"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name the workload"),
        (("--workload", "shop.yaml", "--log", "shop.yaml"), "two workloads"),
        (("--workload", "shop.yaml", "--sessions", "2"), "--sessions is for logs"),
        (("--workload", "shop.yaml", "--dry-run"), "candidates are found on a server"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(
    words: tuple[str, ...], message: str
) -> None:
    done = asked(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (
            "kind: mariadb",
            ("--rewrite", "nothing", "new.sql"),
            "the workload has no such statement",
        ),
        ("kind: mariadb", ("--rewrite", "find", "new.sql"), "names `:other`"),
        ("kind: mariadb", ("--rewrite", "find", "constant.sql"), "none of the parameters of find"),
        ("kind: mariadb", ("--set", "a"), "is no setting"),
        ("kind: mariadb", ("--drop-index", "a"), "names no index of a table"),
        ("kind: mariadb", ("--change", "-- nothing"), "holds no statement"),
        ("url: mysql://app@db1/shop", ("--index", "t (a)"), "never tried on a server that others"),
    ],
)
def test_what_cannot_be_proved_is_refused_with_a_next_step(
    change: str, words: tuple[str, ...], message: str
) -> None:
    Path("new.sql").write_text("SELECT id FROM orders WHERE id = :other")
    Path("constant.sql").write_text("SELECT id FROM orders WHERE id = 7")
    text = SHOP.replace("kind: mariadb", change)
    if change.startswith("url"):
        text = text.replace("    setup:\n", "    data: {existing: shop}\n    may: {write: yes}\n")
        text = "".join(
            line
            for line in text.splitlines(keepends=True)
            if not line.startswith("      ") or "workload" in text[: text.index(line)]
        )
    Path("shop.yaml").write_text(text)
    done = asked("--workload", "shop.yaml", *words, "--dry-run")
    assert isinstance(done.exception, DynoError), done.output
    assert message in str(done.exception)
    assert done.exception.fix


def test_the_fix_of_a_finding_is_a_candidate() -> None:
    finding = {
        "rule": "mysql-index-missing",
        "about": "shop.orders",
        "what": "no index",
        "fix": {"settings": [], "statements": ["CREATE INDEX i ON `shop`.`orders` (id)"]},
    }
    edits = {"rule": "other", "what": "edit", "fix": {"edits": ["think"]}}
    Path("found.json").write_text(json.dumps({"findings": [finding, edits]}))
    loaded = load(written("found.json#mysql-index-missing"))
    setup = loaded.cells[1].targets[0].setup
    assert setup is not None
    assert setup.after[-1] == "CREATE INDEX i ON `orders` (id)"
    for words, message in (
        ("found.json#other", "not a setting or a statement"),
        ("found.json#nothing", "no finding of nothing"),
        ("shop.yaml#x", "no document of findings"),
    ):
        done = asked("--workload", "shop.yaml", words, "--dry-run")
        assert message in str(done.exception)


def judged(of: str, verdict: str, speed: float, low: float, high: float) -> Judged:
    about = {WHOLE: "the whole mix", CLASS: "find", WRITES: "writes"}[of]
    return Judged(Effect("i", of, about, "", f"{about} is faster"), verdict, "", speed, low, high)


def test_the_answer_says_no_more_than_the_verdict() -> None:
    one = Candidate("i", "index (a) on t")
    shown = Answer(
        one,
        (
            judged(WHOLE, SUPPORTED, 1.81, 1.7, 1.9),
            judged(CLASS, SUPPORTED, 40.2, 38.0, 42.4),
            judged(WRITES, SUPPORTED, 0.97, 0.95, 0.99),
        ),
        Examined(bytes=120 << 20),
    )
    assert shown.sentence == (
        "index (a) on t: find 40.2x faster (38.0-42.4), the whole mix 1.81x faster (1.70-1.90),"
        " writes -3 % speed (-5 to -1), 120 MiB"
    )
    assert shown.verdict == "SHOWN"
    unsure = Answer(one, (judged(WHOLE, UNDECIDED, 1.01, 0.98, 1.04),), Examined())
    assert unsure.sentence == "index (a) on t: the whole mix +1 % (undecided: -2 to +4)"
    assert unsure.verdict == "NOT SHOWN (undecided: the whole mix is faster)"
    worse = Answer(one, (judged(WHOLE, REFUTED, 0.5, 0.4, 0.6),), Examined(bytes=-4096))
    assert (
        worse.sentence == "index (a) on t: the whole mix 0.50x of the speed (0.40-0.60), 4 KiB less"
    )
    assert worse.verdict.startswith("NOT SHOWN (refuted")


def test_results_are_equal_in_any_order_and_by_value() -> None:
    assert result([(1, "a"), (2, None)]) == result([(2, None), (Decimal("1.0"), "a")])
    assert result([(0.1 + 0.2,)]) == result([(0.3,)])
    assert result([(1,)]) != result([(1,), (1,)])
    assert result([(None,)]) != result([("",)])
    assert result([(1 << 60,)]) != result([((1 << 60) + 1,)])
