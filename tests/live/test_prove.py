"""`dyno prove` on real servers: what helps is shown, what does not is not, what changes results is
refused, and nothing is left."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest
import servers_there
from private_servers import binaries
from running import Place

from dbdyno.experiment import load

pytestmark = pytest.mark.live

SHOP = """\
experiment: shop
targets:
  db:
    kind: {kind}
    durability: none
    memory: 64Mi
    setup:
      tables:
        orders:
          rows: 20000
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            customer_id: {{type: int, uniform: [1, 1500]}}
            created: {{type: date, dates: [2015-01-01, 2024-12-31]}}
            filler: {{type: char(60), text: "**********-**********"}}
workload:
  kind: mix
  params:
    customer: {{uniform: [1, 1500]}}
    id: {{uniform: [1, 20000]}}
    year: {{uniform: [2015, 2024]}}
    new: {{sequence: 1000001}}
  statements:
    by_customer: {{sql: "SELECT id, created FROM orders WHERE customer_id = :customer", weight: 4}}
    by_id: {{sql: "SELECT created FROM orders WHERE id = :id", weight: 4}}
    by_year: {{sql: "SELECT COUNT(*) FROM orders WHERE {year} = :year", weight: 0.01}}
    add: {{sql: "INSERT INTO orders VALUES (:new, :customer, '2024-05-05', 'x')", weight: 1}}
"""
YEAR = {
    "mariadb": "YEAR(created)",
    "mysql": "YEAR(created)",
    "postgres": "EXTRACT(YEAR FROM created)",
}
RANGE = {
    "mariadb": "created >= MAKEDATE(:year, 1) AND created < MAKEDATE(:year + 1, 1)",
    "postgres": "created >= make_date(:year, 1, 1) AND created < make_date(:year + 1, 1, 1)",
}
KINDS = ("mariadb", "postgres")


def shop(there: Place, kind: str) -> None:
    binaries(kind)  # skips where it is not installed
    (there.path / "shop.yaml").write_text(SHOP.format(kind=kind, year=YEAR[kind]))


def proved(there: Place, *words: str) -> dict[str, Any]:
    done = there.dyno("prove", "--workload", "shop.yaml", *words, "--dir", "out", "--json", "-q")
    assert done.returncode in (0, 1), (done.stdout, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["verdict"] == "SHOWN") == (done.returncode == 0)
    return found


def of_the_mix(candidate: dict[str, Any]) -> dict[str, Any]:
    """The effect on the whole mix."""
    whole: dict[str, Any]
    (whole,) = (one for one in candidate["effects"] if one["of"] == "whole")
    assert candidate["shown"] == (whole["verdict"] == "supported")
    return whole


def faster(candidate: dict[str, Any]) -> bool:
    """Whether the whole mix is, by far; a busy machine may leave that undecided."""
    whole = of_the_mix(candidate)
    return whole["verdict"] != "refuted" and whole["speed"] > 1.5


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
def test_an_index_that_serves_is_faster_than_a_useless_one(kind: str, there: Place) -> None:
    shop(there, kind)
    found = proved(
        *(there, "--index", "orders (customer_id)", "--index", "orders (filler)"),
        *("--time", "10s", "--blocks", "3"),
    )
    served, useless = found["candidates"]
    assert faster(served), served
    # Of equal things one in twenty has a verdict: no test of a single run can refuse it.
    assert of_the_mix(useless)["speed"] < of_the_mix(served)["speed"], useless
    classes = {one["class"]: one for one in served["effects"] if one["of"] == "class"}
    assert list(classes) == ["workload/by_customer"]
    assert not [one for one in useless["effects"] if one["of"] == "class"]
    assert 0 < served["bytes"] < useless["bytes"]
    assert served["results_compared"] >= 3
    report = (there.path / "out" / "report.md").read_text()
    assert "the whole mix is faster with index (customer\\_id) on orders" in report
    assert "is used by the plans of by\\_customer" in report
    again = there.dyno("run", found["experiment"], "--check")
    assert again.returncode == 0, again.stderr
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_rewrite_that_changes_results_is_refused(kind: str, there: Place) -> None:
    shop(there, kind)
    text = f"SELECT COUNT(*) FROM orders WHERE {RANGE[kind]} AND id > 1000"
    (there.path / "wrong.sql").write_text(text)
    words = ("--rewrite", "by_year", "wrong.sql", "--time", "5s")
    done = there.dyno("prove", "--workload", "shop.yaml", *words)
    assert done.returncode == 2, done.stdout
    assert "results are not those of today" in done.stderr
    assert "correct the statement" in done.stderr
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_the_missing_index_is_found_and_confirmed(kind: str, there: Place) -> None:
    shop(there, kind)
    found = proved(there, "--time", "10s", "--blocks", "3", "--most", "1")
    (measured,) = found["measured"]
    assert "customer_id" in measured["statements"][0]
    assert measured["saves_by_planner"] > 0.3
    assert (there.path / "out-1" / "report.html").is_file()
    for one in found["candidates"]:  # none where a busy machine left the first run undecided
        forms = [measured, *filter(None, [measured["narrower"]])]
        assert one["statements"] in [form["statements"] for form in forms]
        assert faster(one), one
    assert there.until_clean() == []


SBTEST = """\
experiment: sbtest
targets: {db: {}}
workload:
  kind: mix
  params: {k: {uniform: [1, 500]}}
  statements:
    by_k: "SELECT c FROM sbtest1 WHERE k = :k"
    by_view: "SELECT c FROM seen WHERE k = :k"
"""


def test_a_server_is_copied_and_never_changed(there: Place) -> None:
    (there.path / "sbtest.yaml").write_text(SBTEST)
    there.environment["PROVE_PASSWORD"] = servers_there.PASSWORD
    with servers_there.there("mariadb") as server:
        server.grant(*server.read_only(), "SHOW VIEW ON shop.* TO app@'127.0.0.1'")
        server.sql("CREATE VIEW shop.seen AS SELECT c, k FROM shop.sbtest1")
        schemas = server.schemas()
        done = there.dyno(
            *("prove", "--workload", "sbtest.yaml", "--index", "sbtest1 (k)", "--on", server.url),
            *("--password-env", "PROVE_PASSWORD", "--time", "5s", "--blocks", "1"),
            *("--dir", "out", "--copy", "sample", "--rows", "100", "-q"),
        )
        assert done.returncode == 1, done.stderr  # one block shows nothing
        assert "NOT SHOWN" in done.stdout
        assert server.schemas() == schemas
    found = load(there.path / "out.yaml").cells[1].targets[0]
    assert (found.kind, found.url) == ("mariadb", None)
    assert found.setup is not None
    assert found.setup.after[-1] == "CREATE INDEX sbtest1_k ON sbtest1 (k)"
    assert "VIEW `seen` AS select " in found.setup.after[-2]
    kept = [path for path in there.path.rglob("*") if path.is_file()]
    assert not [path for path in kept if servers_there.PASSWORD.encode() in path.read_bytes()]
    assert there.until_clean() == []


def test_ctrl_c_leaves_nothing(there: Place) -> None:
    shop(there, "mariadb")
    process = there.start(
        *("prove", "--workload", "shop.yaml", "--index", "orders (customer_id)", "--dir", "out")
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "examining" in line:
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 3, out
    assert "Traceback" not in out
    assert there.until_clean() == []
