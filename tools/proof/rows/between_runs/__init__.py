"""Runs beside runs: comparisons, histories, gates."""

NAMES: tuple[str, ...] = (
    "runs_simulated",
    "aa_history",
)
