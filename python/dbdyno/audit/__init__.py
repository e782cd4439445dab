"""Audit of commits: what servers hold of the transactions that clients saw acknowledged.

The engine gives every transaction that writes an identity, a row in the table of `identities`,
inserted in the same transaction, and writes the outcome that the client saw to `audit.log`
(`outcomes`). After the trial all nodes are read, and `compare` counts what does not agree.
"""
