"""Statement counts of live servers."""
