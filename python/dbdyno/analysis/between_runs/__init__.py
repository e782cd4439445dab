"""What separate runs say together: two of them side by side, many of them over time. Pure.

Two runs are not one experiment: their ratio includes whatever the machine did between them. That
ratio is shown, and judged only against the spread between runs of the same plan, where enough of
them are there to know it (docs/decisions/comparing-runs.md).
"""

from dbdyno.analysis.between_runs.comparison import (
    RUNS_MIN,
    claims,
    compare,
    failing,
    judge,
    predecessors,
)
from dbdyno.analysis.between_runs.judging import a_month
from dbdyno.analysis.between_runs.run_summary import Reduced, reduce
from dbdyno.analysis.between_runs.trend import history

__all__ = [
    "RUNS_MIN",
    "Reduced",
    "a_month",
    "claims",
    "compare",
    "failing",
    "history",
    "judge",
    "predecessors",
    "reduce",
]
