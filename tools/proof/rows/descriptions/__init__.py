"""Notes next to verdicts: headlines, reasons, knees, single numbers."""

NAMES: tuple[str, ...] = (
    "across_blocks",
    "headline",
    "knee",
    "more_blocks",
    "moved_with_it",
    "single_values",
)
