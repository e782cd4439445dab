"""Mixes of the user's own statements: what is read, what is refused and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.experiment.file import locate
from dbdyno.experiment.targets import sqltext
from dbdyno.experiment.types import Group, Spec
from dbdyno.experiment.workloads import mix
from dbdyno.share.redact.aliases import Aliases
from dbdyno.share.redact.experiment import experiment as redacted
from dbdyno.share.redact.texts import Texts

HEAD = """experiment: mine
targets: {db: {kind: sqlite}}
workload:
  kind: mix
"""
PARAMS = "  params: {uid: {zipfian: [1, 100]}, n: {sequence: 1}}\n"
FIND = '  statements: {find: "SELECT * FROM t WHERE id = :uid AND n = :n"}\n'


def loaded(text: str, *overrides: str) -> Spec:
    return load(HEAD + text, overrides)


def group(text: str) -> Group:
    return loaded(text).cells[0].groups[0]


def test_short_forms_are_spelt_out() -> None:
    options = group(PARAMS + FIND).options
    assert options["statements"] == {
        "find": {"sql": "SELECT * FROM t WHERE id = :uid AND n = :n", "weight": 1.0}
    }
    assert options["params"]["uid"]["theta"] == 0.99
    text = '  transactions: {buy: {steps: ["SELECT 1", {sql: "SELECT 2", repeat: 3}]}}\n'
    buy = group(text).options["transactions"]["buy"]
    assert buy == {"weight": 1.0, "steps": [{"sql": "SELECT 1"}, {"sql": "SELECT 2", "repeat": 3}]}


SUM = "  params: {a: {uniform: [1, 9]}, w: {const: 5}, b: {sum: [a, w]}}\n"


def test_sums_and_lists_are_taken_as_they_are() -> None:
    sql = "SELECT 1 FROM t WHERE id BETWEEN :a AND :b AND n IN (:w)"
    lists = '[{of: ":w", lengths: [1, 20], weights: [3, 1]}]'
    options = group(SUM + f'  statements: {{find: {{sql: "{sql}", lists: {lists}}}}}\n').options
    assert options["params"]["b"] == {"sum": ["a", "w"]}
    [one] = options["statements"]["find"]["lists"]
    assert one == {"of": ":w", "lengths": [1, 20], "weights": [3.0, 1.0]}
    # A term need not be named by a statement, but by a sum that is.
    assert group(SUM + '  statements: {find: "SELECT :b"}\n').options["params"].keys() == {*"abw"}


BRANCHES = """  transactions:
    move:
      steps:
        - one_of: ["SELECT 1", {sql: "SELECT 2", weight: 3, name: two}, {weight: 6}]
          repeat: 4
        - {choice: table, one_of: ["DELETE FROM a", "DELETE FROM b"]}
        - {choice: table, one_of: ["INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)"]}
"""


def test_a_step_may_be_one_of_several() -> None:
    of = group(BRANCHES)
    first, second, _ = of.options["transactions"]["move"]["steps"]
    assert first == {
        "one_of": [
            {"sql": "SELECT 1", "weight": 1.0},
            {"sql": "SELECT 2", "weight": 3.0, "name": "two"},
            {"weight": 6.0},
        ],
        "repeat": 4,
    }
    assert second["choice"] == "table"
    assert workloads.changes_data("mix", of.options)
    names = [name for _, name in mix.classes_of(mix.WORKLOAD.effective(of.options))]
    assert names == ["move_1_1", "two", "move_2_1", "move_2_2", "move_3_1", "move_3_2"]


def test_a_branch_is_found_again_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(HEAD + BRANCHES)
    for name, line in (("move_1_1", 8), ("two", 8), ("move_3_2", 11)):
        found = locate.named_in(f"statement `{name}` is wrong", file)
        assert found is not None and found.line == line, name


def test_branches_are_redacted_as_statements_are() -> None:
    text = HEAD + BRANCHES.replace("FROM b", "FROM payroll WHERE who = 'Zephyrine'")
    shown = redacted(Texts(Aliases()), text)
    assert "Zephyrine" not in shown and "payroll" not in shown and "one_of" in shown


WRONG = {
    "no branch": (
        "  transactions: {a: {steps: [{one_of: []}]}}\n",
        (5, "must have at least 1 entries", ""),
    ),
    "branches that send nothing": (
        '  transactions: {a: {steps: [{one_of: [{weight: 1}, {sql: "SELECT 1", weight: 0}]}]}}\n',
        (5, "it has no statement with a weight above 0", "give one of its branches `sql`"),
    ),
    "branch without a statement": (
        '  transactions: {a: {steps: [{one_of: ["SELECT 1", {repeat: 3}]}]}}\n',
        (5, "has `repeat`, but no `sql`", ""),
    ),
    "branches and a statement": (
        '  transactions: {a: {steps: [{one_of: ["SELECT 1"], sql: "SELECT 2"}]}}\n',
        (5, "there is no key `sql`", "known: "),
    ),
    "choice of other weights": (
        '  transactions: {a: {steps: [{one_of: ["SELECT 1"], choice: c}, {one_of: ["SELECT 1",'
        ' "SELECT 2"], choice: c}]}}\n',
        (5, "steps that share the choice `c` have other weights", "as many branches"),
    ),
    "too many in a row": (
        '  transactions: {a: {steps: [{one_of: [{sql: "SELECT 1", repeat: 200}], repeat: 51}]}}\n',
        (5, "it would send 10,200 statements in a row", "lower a `repeat`"),
    ),
    "branch without its parameter": (
        '  transactions: {a: {steps: [{one_of: ["SELECT 1", "SELECT :x"]}]}}\n',
        (5, "names a parameter `:x`, which is not declared", "declare it"),
    ),
    "sum of what is not there": (
        "  params: {b: {sum: [b2, w]}, w: {const: 1}}\n  statements: {s: 'SELECT :b'}\n",
        (5, "there is no parameter `b2`", "declare it next to `b`"),
    ),
    "sum of texts": (
        "  params: {b: {sum: [w, w]}, w: {text: x}}\n  statements: {s: 'SELECT :b'}\n",
        (5, "`w` does not make numbers, days or moments", "a sum is of a number"),
    ),
    "sum with a lifetime": (
        "  params: {b: {sum: [w, w], per: statement}, w: {const: 1}}\n" + FIND,
        (5, "no key `per`", ""),
    ),
    "list that is not there": (
        PARAMS + '  statements: {s: {sql: "SELECT :uid, :n", lists: [{of: ":u", lengths: [1]}]}}\n',
        (6, "`:u` does not occur exactly once", "as `sql` has it"),
    ),
    "list without values": (
        PARAMS
        + '  statements: {s: {sql: "SELECT :uid, :n", lists: [{of: "SELECT", lengths: [1]}]}}\n',
        (6, "there is no parameter in it", ""),
    ),
    "list of nothing": (
        PARAMS + '  statements: {s: {sql: "SELECT :uid, :n", lists: [{of: ":n", lengths: [0]}]}}\n',
        (6, "must be at least 1", ""),
    ),
    "unknown parameter": (
        PARAMS + '  statements: {find: "SELECT :uid, :n, :udi"}\n',
        (6, "parameter `:udi`, which is not declared", "did you mean `uid`?"),
    ),
    "parameter in a hint": (
        PARAMS + '  statements: {find: "SELECT /*+ MAX_EXECUTION_TIME(:n) */ :uid, :n"}\n',
        (6, "`:n` is in a comment that servers read", "write a value"),
    ),
    "unused parameter": (
        PARAMS + '  statements: {find: "SELECT :uid"}\n',
        (5, "`n` is declared, but no statement names `:n`", "remove it"),
    ),
    "nothing to send": ("  params: {}\n", (3, "neither `statements` nor", "write `statements:")),
    "no weight": (
        '  statements: {a: {sql: "SELECT 1", weight: 0}}\n',
        (5, "all weights are 0", "raise one"),
    ),
    "negative weight": (
        '  statements: {a: {sql: "SELECT 1", weight: -1}}\n',
        (5, "must be at least 0", ""),
    ),
    "unknown generator": (
        "  params: {uid: {zipfain: [1, 5]}}\n" + FIND,
        (5, "no key `zipfain` in `workload.params.uid`", "did you mean `zipfian`?"),
    ),
    "no generator": (
        "  params: {uid: {}}\n" + FIND,
        (5, "does not define its values", ""),
    ),
    "two generators": (
        "  params: {uid: {const: 1, sequence: 1}}\n" + FIND,
        (5, "can have one of `sequence` and `const`", ""),
    ),
    "range upside down": (
        "  params: {uid: {uniform: [9, 3]}}\n" + FIND,
        (5, "must be [lowest, highest], and 9 is above 3", ""),
    ),
    "range of one": (
        "  params: {uid: {uniform: [9]}}\n" + FIND,
        (5, "must have at least 2 entries", ""),
    ),
    "range of text": (
        "  params: {uid: {uniform: [a, b]}}\n" + FIND,
        (5, "must be a whole number, not `a`", ""),
    ),
    "theta": ("  params: {uid: {zipfian: [1, 9], theta: -1}}\n" + FIND, (5, "at least 0", "")),
    "theta elsewhere": (
        "  params: {uid: {uniform: [1, 9], theta: 1}}\n" + FIND,
        (5, "no key `theta` in `workload.params.uid`", "known: "),
    ),
    "weights and values": (
        "  params: {uid: {values: [a, b], weights: [1]}}\n" + FIND,
        (5, "as many `weights` (1) as `values` (2)", ""),
    ),
    "column": (
        "  params: {uid: {column: users}}\n" + FIND,
        (5, "must be `table.column`, not `users`", ""),
    ),
    "two frequencies of a column": (
        "  params: {uid: {column: t.c, by_rows: true, meets: 0.1}}\n" + FIND,
        (5, "can have one of `by_rows` and `meets`", ""),
    ),
    "no rows met": ("  params: {uid: {column: t.c, meets: 0}}\n" + FIND, (5, "above 0", "")),
    "day": (
        "  params: {uid: {dates: [2020-01-01, 2020-02-30]}}\n" + FIND,
        (5, "`2020-02-30` is none", ""),
    ),
    "expect": (
        '  statements: {a: {sql: "SELECT 1", expect: {rows: [3, 1]}}}\n',
        (5, "must be [least, most], and 3 is above 1", ""),
    ),
    "expect nothing": (
        '  statements: {a: {sql: "SELECT 1", expect: {}}}\n',
        (5, "must give `rows` or `affected`", ""),
    ),
    "repeat": (
        '  transactions: {a: {steps: [{sql: "SELECT 1", repeat: 0}]}}\n',
        (5, "must be at least 1", ""),
    ),
    "no steps": ("  transactions: {a: {steps: []}}\n", (5, "must have at least 1 entries", "")),
    "empty sql": ('  statements: {a: ""}\n', (5, "is empty", "")),
    "begin": (
        '  statements: {a: "BEGIN"}\n',
        (5, "`begin` cannot be a statement", "before and after the `steps`"),
    ),
    "own name": ('  statements: {commit: "SELECT 1"}\n', (5, "reserved by the engine", "")),
    "bad name": ('  statements: {a-b: "SELECT 1"}\n', (5, "`a-b` cannot be a name", "")),
    "same name": (
        '  statements: {a: "SELECT 1"}\n'
        '  transactions: {b: {steps: [{sql: "SELECT 2", name: a}]}}\n',
        (6, "two statements are called `a`", ""),
    ),
    "option of another workload": (
        '  statements: {a: "SELECT 1"}\n  rows: 5\n',
        (6, "no key `rows` in `workload`", "statements"),
    ),
    "unknown kind": ("  statements: {}\n".replace("statements", "statments"), (5, "statments", "")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_at_its_place(name: str) -> None:
    text, (line, what, fix) = WRONG[name]
    with pytest.raises(DynoError) as caught:
        loaded(text)
    error = caught.value
    assert what in error.what.replace("groups.workload", "workload"), str(error)
    assert fix in error.fix, str(error)
    assert error.where is not None
    assert error.where.line == line, str(error)


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(DynoError, match="cannot be `mixx`") as caught:
        load(HEAD.replace("kind: mix", "kind: mixx"))
    assert caught.value.fix.startswith("did you mean `mix`?")
    with pytest.raises(DynoError, match=r"workload\.kind` is missing"):
        load(HEAD.replace("kind: mix", "sessions: 2"))


def test_more_statements_than_are_prepared_are_refused() -> None:
    steps = ", ".join('"SELECT 1"' for _ in range(251))
    with pytest.raises(DynoError, match="251 different statements, and 250 is the most"):
        loaded(f"  transactions: {{a: {{steps: [{steps}]}}}}\n")


def test_classes_without_a_histogram_are_remarked() -> None:
    def remarks(count: int) -> tuple[str, ...]:
        listed = ", ".join(f's{n}: "SELECT {n}"' for n in range(count))
        options = group(f"  statements: {{{listed}}}\n").options
        return workloads.of("mix").remarks(options)

    assert remarks(64) == ()
    [said] = remarks(65)
    assert "65 classes" in said and "the latencies of 64" in said and "`other`" in said


def test_factors_reach_into_a_mix() -> None:
    text = PARAMS + FIND + "factors: {FACTOR: [1, 2]}\n"
    for path, keys in (
        ("workload.statements.find.weight", ("statements", "find", "weight")),
        ("params.n.sequence", ("params", "n", "sequence")),
        ("groups.workload.params.uid.theta", ("params", "uid", "theta")),
    ):
        found = []
        for cell in loaded(text.replace("FACTOR", path)).cells:
            value = cell.groups[0].options
            for key in keys:
                value = value[key]
            found.append(value)
        # What changes nothing (the weight of the only statement) is for the next test.
        assert found == [1, 2], path
    for path, what in (
        ("params.uid.theta.x", "`theta` has nothing below it"),
        ("params.uid.thteta", "there is no `thteta`"),
        ("statements.find.wieght", "there is no `wieght`"),
    ):
        with pytest.raises(DynoError, match=what):
            loaded(text.replace("FACTOR", path))


def test_overrides_reach_into_a_mix_and_its_text() -> None:
    changed = loaded(PARAMS + FIND, "params.uid.theta=0.5", "statements.find.weight=7")
    for each in (changed, load(changed.text)):
        options = each.cells[0].groups[0].options
        assert options["params"]["uid"]["theta"] == 0.5
        assert options["statements"]["find"]["weight"] == 7.0
        assert options["statements"]["find"]["sql"].startswith("SELECT * FROM t")


def test_a_mix_changes_data_as_its_statements_say() -> None:
    def changes(sql: str, **more: object) -> bool:
        return workloads.changes_data("mix", {"statements": {"a": {"sql": sql, **more}}})

    assert not changes("SELECT 1")
    assert not changes("  -- why\n (SELECT a FROM t FOR UPDATE)")
    assert not changes("WITH x AS (SELECT 'insert' AS i) SELECT * FROM x")
    assert changes("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x")
    assert changes("UPDATE t SET a = 1")
    assert not changes("UPDATE t SET a = 1", weight=0.0)
    assert changes("SELECT f()", reads=False)
    assert not changes("CALL only_reads()", reads=True)
    assert workloads.data_options("mix", {}) is None


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT :a, :b_2 WHERE x = :a", ["a", "b_2"]),
        ("SELECT ':a', \":b\", `:c`, 'it''s :d', 'it\\'s :e', :f", ["f"]),
        ("SELECT 1::int, '12:30', x := 5 -- :a\n, /* :b */ :c", ["c"]),
        ("SELECT $$ :a $$, $x$ :b $x$, :c", ["c"]),
    ],
)
def test_parameters_stand_outside_quotes_and_comments(sql: str, names: list[str]) -> None:
    assert sqltext.parameters(sql) == names


@pytest.mark.parametrize(
    ("sql", "parts", "reads"),
    [
        ("SELECT 1", 1, True),
        ("SELECT ';' AS \"a;b\", `c;` -- d;\n, /* e; */ 1 ; -- over", 1, True),
        ("SELECT 1; SELECT 2", 2, True),
        ("SELECT 1; DELETE FROM t", 2, False),
        ("BEGIN; UPDATE t SET a = 1; COMMIT", 3, False),
        (";;", 0, False),
    ],
)
def test_a_string_reads_if_all_its_statements_do(sql: str, parts: int, reads: bool) -> None:
    assert len(sqltext.statements(sql)) == parts
    assert sqltext.reads(sql) == reads
