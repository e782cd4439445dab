"""The user's commands: when they run, and how one is run."""
