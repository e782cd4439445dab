"""Clusters and scripts from YAML and option files."""
