"""A simulated cluster as text, JSON and HTML."""
