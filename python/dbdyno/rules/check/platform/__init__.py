"""Platform: files, locks, volumes and manifests that servers depend on."""

from __future__ import annotations

from dbdyno.rules.check.platform import datadirs, operators, storage

FAMILIES = (datadirs, operators, storage)
