"""Failover within a trial: who is the primary, and where its address leads."""
