"""`dyno run`: from an experiment file to a verdict, and what is checked before."""
