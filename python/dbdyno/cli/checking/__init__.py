"""`dyno check`."""
