"""Evidence by a row of the proof: a cell of a table in `docs/proof/`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.gallery.evidence.figures import Figure, shown
from tools.gallery.places import DOCS
from tools.gallery.verdict import Judged


@dataclass(frozen=True, kw_only=True)
class Proved(Figure):
    """The last number at `column` in the row of `table` whose cells are `row` (of `predicted /
    observed` what was observed); with `against` its ratio to that of another row."""

    proof: str
    table: str
    row: Mapping[str, str]
    column: str
    against: Mapping[str, str] | None = None

    @property
    def command(self) -> str:
        """Measures the row of the proof again."""
        return f'make proof ROWS="{self.proof}"'

    def judge(self) -> Judged:
        """The number against the article's figure."""
        value, found = self._number(self.row)
        if self.against is not None:
            other, text = self._number(self.against)
            value /= other
            found = f"{found}, against {text}: {shown(value)}"
        said = f"{self.column} at {found} (said: {self.text})"
        return Judged(self.verdict(value), said, "[proof](../proof.md)")

    def _number(self, at: Mapping[str, str]) -> tuple[float, str]:
        """A row's number, and in words where it stands and what its cell says."""
        measured = json.loads((DOCS / "proof" / f"{self.proof}.json").read_text())
        (table,) = (table for table in measured["tables"] if table["title"] == self.table)
        rows: list[dict[str, Any]] = [
            dict(zip(table["head"], cells, strict=True)) for cells in table["rows"]
        ]
        (row,) = (row for row in rows if at.items() <= row.items())
        numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", row[self.column])
        where = ", ".join(f"{name} {value}" for name, value in at.items())
        return float(numbers[-1].replace(",", "")), f"{where}: {row[self.column]}"


EVIDENCE = Proved
