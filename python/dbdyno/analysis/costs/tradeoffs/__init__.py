"""What beats what on two axes at once: `dominance` judges, `tradeoff` asks it of cells."""

from dbdyno.analysis.costs.tradeoffs.tradeoff import tradeoff

__all__ = ["tradeoff"]
