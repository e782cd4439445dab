"""Readers of files: configuration, manifests, logs. Each value has its file, line and column."""
