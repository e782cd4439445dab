"""What decides while it runs: rates that are searched for, trials that end when steady."""

NAMES: tuple[str, ...] = ("find_capacity", "steady_bias")
