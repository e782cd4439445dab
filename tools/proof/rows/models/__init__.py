"""Models and simulations, compared with real servers."""

NAMES: tuple[str, ...] = (
    "cluster",
    "redis",
    "replication",
)
