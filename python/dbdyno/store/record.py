"""One finished trial as `trial.json` holds it: settings, plans and metrics, nothing raw."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.audit.findings import Audit
from dbdyno.audit.histories.findings import Findings
from dbdyno.audit.routing.findings import Routing
from dbdyno.errors import DynoError
from dbdyno.experiment.values.bounds import AT_LEAST, AT_MOST
from dbdyno.plan.stored import json as plan_json
from dbdyno.store.text import shapes

RECORD_VERSION = 1

COMPLETE = "complete"
VOID = "void"  # failed, or a `require:` did not hold: in no mean, see analysis.void_attempts

ELSEWHERE = "measured in another environment: "  # why a resumed run measures a block again
NO_PLAN = "no plan: "  # before the reason, in place of a plan that the server did not give


@dataclass(frozen=True)
class TrialRecord:
    """What is known about a trial once it is over."""

    id: str
    block: int
    cell: int
    status: str  # COMPLETE | VOID
    started_unix_s: float
    metrics: Mapping[str, float]  # canonical name -> value; finite numbers only
    warnings: tuple[str, ...] = ()
    outages: tuple[Mapping[str, Any], ...] = ()  # the engine's `outage` events
    statements: Mapping[str, str] = field(default_factory=dict)  # group/class -> SQL
    explain: Mapping[str, str] = field(default_factory=dict)  # group/class -> text
    # target -> {"version": str, "settings": {name: value}, "words": [{"word", "settings", "note"}]}
    targets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    void_reason: str = ""
    # Metrics that are known on one side only: AT_LEAST or AT_MOST (`experiment.bounds`) by name.
    bounds: Mapping[str, str] = field(default_factory=dict)
    # Of a search for a rate, in order: {"rate_per_s": float, "passed": bool, "why": str}
    probes: tuple[Mapping[str, Any], ...] = ()
    audit: Mapping[str, Audit] = field(default_factory=dict)  # of its commits, by target
    routing: Mapping[str, Routing] = field(default_factory=dict)  # which node ran what, by target
    histories: Mapping[str, Findings] = field(default_factory=dict)  # of its audit, by target
    measured_s: float | None = None  # length of the measured phase; None: not known
    # Where trials end when they are steady: from when on it was, on the trial's clock. Only what
    # came then is in `metrics`; None: it never was, and all of it is.
    steady_from_s: float | None = None
    # Faults that were begun, by time: {"do", "node", "at_s", "begun_s", "in_force_s", "undone_s",
    # "problem"}, seconds on the trial's clock; absent what did not happen.
    faults: tuple[Mapping[str, Any], ...] = ()
    # Changes of roles, by time: {"t_s", "node", "change", "said"}; see `rolelog`.
    roles: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if self.status not in (COMPLETE, VOID):
            raise ValueError(f"trial {self.id}: status {self.status!r}")
        wrong = [name for name, value in self.metrics.items() if not math.isfinite(value)]
        if wrong:
            raise ValueError(f"trial {self.id}: not finite: {', '.join(sorted(wrong))}")

    def replace(self, **changes: Any) -> TrialRecord:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)


_FIELDS = frozenset(field.name for field in dataclasses.fields(TrialRecord))


def to_json(record: TrialRecord) -> dict[str, Any]:
    """The object that `trial.json` holds; `schema_version` first."""
    return {
        "schema_version": RECORD_VERSION,
        "id": record.id,
        "block": record.block,
        "cell": record.cell,
        "status": record.status,
        "started_unix_s": record.started_unix_s,
        "void_reason": record.void_reason,
        "metrics": dict(record.metrics),
        "warnings": list(record.warnings),
        "outages": [dict(outage) for outage in record.outages],
        "statements": dict(record.statements),
        "explain": dict(record.explain),
        "targets": {name: dict(facts) for name, facts in record.targets.items()},
        **({"bounds": dict(sorted(record.bounds.items()))} if record.bounds else {}),
        **({"probes": [dict(probe) for probe in record.probes]} if record.probes else {}),
        **(
            {"audit": {k: dataclasses.asdict(v) for k, v in record.audit.items()}}
            if record.audit
            else {}
        ),
        **(
            {"routing": {k: dataclasses.asdict(v) for k, v in record.routing.items()}}
            if record.routing
            else {}
        ),
        **(
            {"histories": {k: dataclasses.asdict(v) for k, v in record.histories.items()}}
            if record.histories
            else {}
        ),
        **({} if record.measured_s is None else {"measured_s": record.measured_s}),
        **({} if record.steady_from_s is None else {"steady_from_s": record.steady_from_s}),
        **({"faults": [dict(fault) for fault in record.faults]} if record.faults else {}),
        **({"roles": [dict(change) for change in record.roles]} if record.roles else {}),
    }


def _bounds(value: Mapping[str, Any]) -> dict[str, str]:
    """Bounds by metric. Records from before upper bounds list the metrics that are lower ones."""
    if "bounds" not in value:
        return dict.fromkeys(value.get("at_least", ()), AT_LEAST)
    found = {str(name): str(bound) for name, bound in value["bounds"].items()}
    if unknown := set(found.values()) - {AT_LEAST, AT_MOST}:
        raise ValueError(f"bounds {', '.join(sorted(unknown))}")
    return found


def from_json(value: Any, origin: str) -> TrialRecord:
    """Reads `to_json`'s object back; `origin` (the file) is named in the DynoError if it cannot."""
    try:
        if value["schema_version"] != RECORD_VERSION:
            raise ValueError(f"schema_version {value['schema_version']}, not {RECORD_VERSION}")
        known = {key: one for key, one in value.items() if key in _FIELDS}
        found = plan_json.decode(TrialRecord, {**known, "bounds": _bounds(value)}, "trial")
        shapes.record(found)
        return found
    except (KeyError, TypeError, ValueError, AttributeError, DynoError) as error:
        why = getattr(error, "what", repr(error) if isinstance(error, KeyError) else str(error))
        raise DynoError(
            f"{origin} is not a trial of this version of dbdyno: {why[:300]}",
            cause="another version wrote it, or it was edited",
            fix="read it with the version that the run's manifest names",
        ) from error
