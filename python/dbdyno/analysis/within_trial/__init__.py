"""What happened inside trials: warm-up, steady state, stalls, overload."""
