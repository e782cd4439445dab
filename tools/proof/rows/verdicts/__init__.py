"""Verdicts: error rates, power, coverage."""

NAMES: tuple[str, ...] = (
    "false_alarms",
    "power",
    "coverage",
    "aa",
    "planned_blocks",
    "order_effects",
    "interrupted",
    "void_rates",
    "none_lost",
)
