"""Declared tables, as `setup.tables` has them, that have the statistics of a server's."""
