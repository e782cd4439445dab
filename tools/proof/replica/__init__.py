"""A source and its replica: what workers in parallel gain on real servers."""
