"""What leaves the run directory: tables, OpenMetrics, a live endpoint, bundles, and redaction.

Everything here reads runs and decides nothing. Redaction lies below the report on purpose: it gives
a redacted *run*, and whatever is drawn, exported or bundled from that knows nothing it should not.
"""
