"""Parameters that several places of a log's workload share: keys, what holds, what is numbered."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML

from dbdyno.digest import document
from dbdyno.digest.workload import experiment, profile
from fixtures.shapes import Made, unit, whole

ONE = {"count": 1000, "values": [1.0], "shares": [1.0]}


def written(made: Made) -> dict[str, Any]:
    typed, shaped = document.parse(made.document()), profile.parse(made.shape())
    return YAML(typ="safe").load(experiment.made(typed, shaped, accepts_censored=False).text)


def test_places_that_held_the_same_value_share_one_in_their_transaction() -> None:
    made = Made()
    new = made.says("INSERT INTO o (id) VALUES (:p1)", whole(1, 90, is_sequence=True), table="o")
    line = made.says(
        "INSERT INTO l (o, n) VALUES (:p1, :p2)", whole(1, 90), whole(1, 9), table="l", calls=3000
    )
    made.units = [unit(900, new, (line, 3), transaction=True), unit(100, new), unit(300, line)]
    made.ties = [{"statement": line, "place": 1, "earlier": new, "earlier_place": 1}]
    group = written(made)["groups"]["app"]
    steps = [step["sql"] for step in group["transactions"]["insert_o_then_insert_l"]["steps"]]
    assert steps == [
        "INSERT INTO o (id) VALUES (:o_id)",
        "INSERT INTO l (o, n) VALUES (:o_id, :l_n)",
    ]
    assert group["params"]["o_id"] == {"sequence": 91, "per": "transaction"}
    assert group["statements"]["insert_o"]["sql"] == "INSERT INTO o (id) VALUES (:o_id)"
    assert group["statements"]["insert_l"]["sql"] == "INSERT INTO l (o, n) VALUES (:l_o, :l_n)"
    made.units = [unit(10, (new, 2), line, transaction=True), unit(10, line, new, transaction=True)]
    params = written(made)["groups"]["app"]["params"]
    assert [name for name, each in params.items() if each["per"] == "transaction"] == ["o_id_2"]
    assert params["o_id_2"]["sequence"] == params["o_id"]["sequence"] + 10_000_000
    assert params["l_o"]["per"] == "statement"


def test_an_order_and_its_lines_have_one_key_and_lines_are_numbered() -> None:
    made = Made()
    keys, numbers = whole(1, 90, is_sequence=True), whole(1, 5)
    line = made.says("INSERT INTO l VALUES (:p1, :p2)", keys, numbers, table="l", calls=3000)
    one_row = {"place": 1, "places": 2, "element": "(:p1, :p2)", "lengths": ONE}
    made.statements[line]["lists"] = [one_row]
    pick = made.says(
        "UPDATE l SET n = 0 WHERE o = :p1 AND k = :p2", whole(1, 90), numbers, table="l"
    )
    done = made.says("UPDATE o SET z = 1 WHERE id = :p1", whole(1, 90), table="o")
    made.units = [
        unit(900, (line, 3), (pick, 3), done, transaction=True),
        unit(100, line),
    ]
    made.ties = [
        {"statement": line, "place": 1, "earlier": line, "earlier_place": 1},
        {"statement": pick, "place": 1, "earlier": pick, "earlier_place": 1},
        {"statement": pick, "place": 1, "earlier": line, "earlier_place": 1},
        {"statement": done, "place": 1, "earlier": pick, "earlier_place": 1},
    ]
    made.counters = [{"statement": one, "place": 2, "first": 1} for one in (line, pick)]
    group = written(made)["groups"]["app"]
    [steps] = [[step["sql"] for step in one["steps"]] for one in group["transactions"].values()]
    assert steps == [
        "INSERT INTO l VALUES (:l_column_1, :l_column_2_2)",
        "UPDATE l SET n = 0 WHERE o = :l_column_1 AND k = :l_k",
        "UPDATE o SET z = 1 WHERE id = :l_column_1",
    ]
    assert group["params"] == {
        "l_column_1": {"sequence": 91, "per": "transaction"},
        "l_column_2": {"uniform": [1, 5], "per": "statement"},
        "l_column_2_2": {"sequence": 1, "per": "repetition"},
        "l_k": {"sequence": 1, "per": "repetition"},
    }
    assert group["statements"]["insert_l"]["sql"].endswith("(:l_column_1, :l_column_2)")


def test_keys_that_are_asked_for_and_changed_in_turn_have_one_range() -> None:
    made = Made()
    read = made.says("SELECT a FROM t WHERE id = :p1", whole(2, 90))
    change = made.says("UPDATE t SET a = 1 WHERE id = :p1", whole(1, 95, is_sequence=True))
    made.units = [unit(100, read), unit(100, change)]
    [param] = written(made)["groups"]["app"]["params"].values()
    assert param == {"uniform": [1, 95], "per": "statement"}
