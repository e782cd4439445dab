"""Backups of MariaDB and MySQL."""
