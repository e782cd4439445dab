"""SQLite: in the engine's own process."""
