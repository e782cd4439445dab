"""The load over time: throughput, latency, classes, stalls, sessions by state."""
