"""Rules that judge facts: `check` looks at a machine before anything is measured on it."""
