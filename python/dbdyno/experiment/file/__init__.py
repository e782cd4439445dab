"""The experiment file as text: positions, paths, overrides, errors and its JSON Schema."""
