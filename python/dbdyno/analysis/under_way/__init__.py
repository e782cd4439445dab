"""A run under way: what it has measured so far, and how long the rest will take."""
