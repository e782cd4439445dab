"""`kind: lua`: which scripts are found, what is kept of them, and what is refused where."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.experiment.types import Group

TEXT = """experiment: mine
targets: {db: {kind: sqlite}}
workload: {kind: lua, script: SCRIPT, sessions: 2, options: {table-size: 90000}}
"""
SCRIPT = "function event() end"
LUA = workloads.of("lua")


def loaded(tmp_path: Path, script: str, text: str = TEXT) -> Group:
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("SCRIPT", script))
    return load(path).cells[0].groups[0]


def test_the_text_of_a_file_is_kept_and_makes_the_data(tmp_path: Path) -> None:
    (tmp_path / "mine.lua").write_text(SCRIPT)
    group = loaded(tmp_path, "mine.lua")
    assert group.options["text"] == SCRIPT
    before = LUA.data_options(group.options)
    (tmp_path / "mine.lua").write_text(SCRIPT + "\n")
    assert LUA.data_options(loaded(tmp_path, "mine.lua").options) != before
    assert LUA.changes_data(group.options)


def test_a_built_in_script_is_found_by_name_unless_a_file_has_it(tmp_path: Path) -> None:
    group = loaded(tmp_path, "oltp_read_only")
    assert "text" not in group.options
    assert not LUA.changes_data(group.options)
    (tmp_path / "oltp_read_only").write_text(SCRIPT)
    assert loaded(tmp_path, "oltp_read_only").options["text"] == SCRIPT


def test_whether_events_only_read_can_be_said(tmp_path: Path) -> None:
    said = TEXT.replace("sessions: 2", "reads: true")
    group = loaded(tmp_path, "oltp_read_write", said)
    assert not LUA.changes_data(group.options)
    assert "reads" not in LUA.sent(group.options)


def test_two_spellings_of_an_option_mean_the_same() -> None:
    one, two = (
        LUA.meaning({"script": "oltp_insert", "options": {name: 5}})
        for name in ("table_size", "table-size")
    )
    assert one == two


def test_a_smoke_test_has_small_tables(tmp_path: Path) -> None:
    small = LUA.small(loaded(tmp_path, "oltp_insert").options, 1000, 2)
    assert small["options"] == {"table-size": 1000}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (TEXT.replace("SCRIPT", "no_such.lua"), "there is no script no_such.lua"),
        (TEXT.replace("SCRIPT", "oltp_common"), "there is no script oltp_common"),
        (TEXT.replace("sessions: 2", "deadline: 1s"), "`deadline` means nothing"),
        (TEXT.replace("sessions: 2", "think: 1ms"), "`think` means nothing"),
        (TEXT.replace("sessions: 2", "retries: 3"), "`retries` means nothing"),
        (TEXT.replace("kind: sqlite", "kind: 'null'"), "cannot talk to the null driver"),
        (
            TEXT.replace("workload:", "groups: {b: {kind: oltp}, a:").rstrip() + "}\n",
            "there are other groups",
        ),
    ],
)
def test_what_a_script_cannot_do_is_refused_at_its_place(
    text: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(DynoError) as caught:
        loaded(tmp_path, "oltp_insert", text)
    assert what in str(caught.value)
    assert caught.value.where is not None
