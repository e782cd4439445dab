"""Causes of stalls, of steps inside a trial, and of differences between cells.

`evidence` is what moved, `rules` are the causes that have names, `rank` says what else moved;
`explain` brings them together. They are correlations, and reported as such: where no rule fits, the
cause is unknown.
"""

from dbdyno.analysis.causes.explain import (
    Explained,
    explain_cell,
    explain_difference,
    explain_stalls,
    explain_step,
)

__all__ = ["Explained", "explain_cell", "explain_difference", "explain_stalls", "explain_step"]
