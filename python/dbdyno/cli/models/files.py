"""Models that take a file instead of single inputs: a cluster's script, a log of transactions,
sessions that write hot rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from dbdyno.errors import DynoError

YAML = (".yaml", ".yml")


def taken(name: str, inputs: tuple[str, ...]) -> Path | None:
    """The file among a model's arguments, if that is what was given."""
    if len(inputs) != 1 or "=" in inputs[0] or not inputs[0]:
        return None
    if name not in ANSWERS:
        names = " and ".join(sorted(ANSWERS))
        raise DynoError(
            f"the model `{name}` takes no file, and `{inputs[0]}` is no NAME=VALUE",
            fix=f"write NAME=VALUE; files are for {names}, and others read one by --from",
        )
    return Path(inputs[0])


def answer(name: str, path: Path, form: str, width: int) -> str:
    """What the model says of it, as `text`, `json` or `html`."""
    return ANSWERS[name](path, form, width)


def _timeline(path: Path, form: str, width: int) -> str:
    from dbdyno.models.cluster import simulation
    from dbdyno.models.cluster.files import reading
    from dbdyno.models.cluster.outcome import timeline
    from dbdyno.report.cluster import page

    case = reading.load(path)
    found = simulation.simulate(case.topology, case.script)
    if form == "html":
        return page.page(case, found)
    if form == "json":
        return json.dumps(page.document(case, found), indent=1, allow_nan=False) + "\n"
    return timeline.text(found, width)


def _certification(path: Path, form: str, width: int) -> str:
    """Of a log of transactions (CSV), or of sessions that write hot rows (YAML)."""
    from dbdyno.models.cluster.conflicts import loads, reading, translog
    from dbdyno.report.cluster import conflicts

    if form == "html":
        raise DynoError("transactions have no page", fix="take --format text or json")
    length_s = None
    if path.suffix in YAML:
        load = reading.load(path)
        found, alone, length_s = load.simulate(), load.simulate_single(), load.length_s
    else:
        log = translog.load(path)
        found, alone = loads.of_log(log), loads.of_log(loads.single_writer(log))
    if form == "json":
        return json.dumps(conflicts.document(found, alone), indent=1, allow_nan=False) + "\n"
    return conflicts.text(found, alone, length_s)


ANSWERS: Mapping[str, Callable[[Path, str, int], str]] = {
    "cluster-timeline": _timeline,
    "certification": _certification,
}
