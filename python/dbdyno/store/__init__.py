"""The run directory: what a run leaves on disk, and how it is read back.

`Run` creates, opens and resumes it; `TrialRecord` is one finished trial; `reduce_trial` turns a
trial's events and samples into metrics; `histogram` reads its latency histograms.
"""

from dbdyno.store.metrics.histogram import Histogram, Tagged, read_log
from dbdyno.store.metrics.reduce import Reduced, reduce_trial
from dbdyno.store.record import COMPLETE, VOID, TrialRecord
from dbdyno.store.run import Run
from dbdyno.store.text.scrub import scrub

__all__ = [
    "COMPLETE",
    "VOID",
    "Histogram",
    "Reduced",
    "Run",
    "Tagged",
    "TrialRecord",
    "read_log",
    "reduce_trial",
    "scrub",
]
