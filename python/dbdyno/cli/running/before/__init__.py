"""Checks and notes before a run: the file, the machine, whose commands it runs."""
