"""Rows of a server's tables with all rows that they refer to."""
