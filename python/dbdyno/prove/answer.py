"""The answer of a proof: what each candidate does, with intervals, and whether it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.analysis.types import REFUTED, SUPPORTED, ClaimResult, Findings
from dbdyno.prove.candidates import Candidate
from dbdyno.prove.examining import Examined
from dbdyno.prove.experiment import CLASS, FORMS, WHOLE, WRITES, Effect, Proof, effects
from dbdyno.wording.numbers import bound, ratio, size

FACTOR_FROM = 1.5  # a speed that changes by this is a factor, else a percentage
SHOWN, NOT_SHOWN = "SHOWN", "NOT SHOWN"
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Judged:
    """An effect as measured. `speed`: with the candidate over today's, with its interval; None:
    not measured."""

    effect: Effect
    verdict: str
    why: str
    speed: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """`40x faster (38-42)`, `+3 % (undecided: -1 to +7)`."""
        if self.speed is None:
            return NOT_MEASURED
        far = (self.speed, self.low or self.speed, self.high or self.speed)
        as_factor = not all(1 / FACTOR_FROM < one < FACTOR_FROM for one in far)
        found = f"{ratio(self.speed)}x" if as_factor else _percent(self.speed, 1.0)
        if self.low is None or self.high is None:
            return f"{found} (not judged)"
        ends = _ends(self.low, self.high, as_factor)
        if self.low > 1:
            return f"{found} {'faster' if as_factor else 'speed'} ({ends})"
        if self.high < 1:
            return f"{found} {'of the speed' if as_factor else 'speed'} ({ends})"
        return f"{found} (undecided: {ends})"


@dataclass(frozen=True)
class Answer:
    """Of one candidate."""

    candidate: Candidate
    judged: tuple[Judged, ...]
    examined: Examined

    @property
    def shown(self) -> bool:
        """Whether all claims on the whole mix are supported."""
        whole = [one.verdict for one in self.judged if one.effect.of == WHOLE]
        return bool(whole) and all(verdict == SUPPORTED for verdict in whole)

    @property
    def faster_form(self) -> bool:
        """Whether it is shown to be faster than the other form that was measured with it."""
        forms = [one.verdict for one in self.judged if one.effect.of == FORMS]
        return bool(forms) and all(verdict == SUPPORTED for verdict in forms)

    @property
    def does(self) -> str:
        """What it does and takes: `the whole mix +3 % speed (+1 to +5), 1.5 MiB`."""
        order = {CLASS: 0, WHOLE: 1, FORMS: 2, WRITES: 3}
        ranked = sorted(self.judged, key=lambda one: order[one.effect.of])
        said = [f"{one.effect.about} {one.text}" for one in ranked]
        if self.examined.bytes is not None:
            said.append(weight(self.examined.bytes))
        return ", ".join(said)

    @property
    def sentence(self) -> str:
        """All of it in a line, without its verdict."""
        return f"{self.candidate.what}: {self.does}"

    @property
    def verdict(self) -> str:
        """`SHOWN`, or why not."""
        if self.shown:
            return SHOWN
        whole = next(one for one in self.judged if one.effect.of == WHOLE)
        word = "refuted" if whole.verdict == REFUTED else whole.verdict
        return f"{NOT_SHOWN} ({word}: {whole.effect.say})"


def answers(
    proof: Proof, findings: Findings, examined: Mapping[str, Examined]
) -> tuple[Answer, ...]:
    """What a run says of its candidates, in their order."""
    by_text = {claim.text: claim for claim in findings.claims}
    judged = [_judged(one, by_text[one.claim]) for one in effects(proof)]
    return tuple(
        Answer(
            candidate,
            tuple(one for one in judged if one.effect.candidate == candidate.name),
            examined.get(candidate.name, Examined()),
        )
        for candidate in proof.candidates
    )


def document(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """The same as JSON."""
    return [
        {
            "name": one.candidate.name,
            "what": one.candidate.what,
            "statements": list(one.candidate.after),
            "target": dict(one.candidate.target),
            "rewrites": dict(one.candidate.rewrites),
            "shown": one.shown,
            "answer": f"{one.sentence}; {one.verdict}",
            "bytes": one.examined.bytes,
            "results_compared": one.examined.compared,
            "limit_chooses_other_rows": list(one.examined.unordered),
            "effects": [
                {
                    "of": each.effect.of,
                    "class": each.effect.class_ or None,
                    "claim": each.effect.claim,
                    "verdict": each.verdict,
                    "why": each.why,
                    "speed": each.speed,
                    "ci_low": each.low,
                    "ci_high": each.high,
                }
                for each in one.judged
            ],
        }
        for one in found
    ]


def weight(found: int) -> str:
    """A size that data grow or shrink by."""
    return f"{size(found)}" if found >= 0 else f"{size(-found)} less"


def _judged(effect: Effect, claim: ClaimResult) -> Judged:
    part = claim.parts[0] if claim.parts else None
    if part is None or part.estimate is None:
        return Judged(effect, claim.verdict, claim.why)
    found = part.estimate
    return Judged(effect, claim.verdict, claim.why, found.ratio, found.ci_low, found.ci_high)


def _ends(low: float, high: float, as_factor: bool) -> str:
    if as_factor:
        ends = bound(low, 1.0), bound(high, 1.0)
        return (" to " if any(" " in end for end in ends) else "-").join(ends)
    return f"{_percent(low, 1.0)[:-2]} to {_percent(high, 1.0)[:-2]}"


def _percent(speed: float, edge: float) -> str:
    """A speed as a change in percent, with enough digits to tell it from `edge`."""
    change = 100 * (speed - edge)
    digits = next((n for n in range(4) if round(change, n) != 0), 4) if change else 0
    return f"{change:+.{digits}f} %"
