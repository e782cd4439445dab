"""Several runs of one plan combined: a ratio measured on other days and other machines. Pure."""

from dbdyno.analysis.between_runs.pooling.model import Pooled, combine
from dbdyno.analysis.between_runs.pooling.runs import Combined, Line, Source, pool

__all__ = ["Combined", "Line", "Pooled", "Source", "combine", "pool"]
