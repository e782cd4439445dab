"""Models and simulations, compared with real servers."""

NAMES: tuple[str, ...] = (
    "cluster",
    "commit_waits",
    "redis",
    "replication",
)
