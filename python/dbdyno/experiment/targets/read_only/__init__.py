"""What may be sent to an external server: session statements, and statements where nothing may be
written. The server's own read-only sessions do the rest (`engine/drivers/src/guard.rs`).
"""
