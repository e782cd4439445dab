"""What `dyno check` finds, what it says without reason, and what it costs."""

NAMES: tuple[str, ...] = ("check", "check_cost")
