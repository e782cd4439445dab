"""Commands on runs that are stored: compare, history, pool, report, export, status, import."""
