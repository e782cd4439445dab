"""Topologies of Redis, one file a kind: a primary watched by sentinels, and Redis Cluster."""
