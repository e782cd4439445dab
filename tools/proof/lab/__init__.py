"""Trials with faults and audits, each recounted by code of its own from what servers hold."""
