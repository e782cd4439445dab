"""Runs compared with runs: comparisons, histories, gates."""

NAMES: tuple[str, ...] = (
    "gate",
    "change_points",
    "pooling",
    "runs_simulated",
    "aa_history",
)
