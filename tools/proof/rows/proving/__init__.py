"""What `dyno prove` finds, beside all that there is to find."""

NAMES: tuple[str, ...] = ("best_indexes", "known_indexes")
