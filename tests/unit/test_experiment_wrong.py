"""Wrong experiment files: errors with places."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_experiment_load import ONE, TWO, failure, load

from dbdyno.errors import DynoError

# --- what is wrong, and where -------------------------------------------------------------------

WRONG = {
    "unknown key": (ONE + "¶blokcs: 3\n", "no key `blokcs`", "`blocks`"),
    "unknown target key": (
        ONE.replace("{kind: mariadb}", "{kind: mariadb, ¶durabilty: full}"),
        "no key `durabilty` in `targets.db`",
        "`durability`",
    ),
    "unknown option": (
        ONE.replace("preset: read_only", "¶point_select: 3"),
        "no key `point_select`",
        "`point_selects`",
    ),
    "unknown kind": (ONE.replace("mariadb", "¶mariabd"), "cannot be `mariabd`", "`mariadb`"),
    "unknown preset": (ONE.replace("read_only", "¶readonly"), "`readonly`", "`read_only`"),
    "unknown workload": (ONE.replace("oltp", "¶oltpp"), "`oltpp`", "`oltp`"),
    "missing kind": (
        ONE.replace("¶", "").replace("db: {kind: mariadb}", "¶db: {}"),
        "kind",
        "sqlite",
    ),
    "missing name": ("¶" + ONE.removeprefix("experiment: demo\n"), "`experiment` is missing", ""),
    "bad name": (ONE.replace("demo", "¶Demo!"), "`experiment` cannot be `Demo!`", "query-cache"),
    "long name": (
        ONE.replace("demo", "¶" + "d" * 100_000),
        "`experiment` cannot be",
        "at most 100",
    ),
    "long key": (ONE + "¶" + "k" * 500 + ": 1\n", "has 500 characters", "short name"),
    "long target": (
        TWO.replace("readers:", "¶" + "r" * 65 + ":"),
        "cannot be a name",
        "at most 64",
    ),
    "no targets": ("¶experiment: x\nworkload: {kind: oltp}\n", "`targets` is missing", ""),
    "no groups": ("¶experiment: x\ntargets: {a: {kind: sqlite}}\n", "`workload` or `groups`", ""),
    "both forms": (TWO + "¶workload: {kind: oltp}\n", "both", ""),
    "wrong type": (ONE + "blocks: ¶many\n", "a whole number, not `many`", ""),
    "blocks twice": (
        ONE + "blocks: 3\n¶trials: {max: 9, until: decided}\nclaims: [tps > 1]\n",
        "`blocks` and `trials` both set",
        "keep `blocks: 6`",
    ),
    "looks after the end": (
        ONE + "trials: {min: ¶9, max: 8, until: decided}\nclaims: [tps > 1]\n",
        "`min` (9) is more than `max` (8)",
        "raise `max`",
    ),
    "looks too early": (ONE + "trials: {min: ¶3, max: 8, until: decided}\n", "at least 4", ""),
    "looks without end": (ONE + "¶trials: {until: decided}\n", "`trials.max` is missing", ""),
    "looks without an aim": (ONE + "¶trials: {max: 8}\n", "`trials.until` is missing", ""),
    "misspelt aim": (ONE + "trials: {max: 8, until: ¶decidde}\n", "decidde", "decided"),
    "misspelt key of looks": (ONE + "trials: {max: 8, ¶mni: 4, until: decided}\n", "mni", "`min`"),
    "nothing to decide": (
        ONE + "¶trials: {max: 8, until: decided}\n",
        "the experiment has none",
        "add claims",
    ),
    "fraction of a block": (ONE + "blocks: ¶2.5\n", "a whole number", ""),
    "no blocks": (ONE + "blocks: ¶0\n", "at least 1", ""),
    "no duration": (ONE + "duration: ¶0s\n", "longer than nothing", ""),
    "negative duration": (ONE + "duration: ¶-5s\n", "must be a duration", ""),
    "duration without unit": (ONE + "duration: ¶30\n", "such as 30s", ""),
    "rate without unit": (ONE.replace("read_only", "read_only, rate: ¶66"), "66/s", ""),
    "interval too long": (
        ONE + "duration: 2s\ninterval: ¶3s\n",
        "`interval` 3 s is longer than `duration`",
        "",
    ),
    "interval too short": (
        ONE + "duration: 2s\ninterval: ¶50ms\n",
        "`interval` 0.05 s is not between",
        "interval: 1s",
    ),
    "negative rows": (ONE.replace("read_only", "read_only, rows: ¶-1"), "at least 1", ""),
    "sessions as text": (ONE.replace("read_only", "read_only, sessions: ¶few"), "whole number", ""),
    "list for a mapping": (ONE.replace("{kind: mariadb}", "¶[1]"), "a mapping, not a list", ""),
    "boolean as text": (ONE.replace("read_only", "read_only, skip_trx: ¶on"), "true or false", ""),
    "duplicate key": (ONE + "blocks: 2\n¶blocks: 3\n", "occurs twice", ""),
    "duplicate level": (
        ONE + "factors:\n  f:\n    on: {sessions: 1}\n    ¶on: {sessions: 2}\n",
        "occurs twice in one mapping",
        "",
    ),
    "no YAML": (ONE + "blocks: ]¶\n".replace("]¶", "¶]"), "not YAML", ""),
    "no mapping": ("¶- a\n- b\n", "a mapping", ""),
    "a tag": (ONE + "question: ¶!!python/object x\n", "tags", ""),
    "group without target": (
        ONE.replace("db: {kind: mariadb}", "db: {kind: mariadb}\n  pg: {kind: postgres}").replace(
            "workload:", "¶workload:"
        ),
        "name its target",
        "db, pg",
    ),
    "group with a wrong target": (
        ONE.replace("kind: oltp", "kind: oltp, target: ¶dbb"),
        "no such target",
        "`db`",
    ),
    "unused target": (
        ONE.replace("db: {kind: mariadb}", "db: {kind: mariadb}\n  ¶pg: {kind: postgres}").replace(
            "kind: oltp", "kind: oltp, target: db"
        ),
        "no group is sent to target `pg`",
        "",
    ),
    "target called as a key": (ONE.replace("db:", "¶blocks:"), "nothing can be called", ""),
    "target called as a group": (TWO.replace("  readers:", "  ¶db:"), "both called `db`", ""),
    "group with a bad name": (TWO.replace("readers:", "¶1st.group:"), "cannot be a name", ""),
    "one level": (ONE + "factors:\n  ¶sessions: [1]\n", "has 1 level", "two levels"),
    "no level": (ONE + "factors:\n  ¶sessions: []\n", "has no levels", ""),
    "no named level": (ONE + "factors:\n  ¶f: {}\n", "has no levels", ""),
    "factor that is no factor": (ONE + "factors:\n  f: ¶3\n", "a list of values", ""),
    "path that leads nowhere": (
        TWO + "factors:\n  ¶readers.sesions: [1, 2]\n",
        "does not exist: there is no `sesions`",
        "`sessions`",
    ),
    "root that leads nowhere": (
        TWO + "factors:\n  ¶reader.sessions: [1, 2]\n",
        "`reader.sessions` does not exist",
        "`readers.sessions`",
    ),
    "bare key with two groups": (
        TWO + "factors:\n  ¶sessions: [1, 2]\n",
        "`sessions` does not exist",
        "sessions`",
    ),
    "path too deep": (ONE + "factors:\n  ¶db.kind.x: [1, 2]\n", "nothing below it", ""),
    "patch that leads nowhere": (
        ONE + "factors:\n  f:\n    a: {¶dbb.config.x: 1}\n    b: {}\n",
        "`dbb.config.x` does not exist",
        "`db.config",
    ),
    "set that leads nowhere": (
        ONE + "factors: {f: {set: [db.config.x, ¶nowhere], levels: [1, 2]}}\n",
        "`nowhere` does not exist",
        "",
    ),
    "level that patches a constant": (
        ONE + "factors:\n  ¶blocks: [1, 2]\n",
        "`blocks` applies to all cells",
        "--set",
    ),
    "level that patches the state": (
        ONE + "factors:\n  f: {a: {¶state: {cache: cold}}, b: {}}\n",
        "applies to all cells",
        "",
    ),
    "level that is no patch": (ONE + "factors: {f: {a: ¶3, b: {}}}\n", "must be a patch", ""),
    "level with a bad name": (ONE + 'factors: {db.config.x: [¶"a,b", c]}\n', "name of a level", ""),
    "level that repeats": (ONE + "factors: {sessions: [1, ¶1]}\n", "is given twice", ""),
    "wrong value in a level": (
        ONE + "factors: {sessions: [1, ¶few]}\n",
        "in cell sessions=few",
        "",
    ),
    "wrong value in a patch": (
        ONE + "factors: {f: {a: {db.durability: ¶fulll}, b: {db.durability: none}}}\n",
        "`fulll`",
        "`full`",
    ),
    "wrong key in a patch": (
        ONE + "factors: {f: {a: {db: {¶durabilty: full}}, b: {}}}\n",
        "no key `durabilty`",
        "`durability`",
    ),
    "two levels alike": (
        ONE + "factors:\n  f:\n    a: {db.config.x: 1}\n    ¶b: {db.config.x: 1}\n",
        "level `b` of factor `f` changes nothing",
        "",
    ),
    "a level that sets the default": (
        ONE + "factors:\n  f:\n    a: {}\n    ¶b: {workload.range_size: 100}\n",
        "changes nothing",
        "",
    ),
    "a level that nothing looks at": (
        ONE.replace("read_only", "point_select") + "factors:\n  workload.range_size: [10, ¶100]\n",
        "changes nothing",
        "",
    ),
    "a level that spells out the preset": (
        ONE + "factors:\n  f: {a: {}, ¶b: {workload.point_selects: 10}}\n",
        "changes nothing",
        "",
    ),
    "two factors for one path": (
        ONE + "factors:\n  sessions: [1, 2]\n  f: {¶a: {sessions: 3}, b: {sessions: 4}}\n",
        "both set `groups.workload.sessions`",
        "",
    ),
    "id range beyond the rows": (
        ONE.replace("read_only", "read_only, rows: 100, id_range: ¶101"),
        "`id_range` 101 is more than `rows` 100",
        "",
    ),
    "nothing to send": (
        ONE.replace("preset: read_only", "preset: point_select, point_selects: ¶0"),
        "nothing would be sent",
        "",
    ),
    "parameter of another distribution": (
        ONE.replace("read_only", "read_only, zipfian_theta: ¶0.9"),
        "belongs to `distribution: zipfian`",
        "",
    ),
    "groups that disagree on shared tables": (
        TWO.replace("preset: update_index", "preset: update_index, rows: ¶5"),
        "share the tables of `db`",
        "id_range",
    ),
    "cpus of one side": (ONE + "cpus: ¶{generator: [0]}\n", "one side only", ""),
    "cpus of both sides": (ONE + "cpus: ¶{generator: [0], servers: [0]}\n", "CPU 0", ""),
    "too many cells": (
        ONE
        + f"factors: ¶{{sessions: {list(range(1, 101))}, workload.rows: {list(range(1, 101))}}}\n",
        "10000 cells",
        "",
    ),
    "condition on a wrong metric": (
        ONE + "require:\n  - ¶statsu.x <= 1\n",
        "no metric is called `statsu.x`",
        "status.NAME",
    ),
    "condition on two metrics": (ONE + "require:\n  - ¶tps > qps\n", "not a condition", ""),
    "claim that is no text": (
        ONE + "claims:\n  - ¶{a: b}\n",
        "`claims.0.claim` is missing",
        "add `claim:`",
    ),
    "claim twice": (ONE + "claims:\n  - tps > 1\n  - ¶tps > 1\n", "is given twice", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_with_a_place(name: str) -> None:
    text, what, fix = WRONG[name]
    assert "¶" in text
    error = failure(text)
    assert what in error.what, str(error)
    assert fix in error.fix, str(error)


FACTORS = """\
factors:
  cache: {on: {db.config.x: 1}, off: {db.config.x: 0}}
  mode: {slow: {db.config.y: 1}, fast: {db.config.y: 0}}
  readers.sessions: [1, 4, 16]
"""

WRONG_CLAIMS = {
    "¶readers.tpss[on] > 1 at slow, sessions=1": ("no metric", "`readers.tps`"),
    "¶reader.tps[on] > 1 at slow, sessions=1": ("no metric", "`readers.tps`"),
    "¶tps[on] > tps[off] at slow, sessions=1": ("name its group", "`readers.tps`"),
    "readers.tps[¶of] > 1 at slow, sessions=1": ("no factor has a level `of`", "`off`"),
    "readers.tps[cache=¶onn] > 1": ("has no level `onn`", "`on`"),
    "readers.tps[on] > 1 at each ¶sesions": ("no factor `sesions`", "readers.sessions"),
    "¶readers.tps[on] > 1 at slow": ("leaves `readers.sessions` open", "at each"),
    "¶readers.tps[on] > readers.tps[on] at slow, 4": ("the same metric of the same cell", ""),
    "¶peak(readers.tps, cache)[slow] > 1 at 4": ("`peak` needs numbers", "readers.sessions"),
    "¶peak(readers.tps, sessions)[on] > 1 at slow, 4": ("compares all levels", ""),
    "¶readers.response_ms_p95[on] < 5 at slow, 4": ("closed loop", "service_ms_p95"),
    "readers.tps[on] > 1 at sessions=¶5, slow": ("no level `5`", "1, 4, 16"),
    "readers.tps[on] > 1 at slow, 4, ¶fast": ("given twice", ""),
    "readers.tps[on] > 1 at 4, slow, each ¶sessions": ("fixed by `at`", ""),
    "readers.tps[on] > 1 at each mode, each ¶mode": ("twice after `each`", ""),
    "readers.tps[on] ~= readers.tps[off] at slow, 4¶": ("needs a margin", "within 3%"),
    "readers.tps[on] ¶== readers.tps[off]": ("not a comparison", "~="),
    "readers.tps[on] ~= readers.tps[off] within ¶3 at slow": ("needs a percentage", "3%"),
    "readers.tps[on] ~= readers.tps[off] within ¶0% at slow": ("cannot be meant", "above 0 %"),
    "readers.tps[on] ~= readers.tps[off] within ¶101%": ("cannot be meant", "at most 100 %"),
    "readers.tps[on] ~= 5 within 3% at slow within ¶3%": ("`within` is given twice", ""),
    "readers.tps[on] >= readers.tps[off] within ¶3%": ("belongs to `~=`", "remove it"),
    "¶readers.tps[on] ~= 0 within 3% at slow, 4": ("nothing but zero equals zero", "<="),
    "¶peak(readers.tps, sessions)[on] ~= 4 within 3%": ("a peak comes in steps", "<= 4"),
    "readers.tps[on] ¶!= 3": ("not a comparison", ">="),
    "readers.tps[on]¶": ("the claim ends", ">="),
    "readers.tps[on] > ¶20kg at slow": ("not a number of claims", "5ms"),
    "readers.tps[on] > ¶20ms at slow, 4": (
        "`20ms` is a time, and `readers.tps[on]` is a second",
        "",
    ),
    "readers.p95[on] < ¶20/s at slow, 4": ("`20/s` is a rate, and", "in the metric's own"),
    "readers.p95[on] < ¶2x at slow, 4": ("`2x` is a ratio", "needs a second quantity"),
    "readers.p95[on] < 5ms ¶readers.p95[off]": ("is unexpected", ""),
    "readers.p95[on] < ¶5ms * readers.p95[off] at slow, 4": ("compared by their ratio", "1.5x"),
    "readers.tps[on] > 2 / ¶3ms at slow": ("can only stand for itself", ""),
    "peak(readers.tps, sessions)[on] <= ¶4ms": ("is a time", ""),
    "readers.tps[on] > 3 ¶please": ("is unexpected", ""),
    "readers.tps[on > 3¶": ("`]` is expected here", ""),
    "¶3 > 4": ("names no metric", ""),
    "¶readers.tps / readers.qps > writer.tps": ("3 quantities", ""),
    "readers.tps / ¶0 > 1": ("divide by zero", ""),
    "¶0 * readers.tps > 1": ("times zero", ""),
}


@pytest.mark.parametrize("claim", WRONG_CLAIMS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_wrong_claims_are_refused_with_a_place(claim: str, quote: str) -> None:
    what, fix = WRONG_CLAIMS[claim]
    text = TWO + FACTORS + f"claims:\n  - {quote}{claim}{quote}\n"
    error = failure(text)
    assert what in error.what, str(error)
    assert fix in error.fix, str(error)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"experiment: x\nquestion: \xff\xfe\n")
    with pytest.raises(DynoError, match="UTF-8") as caught:
        load(path)
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("# nothing\n")
    with pytest.raises(DynoError, match="empty"):
        load(path)


def test_the_file_is_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(ONE + "blocks: 0\n")
    with pytest.raises(DynoError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:5:9: ")


def test_aliases_cannot_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "multiply" in failure("\n".join(lines) + "\n").cause
    assert "contain themselves" in failure("a: &a [*a]\nb: 1\n").cause
