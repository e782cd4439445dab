"""What `dyno check` prints: found, known, ignored and not known, character by character."""

from __future__ import annotations

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from test_report_golden import Plain

from dbdyno.cli.checking import findings
from dbdyno.report.check import page
from dbdyno.rules.check import judging
from dbdyno.rules.check.judging import Judged
from dbdyno.rules.check.packs import RULES
from fixtures.rules.configuration import GIB, cached, mariadb, postgres
from fixtures.rules.platform import holders

NAMES = ("mysql-memory-budget", "postgres-memory-budget", "mysql-query-cache-*",
         "mysql-datadir-two-processes")  # fmt: skip


@pytest.fixture
def judged() -> Judged:
    """Of each sort one: found, known, ignored, not known, and hostile text."""
    subjects = [
        mariadb({"innodb_buffer_pool_size": 20 * GIB}),
        replace(cached(hits=50, inserts=950), subject="db2:3306"),
        postgres({"shared_buffers": 20 * GIB}),
        holders("mysqld", "<b>\x1b[31m|mysqld"),
    ]
    first = judging.judge(subjects, RULES, only=NAMES)
    known = {judging.fingerprint(one) for one in first.findings if one.rule.startswith("postgres")}
    ignored = {"mysql-query-cache-verdict": "to be measured on Monday"}
    return judging.judge(subjects, RULES, only=NAMES, baseline=known, ignore=ignored)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_findings(form: str, judged: Judged, snapshot: SnapshotAssertion) -> None:
    assert findings.drawn(judged, form, 100) == snapshot.use_extension(Plain)


def test_page(judged: Judged, snapshot: SnapshotAssertion) -> None:
    drawn = page.page(judged)
    assert drawn[drawn.index("<body>") :] == snapshot.use_extension(Plain)
