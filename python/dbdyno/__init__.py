"""dbdyno: a dynamometer for databases.

    import dbdyno

    run = dbdyno.open("runs/x")
    run.trials(), run.series(), run.samples(), run.histograms(trial), run.verdicts()
    run = dbdyno.run("experiment.yaml")

Guide: docs/guide/python.md.
"""

from importlib import import_module

__version__ = "0.1.0"
_API = "dbdyno.api"  # loaded when used: each module of dbdyno imports this one
_OFFERED = ("DynoError", "Frame", "Run", "Where", "open", "run")


def __getattr__(name: str) -> object:
    if name in _OFFERED:
        return getattr(import_module(_API), name)
    raise AttributeError(f"module 'dbdyno' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *_OFFERED]
