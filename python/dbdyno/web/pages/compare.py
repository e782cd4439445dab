"""Two runs side by side."""

from __future__ import annotations

import contextlib

from starlette.requests import Request

from dbdyno.analysis.between_runs import RUNS_MIN, Reduced
from dbdyno.analysis.between_runs.result import compared_json
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.errors import DynoError
from dbdyno.report.between_runs import comparison
from dbdyno.store.catalogue import Line, Wanted
from dbdyno.web.page import Page
from dbdyno.web.site import Site
from dbdyno.wording import runs
from dbdyno.wording.between_runs import comparison_text

HISTORY_MAX = 200  # runs of the experiment that B may be judged by


def shown(site: Site, request: Request) -> Page:
    """B compared with A, judged by the runs of its plan before it where these are enough; runs of
    different machines with a warning and without a verdict."""
    a, b = (site.line(request.query_params.get(name, "")) for name in ("a", "b"))
    if a.id == b.id:
        raise DynoError(f"{a.name} is on both sides", fix="choose another run")
    first, second = site.reduced(a), site.reduced(b)
    found = runs.compare(first, second, _earlier(site, b, second.fingerprint), anyway=True)

    def data() -> dict[str, object]:
        with site.opened(a) as run:
            before = Measured.of(run.plan, run.records())
        with site.opened(b) as run:
            plan = run.plan
            claims = runs.claims(before, Measured.of(plan, run.records()))
        return {
            "a": a,
            "b": b,
            "found": found,
            "grids": comparison.grids(found, plan),
            "sentence": comparison_text.sentence(found, plan),
            "verdicts": comparison_text.verdicts(found) if found.judged else "",
            "claims": [comparison_text.claim(one) for one in claims],
        }

    return Page("compare.html.j2", data, lambda: compared_json(found))


def _earlier(site: Site, line: Line, fingerprint: str) -> list[Reduced] | None:
    """Runs of B's plan; None if there are too few to judge by."""
    lines, _ = site.catalogue().search(Wanted(experiment=line.experiment), most=HISTORY_MAX)
    found = []
    for one in lines:
        with contextlib.suppress(DynoError):
            reduced = site.reduced(one)
            found += [reduced] if reduced.fingerprint == fingerprint else []
    return found if len(found) > RUNS_MIN else None
