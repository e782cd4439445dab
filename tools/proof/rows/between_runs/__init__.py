"""Runs beside runs: comparisons, histories, gates."""

NAMES: tuple[str, ...] = (
    "gate",
    "change_points",
    "runs_simulated",
    "aa_history",
)
