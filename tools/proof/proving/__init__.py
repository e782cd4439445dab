"""What rows on `dyno prove` measure with."""
