"""An experiment's runs over time."""

from __future__ import annotations

from starlette.requests import Request

from dbdyno.analysis.between_runs.result import history_json
from dbdyno.analysis.between_runs.types import Entry, LeftOut
from dbdyno.errors import DynoError
from dbdyno.report.between_runs import history_page
from dbdyno.report.sections.setting.tested import moment
from dbdyno.store.catalogue import Wanted, identity
from dbdyno.web.page import Page
from dbdyno.web.site import NotFound, Site
from dbdyno.wording import runs

RUNS_MAX = 1_000  # of one experiment, the newest


def listing(site: Site, request: Request) -> Page:
    """Experiments, or with `?experiment=` the runs of one."""
    if name := request.query_params.get("experiment"):
        return _one(site, name)
    found = site.catalogue().experiments()
    return Page(
        "experiments.html.j2",
        lambda: {"experiments": [(name, runs, moment(last)) for name, runs, last in found]},
        lambda: [{"experiment": name, "runs": runs, "last_unix_s": t} for name, runs, t in found],
    )


def _one(site: Site, name: str) -> Page:
    lines, total = site.catalogue().search(Wanted(experiment=name), most=RUNS_MAX)
    if not lines:
        raise NotFound("There is no run of this experiment.")
    left_out = [LeftOut(f"{total - len(lines)} older runs", f"the newest {RUNS_MAX:,} are shown")]
    left_out = left_out if total > len(lines) else []
    reduced = []
    for line in lines:
        try:
            reduced.append(site.reduced(line))
        except DynoError as error:
            left_out.append(LeftOut(line.name, error.what))
    found = runs.history(reduced, left_out)

    def address(run: Entry) -> str:
        return f"/runs/{identity(run.name)}"

    return Page(
        history_page.TEMPLATE,
        lambda: {**history_page.view(found, name), "address": address},
        lambda: history_json(found),
    )
