"""Targets of an experiment: external servers, hosts, `setup:`, hooks, and what may be written."""
