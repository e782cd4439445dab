"""What InnoDB keeps in a data directory: data files and the redo log."""
