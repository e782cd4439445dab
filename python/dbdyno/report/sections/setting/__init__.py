"""Under which circumstances was measured: machines, servers, settings, hooks, imports."""
