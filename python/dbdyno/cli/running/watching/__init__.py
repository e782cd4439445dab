"""A run as it goes: a panel, lines, one line a trial, or nothing."""
