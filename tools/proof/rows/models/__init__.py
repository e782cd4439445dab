"""Models and simulations, compared with real servers."""

NAMES: tuple[str, ...] = (
    "apply_lag",
    "cluster",
    "commit_waits",
    "redis",
    "replication",
)
