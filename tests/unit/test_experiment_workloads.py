"""The table of options: what it means, and that it agrees with the engine's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbdyno.experiment import workloads
from dbdyno.experiment.workloads.oltp import OLTP, PRESETS, ROW_BYTES, WRITE_COUNTS

SETTINGS = Path(__file__).parents[2] / "engine/workloads/src/oltp/settings.rs"
DISTRIBUTION = {option.name: option for option in OLTP}


def rust() -> str:
    return SETTINGS.read_text()


def test_options_are_those_of_the_engine() -> None:
    named = re.findall(
        r"(?:reader\s*\.(?:integer|number|flag|word|text)|reader\.\w+|count)\(\s*\"(\w+)\"", rust()
    )
    assert sorted(set(named) - {"and"}) == sorted(option.name for option in OLTP)


def test_defaults_and_limits_are_those_of_the_engine() -> None:
    constants = {
        name: int(value.replace("_", ""))
        for name, value in re.findall(r"const (\w+): u64 = ([0-9_]+);", rust())
    }

    def number(text: str) -> int:
        return constants[text] if text in constants else int(text)

    found = re.findall(
        r"reader\.integer\(\"(\w+)\", (\w+), (\d+)\.\.=(\w+)\)", re.sub(r"\s+", " ", rust())
    )
    assert len(found) >= 8
    for name, default, low, high in found:
        option = DISTRIBUTION[name]
        assert (option.low, option.high) == (number(low), number(high)), name
        if default.isdigit() or default.replace("_", "").isdigit():
            assert option.default == int(default.replace("_", "")), name


def test_presets_are_those_of_the_engine() -> None:
    assert re.findall(r"name: \"(\w+)\"", rust()) == list(PRESETS)


def test_effective_fills_in_everything() -> None:
    full = workloads.effective("oltp", {"preset": "point_select", "rows": 50})
    assert (full["point_selects"], full["skip_trx"], full["id_range"]) == (1, True, 50)
    assert full["simple_ranges"] == full["index_updates"] == 0
    assert workloads.effective("oltp", {}) == workloads.effective("oltp", {"preset": "read_write"})
    assert set(full) == {option.name for option in OLTP} - {"preset"}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_write_or_do_not(preset: str) -> None:
    reads_only = preset in ("read_only", "point_select")
    assert workloads.changes_data("oltp", {"preset": preset}) is not reads_only
    assert not workloads.changes_data("oltp", {"preset": preset, **dict.fromkeys(WRITE_COUNTS, 0)})


def test_data_options_are_what_is_loaded() -> None:
    data = workloads.data_options("oltp", {"preset": "insert", "tables": 2, "id_range": 5})
    assert data == {"tables": 2, "rows": 10_000, "k_distribution": "uniform", "table_options": ""}
    assert workloads.of("oltp").data_bytes(data) == 2 * 10_000 * ROW_BYTES
