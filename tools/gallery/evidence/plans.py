"""Evidence by a stored run: the plan that its server chose for a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tools.gallery import bundles
from tools.gallery.verdict import NOT_TESTED, REFUTED, SUPPORTED, Judged


@dataclass(frozen=True, kw_only=True)
class Planned:
    """That the plan of the run's only statement `has` a text, or `lacks` it, in the cell `at`."""

    plan: str
    at: Mapping[str, str]
    has: str = ""
    lacks: str = ""
    command: ClassVar[str] = ""  # the page shows a run's command once

    @property
    def run(self) -> str:
        """The run that judges."""
        return self.plan

    def judge(self) -> Judged:
        """By EXPLAIN, which dbdyno asks for once a cell."""
        if not bundles.path(self.run).exists():
            return Judged(NOT_TESTED, "not measured yet")
        (plan,) = bundles.explained(self.run, self.at).values()
        text = self.has or self.lacks
        right = (text in plan) == bool(self.has)
        where = ", ".join(f"{name} {level}" for name, level in self.at.items())
        verb = "has" if text in plan else "has no"
        return Judged(SUPPORTED if right else REFUTED, f"EXPLAIN at {where} {verb} `{text}`")


EVIDENCE = Planned
