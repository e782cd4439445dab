"""What is measured of one trial: latencies, stalls, their causes, the meter's own cost."""

NAMES: tuple[str, ...] = (
    "latency",
    "stalls",
    "causes",
    "meter",
    "given_up",
    "generator_wait",
)
