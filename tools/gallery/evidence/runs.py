"""Evidence by a stored run: verdicts of claims in the `result.json` of its bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tools.gallery import bundles
from tools.gallery.verdict import (
    COMPUTED,
    MEASURED,
    NOT_TESTED,
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    Judged,
    joined,
)

from dbdyno.wording import numbers

PARTS_SHOWN = 4
# What the figures of an imported table say, of which a single run a cell gives no interval.
FIGURES = {"agree": SUPPORTED, "contradict": REFUTED}


@dataclass(frozen=True)
class Claimed:
    """`claims` of the run, as its experiment writes them. A conclusion falls with one of them.

    `figures: yes`: the run is the article's own table. One run a cell has no interval, so the
    verdict is whether the published figures themselves agree with what the article says of them.
    A claim about `each` of several levels has one verdict, over all of them.
    """

    run: str
    claims: Sequence[str]
    figures: str = "no"
    command: ClassVar[str] = ""  # the page shows a run's command once

    def judge(self) -> Judged:
        """The claims' verdicts, with ratios or values and their intervals."""
        if not bundles.path(self.run).exists():
            return Judged(NOT_TESTED, "not measured yet")
        there = {claim["text"]: claim for claim in bundles.result(self.run)["claims"]}
        for text in self.claims:
            if text not in there:
                raise ValueError(f"the run {self.run} has no claim `{text}`")
        return joined([self._judged(there[text]) for text in self.claims])

    def _judged(self, claim: Mapping[str, Any]) -> Judged:
        parts = claim["parts"]
        found = [_part(part) for part in parts[:PARTS_SHOWN]]
        if len(parts) > PARTS_SHOWN:
            found.append(f"and {len(parts) - PARTS_SHOWN} more")
        verdict, ground = claim["verdict"], MEASURED
        if self.figures == "yes":
            ground = COMPUTED
            if verdict == UNDECIDED:
                verdict = FIGURES.get(claim["figures"], UNDECIDED)
        here = f"`{claim['text']}`: {', '.join(found) or verdict}"
        return Judged(verdict, here, ground=ground)


def _part(part: Mapping[str, Any]) -> str:
    """`at sessions 8: 1.27 (1.18 to 1.36)`."""
    at = ", ".join(f"{name} {level}" for name, level in part["at"].items())
    where = f" at {at}" if at else ""
    if part["ratio"] is None:
        return f"{part['why'] or part['verdict']}{where}"
    said = numbers.number(part["ratio"])
    if part["kind"] == "peak":
        said = f"best of these levels by best of the others {said}"
    if part["ci_low"] is not None and part["ci_high"] is not None:
        ends = f"{numbers.number(part['ci_low'])} to {numbers.number(part['ci_high'])}"
        said = f"{said} ({ends})"
    return f"{said}{where}"


EVIDENCE = Claimed
