"""Encryption: what is encrypted where, proved from files and sessions, and keys that leak into
logs."""

from __future__ import annotations

from dbdyno.rules.check.encryption import files, mysql_at_rest, wire

FAMILIES = (files, mysql_at_rest, wire)
