"""Plans as JSON and back."""
