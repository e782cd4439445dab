"""Models that take a file instead of single inputs: a cluster's script, a log of transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from dbdyno.errors import DynoError


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
    from dbdyno.models.cluster import reading, simulation, timeline
    from dbdyno.report.cluster import page

    case = reading.load(path)
    found = simulation.simulate(case.topology, case.script)
    if form == "html":
        return page.page(case, found)
    if form == "json":
        return json.dumps(page.document(case, found), indent=1, allow_nan=False) + "\n"
    return timeline.text(found, width)


def _certification(path: Path, form: str, width: int) -> str:
    from dbdyno.models.cluster import certification, translog
    from dbdyno.report.cluster import conflicts

    if form == "html":
        raise DynoError("a log of transactions has no page", fix="take --format text or json")
    log = translog.load(path)
    found = certification.of_log(log)
    alone = certification.of_log(certification.single_writer(log))
    if form == "json":
        return json.dumps(conflicts.document(found, alone), indent=1, allow_nan=False) + "\n"
    return conflicts.text(found, alone)


ANSWERS: Mapping[str, Callable[[Path, str, int], str]] = {
    "cluster-timeline": _timeline,
    "certification": _certification,
}
