"""Memory that a machine does not have is refused by `--check`, at its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.cli.running.before.validate import check as check_file
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan.machine import Machine
from dbdyno.plan.outlook import memory

FILE = """\
experiment: much
question: Is there enough?
targets:
  db: {kind: mariadb, durability: full, memory: 64Mi}
workload: {kind: oltp, rows: 1000}
factors:
  size:
    small: {db.memory: 128Mi}
    large: {db.memory: 6Gi}
"""
HERE = replace(Machine.read(), memory_bytes=4 << 30)


def refused(text: str, machine: Machine = HERE) -> DynoError:
    with pytest.raises(DynoError) as found:
        memory.check(load(text), machine)
    return found.value


def test_more_than_there_is_is_refused_at_the_level_that_says_so() -> None:
    error = refused(FILE)
    assert "6 GiB of `memory`, and the machine has 4 GiB (in cell size=large)" in error.what
    assert error.where is not None and (error.where.line, error.where.column) == (9, 24)
    assert "needs: {memory: 6Gi}" in error.fix


def test_instances_count_each() -> None:
    text = FILE[: FILE.index("factors")].replace("64Mi", "1Gi, instances: 5")
    error = refused(text)
    assert "5 GiB" in error.what and error.where is not None and error.where.line == 4
    memory.check(load(text.replace("instances: 5", "instances: 4")), HERE)


def test_nodes_of_a_topology_count_each() -> None:
    text = FILE[: FILE.index("factors")].replace("64Mi", "1Gi, topology: {kind: galera, nodes: 5}")
    error = refused(text)
    assert "5 GiB" in error.what and error.where is not None and error.where.line == 4
    memory.check(load(text.replace("nodes: 5", "nodes: 4")), HERE)


def test_nothing_is_refused_where_it_fits_or_is_for_a_larger_machine() -> None:
    memory.check(load(FILE.replace("6Gi", "4Gi")), HERE)
    memory.check(load(FILE + "needs: {memory: 6Gi}\n"), HERE)
    memory.check(load(FILE), replace(HERE, memory_bytes=0))  # the kernel does not say


def test_an_external_server_has_its_own_memory() -> None:
    text = "targets:\n  db: {kind: mariadb, durability: full, memory: 64Mi}"
    there = FILE[: FILE.index("factors")].replace(text, "targets: {db: {url: mysql://a@127.0.0.1}}")
    memory.check(load(there), replace(HERE, memory_bytes=1))


def test_check_asks_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "much.yaml"
    file.write_text(FILE.replace("6Gi", "1000Ti"))
    with pytest.raises(DynoError, match="and the machine has") as found:
        check_file(str(file), (), as_json=False)
    assert found.value.where is not None and found.value.where.line == 9
