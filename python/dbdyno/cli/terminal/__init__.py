"""Standard streams, consoles, output files, and limits of the machine."""
