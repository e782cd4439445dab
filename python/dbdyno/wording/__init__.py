"""Numbers, levels and counted nouns as text. Knows nothing of runs."""
