"""What became of transactions, next to the same ones with a single writer."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dbdyno.models.cluster.conflicts.transaction import Outcome
from dbdyno.models.kinds import KINDS
from dbdyno.wording.models import conflicts_text, words

_ROWS = (
    ("committed", "committed"),
    ("certification failures", "certification_failures"),
    ("aborts at apply", "aborts_at_apply"),
    ("given up", "given_up"),
)


def text(found: Outcome, alone: Outcome, length_s: float | None = None) -> str:
    """Sentences and a table. `length_s`: for how long sessions wrote one after the other; then
    what counts is how many were committed."""
    lines = [
        *conflicts_text.sentences(found, alone),
        "",
        f"{'':<24}{'several writers':>16}{'a single one':>16}",
    ]
    for name, field in _ROWS:
        lines.append(f"{name:<24}{getattr(found, field):>16,}{getattr(alone, field):>16,}")
    if length_s:
        rates = [_rate(one.committed / length_s) for one in (found, alone)]
        lines.append(f"{'commits':<24}{rates[0]:>16}{rates[1]:>16}")
    for name, field in (("mean", "mean_s"), ("p99", "p99_s")):
        lengths = [conflicts_text.length(getattr(one, field)) for one in (found, alone)]
        lines.append(f"{name:<24}{lengths[0]:>16}{lengths[1]:>16}")
    return "\n".join(lines) + "\n"


def document(found: Outcome, alone: Outcome) -> dict[str, Any]:
    """The same as JSON; latencies in seconds."""
    return {
        "schema_version": 1,
        "model": "certification",
        "several_writers": asdict(found),
        "single_writer": asdict(alone),
    }


def _rate(value: float) -> str:
    return words.shown(KINDS["rate"], value)
