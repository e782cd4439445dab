"""Logs that omit statements by their own settings: what must be whole refuses them."""

from __future__ import annotations

from dbdyno.digest.document import OfLogs
from dbdyno.errors import DynoError

ACCEPT = "--accept-censored"


def refuse_censored(document: OfLogs, wanted: str) -> None:
    """DynoError if statements are missing; `wanted`: the option that would work with them."""
    if not document.censored:
        return
    one = document.censored[0]
    path = document.inputs[one.input].path
    if one.kind == "threshold":
        missing = f"only statements slower than {one.value:.6g} s are in it"
        cause = "long_query_time or log_min_duration_statement was above 0"
    else:
        missing = f"only one of {one.value:.6g} statements is in it"
        cause = "the server samples what it logs"
    seen = ", as far as can be seen" if one.evidence == "seen" else ""
    raise DynoError(
        f"{wanted}: {path} does not have all statements: {missing}{seen}",
        cause=cause,
        fix=f"log all statements for some minutes, or accept this log with {ACCEPT}",
    )
