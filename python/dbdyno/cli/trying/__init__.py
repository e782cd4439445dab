"""`dyno try`: an experiment of one line, written, run and answered."""
