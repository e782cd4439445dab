"""What is said beside verdicts: headlines, reasons, knees, single numbers."""

NAMES: tuple[str, ...] = ("knee", "single_values")
