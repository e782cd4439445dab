"""The list of runs: search, filters, pages of it."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from dbdyno.errors import DynoError
from dbdyno.report.sections.setting.tested import moment
from dbdyno.store.catalogue import UNREADABLE, VERDICTS, Line, Wanted, as_json
from dbdyno.store.manifest import COMPLETE, FAILED, INTERRUPTED, RUNNING
from dbdyno.web.page import Page
from dbdyno.web.site import Site
from dbdyno.wording.verdicts.headline import headline, sized

MOST = 50  # runs of a page
PAGES_MAX = 10_000
STATUSES = (RUNNING, COMPLETE, INTERRUPTED, FAILED, UNREADABLE)
DAY_S = 86_400.0


@dataclass(frozen=True)
class Row:
    """A run as the list shows it."""

    line: Line
    began: str
    progress: str
    verdicts: tuple[tuple[str, int], ...]
    said: tuple[str, ...]  # its claims in words, each behind its verdict


def listing(site: Site, request: Request) -> Page:
    """Runs that fit what the address asks for, the newest first."""
    asked = {
        name: request.query_params.get(name, "").strip()
        for name in ("q", "system", "status", "verdict", "experiment", "from", "to", "a")
    }
    number = _number(request.query_params.get("page", "1"))
    catalogue = site.catalogue()
    wanted = Wanted(
        words=asked["q"],
        system=asked["system"],
        status=asked["status"],
        verdict=asked["verdict"],
        experiment=asked["experiment"],
        from_unix_s=_day(asked["from"]),
        until_unix_s=_after(asked["to"]),
    )
    lines, total = catalogue.search(wanted, first=(number - 1) * MOST, most=MOST)

    picked = catalogue.run(asked["a"]) if asked["a"] else None

    def data() -> Mapping[str, Any]:
        systems = {one for text in catalogue.values("systems") for one in text.split(", ") if one}
        return {
            "rows": [_row(line) for line in lines],
            "total": total,
            "asked": asked,
            "filtered": any(value for name, value in asked.items() if name != "a"),
            "picked": picked,
            "pick": lambda line: f"/runs?{urlencode({**_given(asked), 'a': line.id})}",
            "choices": {
                "system": sorted(systems),
                "status": STATUSES,
                "verdict": VERDICTS,
            },
            "directory": str(site.directory),
            "number": number,
            "pages": max(1, -(-total // MOST)),
            "at": lambda there: f"/runs?{urlencode({**_given(asked), 'page': there})}",
        }

    twin = {"total": total, "page": number, "runs": [as_json(line) for line in lines]}
    return Page("runs.html.j2", data, lambda: {"asked": {**asdict(wanted)}, **twin})


def _given(asked: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in asked.items() if value}


def _row(line: Line) -> Row:
    return Row(
        line,
        moment(line.created_unix_s) if line.created_unix_s else "",
        "" if line.done == line.trials else f"{line.done} of {line.trials} trials",
        tuple((verdict, n) for verdict in VERDICTS if (n := line.counted.get(verdict))),
        tuple(headline(sized(verdict, small), say) for verdict, small, say in line.said),
    )


def _number(text: str) -> int:
    """A page's number."""
    return min(PAGES_MAX, max(1, int(text))) if text.isascii() and text.isdecimal() else 1


def _day(text: str) -> float | None:
    """When a day begins, UTC. DynoError if it is none."""
    if not text:
        return None
    try:
        return float(calendar.timegm(time.strptime(text, "%Y-%m-%d")))
    except (ValueError, OverflowError):
        raise DynoError(f"{text!r} is no day", fix="write it as 2026-11-25") from None


def _after(text: str) -> float | None:
    day = _day(text)
    return None if day is None else day + DAY_S
