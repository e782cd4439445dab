"""Models of Galera clusters."""
