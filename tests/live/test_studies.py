"""Shipped studies run, all of them, at quick size, in trials that are shorter still."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from private_servers import binaries
from ruamel.yaml import YAML
from running import Place, result

from dbdyno.cli import studies
from dbdyno.errors import DynoError
from dbdyno.experiment import Spec, load
from dbdyno.experiment.types import Volume
from dbdyno.storage import needed as storage
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

RUN_S = 800.0  # a run that takes longer hangs

# What a study sets for the whole machine.
SETTINGS = {"write-back": Path("/proc/sys/vm/dirty_background_ratio")}
# Levels that are tried of a study whose servers take long to start, or whose faults take long, by
# factor; claims on others are left out. Other tests try failovers, backups and durability.
TRIED = {
    "crash": {"durability": ["full", "none"]},
    "durability-words": {"durability": ["full", "full_on_a_lying_disk"]},
    "failover": {"setup": ["mariadb_semisync", "galera", "postgres_sync"]},
    "galera-hot-rows": {"delay": ["far"], "rows": ["1"], "writers": ["one", "three"]},
    "galera-nodes": {"nodes": ["1", "2"], "delay": ["far"]},
    "many-instances": {"instances": ["1", "4"]},
    "online-ddl": {"ddl": ["rsu_inplace", "group_pt_osc"]},
    "promotion": {"errant": ["purged", "mended_first"]},
    "restore-drill": {"drill": ["mariabackup_and_logs", "basebackup_alone"]},
    "upgrade": {"work": ["point", "transaction"]},
}
SHORT = ("--set", "warmup=100ms", "--set", "interval=500ms")


@pytest.mark.parametrize("name", studies.names())
def test_a_study_runs(name: str, there: Place) -> None:
    file = studies.find(name)
    if levels := TRIED.get(name):
        file = of_levels(file, levels, there.path / f"{name}.yaml")
    with kept(SETTINGS.get(name)):
        runs(str(file) if levels else name, load(file, []), there)


def of_levels(study: Path, tried: Mapping[str, Sequence[str]], file: Path) -> Path:
    """The same study in `file`, with these levels and the claims that can be made of them."""
    yaml = YAML(typ="safe")
    spec = yaml.load(study.read_text())
    for factor, levels in tried.items():
        written = spec["factors"].pop(factor)
        chosen = {k: v for k, v in written.items() if str(k) in levels}
        assert len(chosen) == len(levels)
        if len(levels) > 1:
            spec["factors"][factor] = chosen
            continue
        for path, value in chosen.popitem()[1].items():  # a single level is no factor
            put(spec, path.split("."), value)
    asked, spec["claims"] = spec["claims"], []
    for claim in asked:
        with file.open("w") as out:
            yaml.dump({**spec, "claims": [claim]}, out)
        with suppress(DynoError):  # it names a level that is left out
            spec["claims"] += [claim] if load(file, []) else []
    with file.open("w") as out:
        yaml.dump(spec, out)
    return file


@contextmanager
def kept(setting: Path | None) -> Iterator[None]:
    """The kernel has the same setting afterwards. Another run of these tests that changes it waits,
    or would take this one for the usual one."""
    if setting is None:
        yield
        return
    if not os.access(setting, os.W_OK) or shutil.which("sysctl") is None:
        missing(f"takes root and sysctl, for {setting}")
    with setting.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = file.read()
        try:
            yield
            assert setting.read_text() == before
        finally:
            if setting.read_text() != before:
                setting.write_text(before)


def put(spec: dict, path: Sequence[str], value: object) -> None:
    """Sets a key of a target, of a group or of the file."""
    inside = spec
    for part in ("targets", "groups"):
        inside = spec[part] if path[0] in spec.get(part, ()) else inside
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value


def duration_s(loaded: Spec) -> float:
    """One second; with faults, two seconds after the last, in which a server comes back."""
    at = [fault.at_s + (fault.for_s or 0) for cell in loaded.cells for fault in cell.faults]
    return max(at) + 2 if at else 1


def can_have(volume: Volume | None) -> None:
    """Skips where there are no volumes."""
    try:
        if volume is not None:
            storage.check(volume)
    except DynoError as error:
        missing(f"{error.what}: {error.fix}")


def runs(name: str, loaded: Spec, there: Place) -> None:
    """One study, to its report."""
    needed = {t.kind for cell in loaded.cells for t in cell.targets if not t.optional}
    for kind in sorted(needed):
        binaries(kind)
    for volume in {target.volume for cell in loaded.cells for target in cell.targets}:
        can_have(volume)
    found = measured(name, duration_s(loaded), there, "out")
    assert found["quick"]
    assert not found["judged"]
    assert len(found["claims"]) == len(loaded.claims)
    kinds = {level for cell in found["cells"] for level in cell["levels"].values()}
    if "engine" in {factor.name for factor in loaded.factors}:
        assert needed <= kinds  # no system was silently omitted
    if silent(found):  # a machine may be busy for a second, and not for ten
        found = measured(name, duration_s(loaded) + 9, there, "again")
    assert silent(found) == []
    assert (there.path / "out" / "report.html").stat().st_size > 10_000
    assert there.until_clean() == []


def measured(name: str, length_s: float, there: Place, directory: str) -> dict[str, Any]:
    """What a run of such trials found."""
    length = ("--set", f"duration={length_s:g}s")
    done = there.dyno("run", name, "--quick", *SHORT, *length, "--dir", directory, timeout=RUN_S)
    assert done.returncode == 0, done.stderr
    return result(there.path / directory)


def silent(found: dict[str, Any]) -> list[dict[str, str]]:
    """The levels of cells in which a group of sessions committed nothing."""
    rates = {
        number: [m["mean"] for n, m in cell["metrics"].items() if n.endswith("transactions_per_s")]
        for number, cell in enumerate(found["cells"])
    }
    assert all(rates.values()), rates
    return [found["cells"][number]["levels"] for number, of in rates.items() if min(of) <= 0]
