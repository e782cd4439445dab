"""Two versions of one experiment as one plan."""
