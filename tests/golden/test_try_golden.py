"""The experiments that `dyno try` writes, and what it answers, compared with golden files."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from test_digest_golden import CONTROL
from test_report_golden import Plain

from dbdyno.cli.trying import experiment, sent, servers
from dbdyno.cli.trying.experiment import Try
from dbdyno.cli.trying.timing import Times
from dbdyno.experiment import load
from fixtures.printed import printed
from fixtures.reports import report

TIMES = Times(6, 0.9, 2.7, 0.2, 90.0, fits=True)
FILE = Path("runs/try.yaml")
MOVE = """
-- two statements that commit together
BEGIN;
UPDATE t SET n = n - 1
  WHERE id = :id;
SELECT n FROM t WHERE id = :id;
COMMIT;
"""


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Plain)


def made(words: list[str], on: list[str], sessions: tuple[int, ...] = (1,), **more: object) -> Try:
    ranges = ["id=1..1000"] if any(":id" in word for word in words) else []
    sending = sent.read(words, ranges)
    asked = {"options": {}, **more}
    command = f"dyno try {' '.join(words)!r}"
    return Try("try-it", command, sending, servers.read(on), sessions, **asked)  # type: ignore[arg-type]


CASES = {
    "one-statement": made(["SELECT 1"], ["sqlite"]),
    "two-versions": made(["SELECT 1"], ["mariadb=10.11", "mariadb=11.8"]),
    "kinds-and-sessions": made(
        ["oltp"], ["mariadb", "postgres"], (1, 8, 64), options={"rows": 500}
    ),
    "two-statements": made(
        ["SELECT n FROM t WHERE id = :id", MOVE], ["sqlite"], setup="schema.sql"
    ),
    "presets": made(["kv=a", "kv=b"], ["redis"]),
    "files": made(["io=random_write"], ["files"], (1, 4)),
    "reading-a-schema": made(
        ["SELECT 1"], ["mysql://app@db1/shop", "mariadb", "postgres://app@db2/shop"]
    ),
    "writing-to-a-schema": made(["DELETE FROM t"], ["mysql://app@db1/shop"], write_to=("shop",)),
}


@pytest.mark.parametrize("name", CASES)
def test_an_experiment(golden: SnapshotAssertion, name: str, tmp_path: Path) -> None:
    text = experiment.text(CASES[name], FILE, TIMES, 100.0)
    assert text == golden
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id INT, n INT);")
    loaded = load(text, file=tmp_path / "try.yaml")
    asked = CASES[name]
    variants = len(asked.servers) * len(asked.sent.variants) * len(asked.sessions)
    assert len(loaded.cells) == variants


@pytest.mark.parametrize("name", [name for name in CASES if "schema" not in name])
def test_the_claim_in_its_comment_can_be_judged(name: str, tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id INT, n INT);")
    text = experiment.text(CASES[name], FILE, TIMES, None).replace("# claims:", "claims:")
    assert len(load(text, file=tmp_path / "try.yaml").claims) == 1


@pytest.mark.parametrize("name", ["engines", "hostile"])
def test_an_answer(golden: SnapshotAssertion, name: str) -> None:
    text = printed(report(name).short(), width=100)
    assert not CONTROL.search(text)
    assert text == golden
