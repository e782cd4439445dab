"""Rules that judge facts: `check` inspects a machine before anything is measured on it."""
