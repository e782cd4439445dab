"""Settings and statements found again in the file, for errors that servers report."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.experiment.file import locate

TEXT = """\
targets:
  db: {kind: mariadb, config: {innodb-flush_method: O_DIRECT, port: 1}}
factors:
  log:
    one: {db.config: {sync_binlog: 1}}
    two: {db.config.sync_binlog: 2}
    three: {db: {config: {sync_binlog: 3}}}
  port: [1, 2]
groups:
  readers:
    kind: mix
    statements: {look: SELEC 1, find: {weight: 2, sql: SELECT 2}}
    transactions:
      buy:
        steps:
          - SELECT 3
          - {name: take, sql: UPDATE t SET a = 4}
          - {sql: SELECT 5}
"""


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("does not know `innodb_flush_method`", "2:32"),
        ("asked for `SYNC_BINLOG: 2`, the server uses 0", "6:11"),
        ("asked for `sync_binlog: 3`, the server uses 0", "7:27"),
        ("does not know `sync_binlog`", "5:23"),  # the first, where no value decides
        ("`port: 1` is taken", "2:63"),  # never a factor's name
        ("cannot prepare `look`", "12:18"),
        ("cannot prepare `find` (SELECT 2)", "12:51"),
        ("cannot prepare `buy_1`", "16:13"),
        ("cannot prepare `take`", "17:26"),
        ("cannot prepare `buy_3`", "18:14"),
        ("no name of a setting in it", None),
        ("`unknown_setting` is not in the file", None),
    ],
)
def test_the_setting_that_a_message_names_is_found(
    tmp_path: Path, message: str, place: str | None
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(TEXT)
    found = locate.named_in(message, file)
    assert (None if found is None else f"{found.line}:{found.column}") == place


def test_a_file_that_has_gone_or_changed_has_no_places(tmp_path: Path) -> None:
    assert locate.named_in("`port`", tmp_path / "gone.yaml") is None
    (tmp_path / "broken.yaml").write_text("a: [")
    assert locate.named_in("`port`", tmp_path / "broken.yaml") is None
