"""Evidence by arithmetic with the article's own figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tools.gallery.evidence.figures import Figure, shown
from tools.gallery.verdict import COMPUTED, Judged

from dbdyno.models.expression import CONSTANTS, parsed


@dataclass(frozen=True, kw_only=True)
class Computed(Figure):
    """`computed` is a formula of numbers and units (`3000 * 16 * KiB / MB`), as models have it."""

    computed: str
    unit: str = ""
    command: ClassVar[str] = ""

    def judge(self) -> Judged:
        """The value rounds to the figure, or it does not."""
        formula = parsed(self.computed)
        if unknown := formula.names - CONSTANTS.keys():
            raise ValueError(f"`{self.computed}` has unknown names: {', '.join(unknown)}")
        value = float(formula({}))
        unit = f" {self.unit}" if self.unit else ""
        return Judged(
            self.verdict(value),
            f"`{formula.text}` = {shown(value)}{unit} (said: {self.text})",
            ground=COMPUTED,
        )


EVIDENCE = Computed
