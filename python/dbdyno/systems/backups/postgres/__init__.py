"""Backups of PostgreSQL."""
