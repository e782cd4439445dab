"""Typed scalars of an experiment file, and generators of values."""
