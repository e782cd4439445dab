"""How many blocks, and how long: from the noise of a run to the size of the next one. Pure."""

from __future__ import annotations

from dbdyno.analysis.planning.plan import plan_blocks
from dbdyno.analysis.planning.result import to_json
from dbdyno.analysis.planning.types import POWER, Planning

__all__ = ["POWER", "Planning", "plan_blocks", "to_json"]
