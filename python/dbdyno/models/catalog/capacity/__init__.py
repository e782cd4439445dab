"""Models of cost, size and time, whatever the system."""
