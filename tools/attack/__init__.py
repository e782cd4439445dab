"""Attacks on dbdyno by what others send: files, bundles, servers; and the table of how it went."""
