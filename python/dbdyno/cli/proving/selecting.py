"""Which of the indexes found are kept: each is measured next to all others that are kept.

Next to them, since one of a join may serve only with another, and since the slowest statements of a
mix without any would hide what one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.cli.proving.measuring import Measuring
from dbdyno.prove.answer import Answer, answers
from dbdyno.prove.choosing import Ranked
from dbdyno.prove.examining import Examined
from dbdyno.prove.experiment import Proof
from dbdyno.wording.plurals import count

_CONFIRMING = 2.0  # times as long as a measurement that selects


@dataclass(frozen=True)
class Selected:
    """`left`: those that are omitted, and why."""

    kept: tuple[Ranked, ...]
    left: dict[str, str]


def select(proof: Proof, measuring: Measuring, ranked: Sequence[Ranked]) -> Selected:
    """Measures each, what saves least first, and omits those that are not shown to be faster. Of a
    covering index that is not shown to be faster than its narrower form, that form is kept."""
    kept, left = [*ranked], dict[str, str]()
    for number, one in reversed([*enumerate(ranked, 1)]):
        others = [each for each in kept if each is not one]
        forms = _forms(one, others)
        judged = _measured(proof, measuring, forms, others, number)
        for each in judged:
            measuring.say(f"{each.sentence}: {each.verdict}")
        best = _best(forms, judged)
        kept = [best if each is one else each for each in kept] if best else others
        left |= {
            form.candidate.what: f"measured: {answer.does}"
            for form, answer in zip(forms, judged, strict=True)
            if form is not best
        }
    return Selected(tuple(kept), left)


def _forms(one: Ranked, others: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """An index, and its narrower form if that is not kept as well."""
    there = {each.candidate.name for each in others}
    if one.narrower is None or one.narrower.candidate.name in there:
        return (one,)
    return one, one.narrower


def _measured(
    proof: Proof,
    measuring: Measuring,
    forms: Sequence[Ranked],
    others: Sequence[Ranked],
    number: int,
) -> tuple[Answer, ...]:
    step = replace(
        proof,
        candidates=tuple(form.candidate for form in forms),
        built=tuple(sql for each in others for sql in each.candidate.after),
        # What selects is not what confirms: a seed of its own.
        seed=None if proof.seed is None else proof.seed + number,
        selects=True,
        forms=len(forms) > 1,
    )
    what = " and without what it only carries" if len(forms) > 1 else ""
    beside = f", with {count(len(others), 'other')}" if others else ""
    measuring.say(f"measuring {forms[0].candidate.what}{what}{beside}")
    findings = measuring.measured(step, measuring.step(number), 1 / (number + _CONFIRMING))
    sizes = {form.candidate.name: Examined(bytes=form.bytes) for form in forms}
    return answers(step, findings, sizes)


def _best(forms: Sequence[Ranked], judged: Sequence[Answer]) -> Ranked | None:
    """The narrowest that is shown, unless the wider one is shown to be faster; None: neither is."""
    shown = [form for form, answer in zip(forms, judged, strict=True) if answer.shown]
    if shown and judged[0].shown and judged[0].faster_form:
        return forms[0]
    return shown[-1] if shown else None
