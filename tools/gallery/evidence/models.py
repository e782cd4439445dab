"""Evidence by a model: what it computes against the article's figures.

A model holds the rule, and often the fact itself (a server's default), so that a figure which it
gives follows from it and is not confirmed by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.gallery.evidence.figures import Figure
from tools.gallery.verdict import MODELLED, REFUTED, SUPPORTED, Judged

from dbdyno import models
from dbdyno.models import calculate, given, kinds
from dbdyno.models.model import Model
from dbdyno.wording.models import words


@dataclass(frozen=True)
class Modelled:
    """`given` as on the command line of `dyno model`; `gives`: outputs and the article's figures,
    which are right if what is computed rounds to them, or lies `within` a share of them;
    `at_least`: outputs and the least that they may be."""

    model: str
    gives: Mapping[str, str] = field(default_factory=dict)
    at_least: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    within: str = ""

    @property
    def command(self) -> str:
        """The call that prints the answer."""
        inputs = (shlex.quote(f"{name}={value}") for name, value in self.given.items())
        return " ".join(["dyno model", self.model, *inputs])

    def judge(self) -> Judged:
        """Each of the figures must be what the model gives."""
        model = models.load(self.model)
        answer = calculate.answer(model, given.take(model, self.given, {}))
        values = words.all_shown(answer)
        checks = [(name, said, self._right) for name, said in self.gives.items()]
        checks += [(name, said, _reached) for name, said in self.at_least.items()]
        right = [holds(model, answer, name, said) for name, said, holds in checks]
        near = f" within {self.within}" if self.within else ""
        found = [
            f"{name} {values[name]}" + (f" (said: {said}{near})" if said != values[name] else "")
            for name, said in self.gives.items()
        ]
        found += [
            f"{name} {values[name]} (at least {said})" for name, said in self.at_least.items()
        ]
        source = f"[{self.model}](../models/{self.model}.md)"
        verdict = SUPPORTED if all(right) else REFUTED
        return Judged(verdict, ", ".join(found), source, MODELLED)

    def _right(self, model: Model, answer: calculate.Answer, name: str, text: str) -> bool:
        kind, value = model.kind_of(name), answer.values[name]
        if not isinstance(value, float) or kind.name == "date":
            return bool(value == kind.parse(text))
        said, half = kinds.as_written(kind, text)
        if self.within:
            figure = Figure(said=f"{said:.12f}", within=self.within)
            return figure.verdict(value) == SUPPORTED
        return abs(value - said) <= half * (1 + 1e-9) + 1e-12 * abs(said)


def _reached(model: Model, answer: calculate.Answer, name: str, text: str) -> bool:
    value, least = answer.values[name], model.kind_of(name).parse(text)
    assert isinstance(value, float) and isinstance(least, float)
    return value >= least


EVIDENCE = Modelled
