"""Space: what files hold besides data, what gives it back, and pages that are damaged."""

from __future__ import annotations

from dbdyno.rules.check.space import damage, fleet, servers, shared, tables

FAMILIES = (damage, fleet, servers, shared, tables)
