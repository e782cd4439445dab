"""Kinds of evidence: each module's `EVIDENCE` is a class that `read`s its entry and `judge`s."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tools.gallery.evidence import computed, digests, models, plans, proofs, runs, workloads
from tools.gallery.verdict import Judged


class Evidence(Protocol):
    """What can judge a conclusion. `command` repeats it in a shell; empty if the page's other
    commands do."""

    @property
    def command(self) -> str: ...

    def judge(self) -> Judged: ...


# By the key that tells one entry of `by:` from those of other kinds.
KINDS: Mapping[str, type[Any]] = {
    "claims": runs.EVIDENCE,
    "plan": plans.EVIDENCE,
    "model": models.EVIDENCE,
    "computed": computed.EVIDENCE,
    "digest": digests.EVIDENCE,
    "workload": workloads.EVIDENCE,
    "proof": proofs.EVIDENCE,
}


def read(entry: Mapping[str, Any]) -> Evidence:
    """One entry of `by:`. ValueError for what it is not."""
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise ValueError(f"evidence is one of {', '.join(KINDS)}: {dict(entry)}")
    found: Evidence = KINDS[kinds[0]](**entry)
    return found
