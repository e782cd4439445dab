"""What is measured of one trial: latencies, stalls, causes, what the meter and audits cost."""

NAMES: tuple[str, ...] = (
    "latency",
    "stalls",
    "causes",
    "meter",
    "audit_cost",
    "given_up",
    "generator_wait",
)
