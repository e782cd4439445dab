"""Transactions that write the same rows on several nodes: who fails, where, and what it costs.

Written from https://galeracluster.com/library/documentation/certification-based-replication.html
and what real nodes were seen to do (`docs/decisions/galera-from-outside.md`).
"""
