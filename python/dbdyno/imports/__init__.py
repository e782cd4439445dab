"""Results of other tools, as a run of dbdyno: read, ordered into cells, written.

`formats` reads one tool's files each; `pattern` takes levels out of file names; `cells` says which
result is a repetition of which cell; `write` makes the run directory. Nothing is measured here, and
nothing is made up: what a tool did not say is not in the run.
"""

from dbdyno.imports.cells import Cells, arrange
from dbdyno.imports.files import Collected, collect
from dbdyno.imports.found import Found, Interval, Part
from dbdyno.imports.head import Head, read_head
from dbdyno.imports.pattern import Pattern
from dbdyno.imports.write import Told, plan_of, write

__all__ = [
    "Cells",
    "Collected",
    "Found",
    "Head",
    "Interval",
    "Part",
    "Pattern",
    "Told",
    "arrange",
    "collect",
    "plan_of",
    "read_head",
    "write",
]
