"""Rules that judge facts: `machine` those of a machine before anything is measured on it, `check`
those of servers and their files."""
