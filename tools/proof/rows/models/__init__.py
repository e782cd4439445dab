"""Models and simulations, held against real servers."""

NAMES: tuple[str, ...] = (
    "cluster",
    "redis",
    "replication",
)
